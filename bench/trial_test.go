package main

import (
	"context"
	"errors"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// broken is a store with one fault.
type broken struct {
	memory.Backend
	retrieve    func([]memory.Match)
	recall      func([]memory.Hit)
	consolidate func(*memory.ConsolidationStats)
	loses       bool // what is stored one by one
	keeps       bool // what is forgotten
	grows       bool // beyond its capacity
	hides       bool // one entry from whoever lists them
	never       bool // merges
}

func (b *broken) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := b.Backend.Retrieve(ctx, query, limit)
	if b.retrieve != nil {
		b.retrieve(matches)
	}
	return matches, err
}

func (b *broken) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	r, err := b.Backend.Recall(ctx, query)
	if b.recall != nil {
		b.recall(r.Hits)
	}
	return r, err
}

func (b *broken) Store(ctx context.Context, e memory.Entry) error {
	if b.loses {
		return nil
	}
	return b.Backend.Store(ctx, e)
}

func (b *broken) Forget(ctx context.Context, id uuid.UUID) (bool, error) {
	if b.keeps {
		return true, nil
	}
	return b.Backend.Forget(ctx, id)
}

func (b *broken) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	if b.never {
		n, err := b.Len(ctx)
		return memory.ConsolidationStats{EntriesBefore: n, EntriesAfter: n}, err
	}
	stats, err := b.Backend.Consolidate(ctx)
	if b.consolidate != nil {
		b.consolidate(&stats)
	}
	return stats, err
}

func (b *broken) Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		hidden := !b.hides
		for e, err := range b.Backend.Entries(ctx, selection) {
			if !hidden {
				hidden = true
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// backendWith is a backend of broken stores.
func backendWith(fault broken) backend {
	return backend{name: "broken", open: func(_ context.Context, _ string, options ...memory.Option) (subject, error) {
		if fault.grows {
			options = append(options, memory.WithCapacity(0))
		}
		store, err := memory.NewStore(options...)
		if err != nil {
			return nil, err
		}
		b := fault
		b.Backend = store
		return &b, nil
	}}
}

// measureAll measures workloads on one backend and returns their names.
func measureAll(t *testing.T, b backend, workloads ...string) (measured []string, err error) {
	t.Helper()
	s := settings{budget: time.Millisecond, patience: time.Minute, workloads: workloads}
	for _, stage := range stages() {
		if !slices.ContainsFunc(stage.names(), s.wants) {
			continue
		}
		c, err := newCorpus(t.Context(), "zipf", 100, 1)
		if err != nil {
			t.Fatal(err)
		}
		if stage.adapt != nil {
			if c, err = stage.adapt(t.Context(), c, 1); err != nil {
				t.Fatal(err)
			}
		}
		err = s.measureStage(t.Context(), c, b, stage, func(name string, _ sample) { measured = append(measured, name) })
		if err != nil {
			return measured, err
		}
	}
	return measured, nil
}

func TestTrial_noticesWrongAnswers(t *testing.T) {
	for _, c := range []struct {
		name     string
		workload string
		fault    broken
	}{
		{"a result too few", "retrieve/empty", broken{retrieve: func(m []memory.Match) { m[len(m)-1] = memory.Match{} }}},
		{"two results in the wrong order", "retrieve/word in 10%", broken{retrieve: func(m []memory.Match) { m[0], m[1] = m[1], m[0] }}},
		{"the last bit of a score", "retrieve/word in none", broken{retrieve: func(m []memory.Match) { m[5].Score = math.Nextafter32(m[5].Score, 2) }}},
		{"a match that is none", "retrieve/substring", broken{retrieve: func(m []memory.Match) { m[9].Matched = !m[9].Matched }}},
		{"the last bit of a score", "recall exact/empty", broken{recall: func(h []memory.Hit) { h[3].Score = math.Nextafter(h[3].Score, 2) }}},
		{"an access not counted", "recall substrings/word in 10%", broken{recall: func(h []memory.Hit) { h[0].Entry.AccessCount-- }}},
		{"another entry", "recall exact/hybrid", broken{recall: func(h []memory.Hit) { h[0].Entry = h[1].Entry }}},
		{"an entry that is lost", "store", broken{loses: true}},
		{"an entry that stays", "forget", broken{keeps: true}},
		{"a store over its capacity", "store at capacity", broken{grows: true}},
		{"an entry that is hidden", "import", broken{hides: true}},
		{"clusters that stay apart", "consolidate/near", broken{never: true}},
		{"a wrong count", "consolidate/distinct", broken{consolidate: func(s *memory.ConsolidationStats) { s.Merged++ }}},
	} {
		t.Run(c.workload+"/"+strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			if measured, err := measureAll(t, backendWith(broken{}), c.workload); err != nil || len(measured) == 0 {
				t.Fatalf("without a fault: %v, measured %v", err, measured)
			}
			_, err := measureAll(t, backendWith(c.fault), c.workload)
			if _, ok := errors.AsType[*wrongError](err); !ok {
				t.Errorf("got error %v", err)
			}
		})
	}
}

// A worker cannot know the whole answer while others write, but much of it.
func TestPlausible(t *testing.T) {
	entries := zipf(50, 1)
	store, err := memory.NewStore(memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	query := strings.Fields(entries[0].Memory)[0]
	for name, spoil := range map[string]func([]memory.Match) []memory.Match{
		"":               func(m []memory.Match) []memory.Match { return m },
		"too few":        func(m []memory.Match) []memory.Match { return m[1:] },
		"order":          func(m []memory.Match) []memory.Match { m[0], m[9] = m[9], m[0]; return m },
		"foreign score":  func(m []memory.Match) []memory.Match { m[0].Score += 0.5; return m },
		"another's text": func(m []memory.Match) []memory.Match { m[0].Entry.Memory = "none of it"; return m },
	} {
		matches, err := store.Retrieve(t.Context(), query, limit)
		if err != nil {
			t.Fatal(err)
		}
		if err := plausible(query, spoil(matches)); (err == nil) != (name == "") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every answer is compared while there is time; every operation that counts
// is in the sample.
func TestTrial_repeat(t *testing.T) {
	trial := &trial{options: settings{budget: time.Hour}}
	var done, checked, followed int
	s, err := trial.repeat(t.Context(), operation{
		most:  20,
		do:    func(int) error { done++; return nil },
		check: func(int) error { checked++; return nil },
		after: func(int) error { followed++; return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if done != 20 || checked != 20 || followed != 20 || s.checked != 20 || len(s.took) != 20-warmUp {
		t.Errorf("done %d, checked %d, followed %d; %d checked and %d counted in the sample", done, checked, followed, s.checked, len(s.took))
	}
	failure := errors.New("failure")
	for name, op := range map[string]operation{
		"do":    {do: func(int) error { return failure }},
		"check": {do: func(int) error { return nil }, check: func(int) error { return failure }},
	} {
		if _, err := trial.repeat(t.Context(), op); !errors.Is(err, failure) {
			t.Errorf("%s fails: %v", name, err)
		}
	}
}

func TestSamePrinted(t *testing.T) {
	store, err := memory.NewStore(memory.WithEntries(zipf(20, 1)...))
	if err != nil {
		t.Fatal(err)
	}
	want, err := store.Retrieve(t.Context(), "", 2)
	if err != nil {
		t.Fatal(err)
	}
	line := func(m memory.Match) string {
		entry := string(m.Entry.AppendJSON(nil))
		return strings.TrimSuffix(entry, "}") + `,"score":0.6,"matched":false}` + "\n"
	}
	first, second := line(want[0]), line(want[1])
	for out, right := range map[string]bool{
		first + second: true, second + first: false, first: false, first + second + second: false, "": false,
	} {
		if err := samePrinted(out, want); (err == nil) != right {
			t.Errorf("%q: %v", out, err)
		}
	}
}
