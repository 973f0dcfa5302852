package jsonlimport_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func TestAgent(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.UTC()
	}
	// Fixed for ever: with others, importing again would double everything.
	m1 := uuid.MustParse("2edcbe68-0735-55ee-ba58-9c603816d4df")
	m2 := uuid.MustParse("ba7cf83b-c7ea-55ee-865b-1b78391876f5")
	m3 := uuid.MustParse("21014225-f42a-536b-9e2e-e2dd94600770")
	want := []memory.Entry{{
		ID: m1, Category: "preference", Memory: "The user prefers terse answers", Tags: []string{"style"},
		CreatedAt: at("2026-01-05T08:30:00.123456Z"), LastAccessed: new(at("2026-01-31T22:00:00Z")), AccessCount: 3,
		Relevance: 1, Importance: 8, Strength: 0.85, MemoryType: memory.Semantic, Agent: "tg:123:assistant",
		Keywords: []string{"terse", "style"}, Summary: "short answers", RelatedIDs: []uuid.UUID{m2},
		Confidentiality: memory.Internal, Attributes: map[string]string{"original_id": "m1"},
	}, {
		ID: m2, Category: memory.Fact, Memory: "User works on a Rust service",
		CreatedAt: at("2026-01-06T08:30:00Z"), LastAccessed: new(at("2026-01-06T08:30:00Z")),
		Relevance: 1, Importance: 5, Strength: 1, Agent: "tg:123:researcher",
		RelatedIDs: []uuid.UUID{m1}, SourceIDs: []uuid.UUID{m1}, Embedding: []float32{0.1, -0.2, 0.3},
		Attributes: map[string]string{"original_id": "m2"},
	}, {
		ID: m3, Category: memory.Fact, Memory: "API token lives in the vault", Tags: []string{"secret"},
		CreatedAt: at("2026-01-07T00:00:00Z"), LastAccessed: new(at("2026-01-07T00:00:00Z")),
		Relevance: 1, Importance: 9, Strength: 1, Agent: "coder", Confidentiality: memory.Restricted,
		Attributes: map[string]string{"original_id": "m3"},
	}}
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, "testdata/agent.jsonl")
	mustEqual(t, "entries", mustEntries(t, store), want)

	report := mustImport(t, store, jsonlimport.Options{}, "testdata/agent.jsonl")
	if report.Imported != 0 || report.Existing != 3 {
		t.Errorf("second import: %+v; want 3 existing", report)
	}

	text, exported := mustExport(t, store, jsonlimport.Agent{})
	if len(exported.Warnings) > 0 || exported.Entries != 3 {
		t.Errorf("export report %+v; want 3 entries and nothing lost", exported)
	}
	back := mustStore(t)
	mustImport(t, back, jsonlimport.Options{}, mustWrite(t, "back.jsonl", text))
	mustEqual(t, "entries exported and imported", mustEntries(t, back), want)
	if !strings.HasPrefix(text, `{"id":"m1","agent":"tg:123:assistant","content":"The user prefers terse answers","category":"preference",`+
		`"tags":["style"],"created_at":"2026-01-05T08:30:00.123456Z","last_accessed":"2026-01-31T22:00:00Z","access_count":3,"importance":8,`+
		`"memory_type":"semantic","keywords":["terse","style"],"summary":"short answers","strength":0.85,"related_ids":["m2"],"source_ids":[],`+
		`"confidentiality":"internal"}`+"\n") {
		t.Errorf("exported:\n%s", text)
	}
}

func TestAgent_nullsAndUUIDs(t *testing.T) {
	line := `{"id":"{2ADEE6A3-A553-5015-BAB8-1310D3984D51}","agent":"","content":"","category":"fact","tags":[],` +
		`"created_at":"1970-01-01T00:00:00Z","last_accessed":"2026-12-31T23:30:00-05:30","access_count":0,"summary":null,` +
		`"embedding":null,"author_user_id":null,"author_tenant_id":"t","provider":"abc"}` + "\n"
	store := mustStore(t)
	report, err := jsonlimport.Import(t.Context(), store, stream(line), jsonlimport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := mustEntries(t, store)[0]
	if got.ID != uuid.MustParse("2adee6a3-a553-5015-bab8-1310d3984d51") || got.Attributes != nil || got.AuthorTenantID != "t" {
		t.Errorf("entry %+v", got)
	}
	if want := time.Date(2027, 1, 1, 5, 0, 0, 0, time.UTC); !got.LastAccessed.Equal(want) {
		t.Errorf("last accessed %v; want %v", got.LastAccessed, want)
	}
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].String(), "provider") {
		t.Errorf("warnings %v; want the unknown field", report.Warnings)
	}
}

// TestAgent_exportTellsWhatIsLost exports what the form cannot hold.
func TestAgent_exportTellsWhatIsLost(t *testing.T) {
	a, b := memory.NewEntry(memory.Fact, "a"), memory.NewEntry(memory.Fact, "b")
	a.Pinned, a.Validated = true, true
	b.Relevance, b.Validated = 0.5, true
	text, report := mustExport(t, mustStore(t, a, b), jsonlimport.Agent{})
	if accessed := `"last_accessed":"` + a.CreatedAt.Format(time.RFC3339Nano) + `"`; !strings.Contains(text, accessed) {
		t.Errorf("exported:\n%s\nwant %s", text, accessed)
	}
	mustEqual(t, "warnings", report.Warnings, []string{
		"the form agent cannot keep last_accessed of 2 entries",
		"the form agent cannot keep pinned of 1 entry",
		"the form agent cannot keep relevance of 1 entry",
		"the form agent cannot keep validated of 2 entries",
	})
}

func TestGraph(t *testing.T) {
	store := mustStore(t)
	report := mustImport(t, store, jsonlimport.Options{}, "testdata/graph.jsonl")
	if len(report.Warnings) != 1 || !strings.Contains(report.Warnings[0].String(), `"Nobody_Known" is no entity`) {
		t.Errorf("warnings %v; want the unknown end of a relation", report.Warnings)
	}
	var texts, kinds []string
	for _, e := range mustEntries(t, store) {
		texts = append(texts, e.Memory)
		kinds = append(kinds, e.Attributes["graph"]+" "+e.Attributes["entity"]+e.Attributes["relation_type"])
		if !e.Pinned || e.MemoryType != memory.Semantic || e.Category != memory.Fact {
			t.Errorf("entry %+v; want a pinned semantic fact", e)
		}
	}
	mustEqual(t, "texts", texts, []string{
		"Speaks fluent Spanish", "Graduated in 2019", "Prefers morning meetings", "Ships on Fridays",
		"Empty_Thing", "Ada_Example works_at Initech", "Ada_Example knows Nobody_Known",
	})
	mustEqual(t, "kinds", kinds, []string{
		"observation Ada_Example", "observation Ada_Example", "observation Ada_Example", "observation Initech",
		"entity Empty_Thing", "relation works_at", "relation knows",
	})
	// Fixed for ever, as the ids of the agent form are.
	if first := mustEntries(t, store)[0].ID; first != uuid.MustParse("de46ad21-0c19-5a8b-a80d-fbfd553f23e6") {
		t.Errorf("the id of the first observation has become %s", first)
	}
	if again := mustImport(t, store, jsonlimport.Options{}, "testdata/graph.jsonl"); again.Existing != 7 {
		t.Errorf("second import: %+v; want 7 existing", again)
	}
	text, exported := mustExport(t, store, jsonlimport.Graph{})
	mustEqual(t, "graphs", text, mustRead(t, "testdata/graph.jsonl"))
	mustEqual(t, "what is lost", exported.Warnings, []string{"the form graph cannot keep created_at of 7 entries"})
}

// TestGraph_sameGraph imports graphs that are awkward, and compares what is
// exported as graphs: sets of entities and relations.
func TestGraph_sameGraph(t *testing.T) {
	for name, text := range map[string]string{
		"observation twice":       `{"type":"entity","name":"a","entityType":"t","observations":["x","y","x"]}`,
		"same name, other type":   `{"type":"entity","name":"a","entityType":"t","observations":["x"]}` + "\n" + `{"type":"entity","name":"a","entityType":"u","observations":["x"]}`,
		"same text, other entity": `{"type":"entity","name":"a","entityType":"t","observations":["x"]}` + "\n" + `{"type":"entity","name":"b","entityType":"t","observations":["x"]}`,
		"empty strings":           `{"type":"entity","name":"","entityType":"","observations":[""]}` + "\n" + `{"type":"relation","from":"","to":"","relationType":""}`,
		"names with spaces":       `{"type":"relation","from":"a b","to":"c","relationType":"d"}` + "\n" + `{"type":"relation","from":"a","to":"c","relationType":"b d"}`,
		"relations first":         `{"type":"relation","from":"a","to":"a","relationType":"is"}` + "\n" + `{"type":"entity","name":"a","entityType":"t","observations":["\u2028<&>\""]}`,
		"named like a kind":       `{"type":"entity","name":"relation","entityType":"entity","observations":["observation"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			store := mustStore(t)
			if _, err := jsonlimport.Import(t.Context(), store, stream(text), jsonlimport.Options{}); err != nil {
				t.Fatal(err)
			}
			exported, _ := mustExport(t, store, jsonlimport.Graph{})
			mustEqual(t, "graphs", graphOf(t, exported), graphOf(t, text))
		})
	}
}

// graphOf returns the lines of a graph, each in one spelling, sorted. It uses
// another decoder than the package does.
func graphOf(t testing.TB, text string) []string {
	t.Helper()
	var lines []string
	for line := range strings.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatal(err)
		}
		canonical, err := json.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(canonical))
	}
	slices.Sort(lines)
	return lines
}

// TestGraph_exportOfOtherEntries writes entries that came from no graph.
func TestGraph_exportOfOtherEntries(t *testing.T) {
	entry := memory.NewEntry("insight", "tests first")
	store := mustStore(t, entry)
	mustImport(t, store, jsonlimport.Options{}, "testdata/graph.jsonl")
	text, report := mustExport(t, store, jsonlimport.Graph{})
	want := `{"type":"entity","name":"` + entry.ID.String() + `","entityType":"insight","observations":["tests first"]}` + "\n" + mustRead(t, "testdata/graph.jsonl")
	mustEqual(t, "graphs", text, want)
	if len(report.Warnings) != 2 || !strings.HasPrefix(report.Warnings[0], "1 entry came from another form") {
		t.Errorf("warnings %q; want the foreign entry counted", report.Warnings)
	}
}

func TestExport_selection(t *testing.T) {
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, "testdata/clean.jsonl", "testdata/agent.jsonl")
	var out strings.Builder
	selection := memory.Selection{Filter: memory.Filter{AgentPrefix: "tg:"}}
	report, err := jsonlimport.Export(t.Context(), store, selection, jsonlimport.Agent{}, &out)
	if err != nil || report.Entries != 2 || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("report %+v, %v; want the two entries of tg:\n%s", report, err, out.String())
	}
}

// countingStore counts the snapshots that are taken of it.
type countingStore struct {
	memory.Lister
	snapshots int
}

func (s *countingStore) Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		s.snapshots++
		s.Lister.Entries(ctx, selection)(yield)
	}
}

func TestExport_oneSnapshot(t *testing.T) {
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, "testdata/agent.jsonl")
	for _, format := range jsonlimport.Formats() {
		counting := &countingStore{Lister: store}
		if _, err := jsonlimport.Export(t.Context(), counting, memory.Selection{}, format, io.Discard); err != nil || counting.snapshots != 1 {
			t.Errorf("%s: %d snapshots, %v; want one", format.Name(), counting.snapshots, err)
		}
	}
}

// damagedStore yields an entry that no store takes.
type damagedStore struct{ memory.Lister }

func (s damagedStore) Entries(context.Context, memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		e := memory.NewEntry(memory.Fact, "damaged")
		e.Embedding = []float32{float32(math.NaN())}
		yield(e, nil)
	}
}

func TestExport_damaged(t *testing.T) {
	for _, format := range jsonlimport.Formats() {
		_, err := jsonlimport.Export(t.Context(), damagedStore{}, memory.Selection{}, format, io.Discard)
		if !errors.Is(err, memory.ErrInvalid) || !strings.Contains(err.Error(), "doctor") {
			t.Errorf("%s: %v; want the damage named", format.Name(), err)
		}
	}
}

func TestExport_errors(t *testing.T) {
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, "testdata/graph.jsonl")
	full := errors.New("disk full")
	for _, format := range jsonlimport.Formats() {
		if _, err := jsonlimport.Export(t.Context(), store, memory.Selection{}, format, failingWriter{full}); !errors.Is(err, full) {
			t.Errorf("%s: error = %v; want the one of the writer", format.Name(), err)
		}
		missing := memory.Selection{After: uuid.New()}
		if _, err := jsonlimport.Export(t.Context(), store, missing, format, failingWriter{full}); !errors.Is(err, memory.ErrNotFound) {
			t.Errorf("%s: error = %v; want the one of the store", format.Name(), err)
		}
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
