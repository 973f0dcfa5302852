package memorytest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// DirVariable is the environment variable that names a directory of golden
// cases to use instead of the embedded ones.
const DirVariable = "LOOPMEM_CONFORMANCE_DIR"

//go:embed testdata/*.jsonl
var embedded embed.FS

var goldenRules = []rule{
	{"GoldenRetrieve", "Retrieve gives the entries, scores and matches of the retrieve cases, to the last bit.", func(t *trial) {
		eachCase(t, "retrieve", checkRetrieve)
	}},
	{"GoldenConsolidate", "Consolidate gives the stats and survivors of the consolidate cases.", func(t *trial) {
		eachCase(t, "consolidate", checkConsolidate)
	}},
	{"GoldenRecall", "Recall and Prune give the results of the recall cases.", func(t *trial) {
		eachCase(t, "recall", checkRecall)
	}},
}

// eachCase checks every case in the files of one kind. Nothing to check is a
// failure: a suite that silently checks nothing would pass any store.
func eachCase[C any](t *trial, kind string, check func(*trial, C)) {
	files, err := fs.Sub(embedded, "testdata")
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv(DirVariable); dir != "" {
		files = os.DirFS(dir)
	}
	names, err := fs.Glob(files, kind+"*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(names) == 0 {
		t.Fatalf("there is no %s*.jsonl (%s=%q): nothing was checked", kind, DirVariable, os.Getenv(DirVariable))
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		number, cases := 0, 0
		for text := range bytes.Lines(data) {
			number++
			if len(bytes.TrimSpace(text)) == 0 {
				continue
			}
			cases++
			t.sub(fmt.Sprintf("%s:%d", name, number), func(t *trial) {
				var head struct{ Note string }
				var body C
				if err := errors.Join(json.Unmarshal(text, &head), json.Unmarshal(text, &body)); err != nil {
					t.Fatalf("%s:%d: %v", name, number, err)
				}
				defer func() {
					if head.Note != "" && t.Failed() {
						t.Logf("the case is about: %s", head.Note)
					}
				}()
				check(t, body)
			})
		}
		if cases == 0 {
			t.Errorf("%s holds no case", name)
		}
	}
}

type retrieveCase struct {
	Entries []goldenEntry
	Queries []struct {
		Query string
		Limit int
		Want  []retrieveWant
	}
}

type retrieveWant struct {
	ID      uuid.UUID
	Score   float32
	Matched bool
}

func checkRetrieve(t *trial, c retrieveCase) {
	if len(c.Queries) == 0 {
		t.Fatal("the case has no query")
	}
	s := t.fresh()
	s.load(c.Entries)
	for _, q := range c.Queries {
		got := make([]retrieveWant, 0, len(q.Want))
		for _, m := range s.retrieve(q.Query, q.Limit) {
			got = append(got, retrieveWant{m.Entry.ID, m.Score, m.Matched})
		}
		if q.Want == nil {
			t.Fatalf("query %q has no result to compare with", q.Query)
		}
		t.same(fmt.Sprintf("Retrieve(%q, %d)", q.Query, q.Limit), got, q.Want)
	}
}

type consolidateCase struct {
	Config struct {
		Decay          bool
		HalfLifeNS     time.Duration `json:"half_life_ns"`
		Merge          bool
		MergeThreshold float32 `json:"merge_threshold"`
		PruneFloor     float32 `json:"prune_floor"`
	}
	Now     instant
	Entries []goldenEntry
	Want    *struct {
		memory.ConsolidationStats
		Entries []map[string]json.RawMessage
	}
}

func checkConsolidate(t *trial, c consolidateCase) {
	if c.Want == nil || c.Now.IsZero() {
		t.Fatal("the case lacks now or want")
	}
	t.clock.set(c.Now.Time)
	s := t.fresh(memory.WithConsolidation(memory.Consolidation{
		Decay:          c.Config.Decay,
		HalfLife:       c.Config.HalfLifeNS,
		Merge:          c.Config.Merge,
		MergeThreshold: c.Config.MergeThreshold,
		PruneFloor:     c.Config.PruneFloor,
	}))
	s.load(c.Entries)
	t.same("Consolidate", s.consolidate(), c.Want.ConsolidationStats)
	got := s.list()
	if len(got) != len(c.Want.Entries) {
		t.Fatalf("%d entries survived, want %d; they are %q", len(got), len(c.Want.Entries), lines(got))
	}
	for i, e := range got {
		want, err := overlay(e, c.Want.Entries[i])
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(float64(want.Relevance)-float64(e.Relevance)) <= 1e-6 {
			want.Relevance = e.Relevance
		}
		t.same(fmt.Sprintf("survivor %d", i+1), line(e), line(want))
	}
}

// overlay lays the fields that a case lists over an entry. If the entry is
// what the case wants, that changes nothing.
func overlay(e memory.Entry, listed map[string]json.RawMessage) (memory.Entry, error) {
	fields := make(map[string]json.RawMessage)
	if err := json.Unmarshal(e.AppendJSON(nil), &fields); err != nil {
		return e, err
	}
	maps.Copy(fields, listed)
	data, err := json.Marshal(fields)
	if err != nil {
		return e, err
	}
	return memory.DecodeJSON(data)
}

type recallCase struct {
	Now     instant
	Entries []goldenEntry
	Queries []struct {
		Query goldenQuery
		Want  []recallWant
	}
	Prunes []struct {
		MinStrength float64       `json:"min_strength"`
		MinAgeNS    time.Duration `json:"min_age_ns"`
		AgentPrefix string        `json:"agent_prefix"`
		WantPruned  []uuid.UUID   `json:"want_pruned"`
	}
}

type recallWant struct {
	ID          uuid.UUID
	Score       float64
	AccessCount uint64 `json:"access_count"`
	Strength    float64
}

func checkRecall(t *trial, c recallCase) {
	if len(c.Queries)+len(c.Prunes) == 0 || c.Now.IsZero() {
		t.Fatal("the case lacks now, or asks nothing")
	}
	t.clock.set(c.Now.Time)
	s := t.fresh()
	for _, q := range c.Queries {
		if q.Want == nil {
			t.Fatalf("query %+v has no result to compare with", q.Query)
		}
		s.load(c.Entries)
		got := make([]recallWant, 0, len(q.Want))
		for i, h := range s.recall(q.Query.query()) {
			w := recallWant{h.Entry.ID, h.Score, h.Entry.AccessCount, h.Entry.Strength}
			if i < len(q.Want) && math.Abs(w.Score-q.Want[i].Score) <= 1e-9 {
				w.Score = q.Want[i].Score
			}
			got = append(got, w)
		}
		t.same(fmt.Sprintf("Recall(%s)", q.Query.text), got, q.Want)
	}
	for _, p := range c.Prunes {
		s.load(c.Entries)
		count, err := s.Prune(t.Context(), p.MinStrength, p.MinAgeNS, p.AgentPrefix)
		s.must("Prune", err)
		var left []uuid.UUID
		for _, e := range c.Entries {
			if !slices.Contains(p.WantPruned, e.ID) {
				left = append(left, e.ID)
			}
		}
		var got []uuid.UUID
		for _, e := range s.list() {
			got = append(got, e.ID)
		}
		call := fmt.Sprintf("Prune(%v, %s, %q)", p.MinStrength, p.MinAgeNS, p.AgentPrefix)
		t.same("the count of "+call, count, len(p.WantPruned))
		t.same("what is left by "+call, got, left)
	}
}

// goldenQuery is a Query in the JSON of the cases, which says reinforce where
// Go says NoReinforce.
type goldenQuery struct {
	Text               string
	Category           memory.Category
	Tags               []string
	Agent              *string
	AgentPrefix        string `json:"agent_prefix"`
	Limit              int
	MemoryType         *string   `json:"memory_type"`
	MinStrength        *float64  `json:"min_strength"`
	QueryEmbedding     []float32 `json:"query_embedding"`
	MaxConfidentiality *string   `json:"max_confidentiality"`
	Reinforce          *bool
	ExactWords         bool `json:"exact_words"`

	text       string // as the case has it
	memoryType *memory.MemoryType
	level      *memory.Confidentiality
}

func (q *goldenQuery) UnmarshalJSON(data []byte) error {
	type plain goldenQuery
	if err := json.Unmarshal(data, (*plain)(q)); err != nil {
		return err
	}
	q.text = string(data)
	if q.MemoryType != nil {
		t, err := memory.ParseMemoryType(*q.MemoryType)
		if err != nil {
			return err
		}
		q.memoryType = &t
	}
	if q.MaxConfidentiality != nil {
		c, err := memory.ParseConfidentiality(*q.MaxConfidentiality)
		if err != nil {
			return err
		}
		q.level = &c
	}
	return nil
}

func (q *goldenQuery) query() memory.Query {
	return memory.Query{
		Filter: memory.Filter{
			Category:           q.Category,
			Tags:               q.Tags,
			Agent:              q.Agent,
			AgentPrefix:        q.AgentPrefix,
			MemoryType:         q.memoryType,
			MinStrength:        q.MinStrength,
			MaxConfidentiality: q.level,
		},
		Text:        q.Text,
		Limit:       q.Limit,
		Embedding:   q.QueryEmbedding,
		NoReinforce: q.Reinforce != nil && !*q.Reinforce,
		ExactWords:  q.ExactWords,
	}
}

// load puts the entries of a case into the store, in order and as they are
// given: one that is there already is replaced, access book-keeping included.
func (s *subject) load(entries []goldenEntry) {
	s.t.Helper()
	batch := make([]memory.Entry, len(entries))
	for i := range entries {
		batch[i] = entries[i].Entry
	}
	_, err := s.StoreBatch(s.t.Context(), batch, memory.Replace)
	s.must("StoreBatch", err)
}

// goldenEntry is an entry of a case. Most cases have it in the JSONL form,
// some with every default written out.
type goldenEntry struct{ memory.Entry }

func (e *goldenEntry) UnmarshalJSON(data []byte) (err error) {
	e.Entry, err = memory.DecodeJSON(data)
	return err
}

// instant is a time as the cases write it.
type instant struct{ time.Time }

func (i *instant) UnmarshalJSON(data []byte) error {
	var parts struct {
		Secs  int64 `json:"secs_since_epoch"`
		Nanos int64 `json:"nanos_since_epoch"`
	}
	err := json.Unmarshal(data, &parts)
	i.Time = time.Unix(parts.Secs, parts.Nanos).UTC()
	return err
}
