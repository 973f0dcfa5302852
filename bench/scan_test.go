package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// The yardsticks are only worth something if they do what a store does: both
// must answer as the in-memory store, which reads as the specification.
func TestScan_answersAsTheStore(t *testing.T) {
	const seed = 1
	entries, err := embedded(t.Context(), zipf(300, seed))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	words := vocabulary(seed)
	for i := range entries {
		e := &entries[i]
		switch r.IntN(4) {
		case 0:
			e.Keywords = []string{strings.ToUpper(words[r.IntN(50)]), words[r.IntN(50)] + ", " + words[r.IntN(50)]}
		case 1:
			e.RelatedIDs = []uuid.UUID{entries[r.IntN(len(entries))].ID, entries[r.IntN(len(entries))].ID}
		case 2:
			e.Embedding = nil
		default:
			e.Confidentiality = memory.Confidentiality(r.IntN(4))
		}
	}
	store, err := memory.NewStore(memory.WithClock(func() time.Time { return now }), memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	scans := []*scan{newScan(false), newScan(true)}
	for _, s := range scans {
		if _, err := s.StoreBatch(t.Context(), entries, memory.Replace); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 300 {
		text := randomText(r, words)
		limit := r.IntN(12)
		matches, err := store.Retrieve(t.Context(), text, limit)
		if err != nil {
			t.Fatal(err)
		}
		query := randomQuery(r, text, entries)
		recollection, err := store.Recall(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scans {
			question := fmt.Sprintf("question %d to the scan, tuned %v", i, s.tuned)
			got, err := s.Retrieve(t.Context(), text, limit)
			if err == nil {
				err = sameMatches(question, got, matches)
			}
			if err != nil {
				t.Fatalf("retrieve %q: %v", text, err)
			}
			recalled, err := s.Recall(t.Context(), query)
			if err == nil {
				err = sameHits(question, recalled.Hits, recollection.Hits)
			}
			if err != nil {
				t.Fatalf("recall %+v: %v", query, err)
			}
		}
	}
}

// randomText is a query of a few words, some of them cut or unknown.
func randomText(r *rand.Rand, words []string) string {
	var text []string
	for range r.IntN(4) {
		word := words[r.IntN(300)]
		switch r.IntN(6) {
		case 0:
			word = inside(word)
		case 1:
			word = strings.ToUpper(word) + "!"
		case 2:
			word = "qxzjvk"
		}
		text = append(text, word)
	}
	return strings.Join(text, " ")
}

func randomQuery(r *rand.Rand, text string, entries []memory.Entry) memory.Query {
	q := memory.Query{Text: text, Limit: r.IntN(12), ExactWords: r.IntN(2) == 0, NoReinforce: r.IntN(2) == 0}
	if r.IntN(3) == 0 {
		q.Agent = &entries[r.IntN(len(entries))].Agent
	}
	if r.IntN(3) == 0 {
		q.MaxConfidentiality = new(memory.Internal)
	}
	if r.IntN(3) == 0 {
		q.Embedding = entries[r.IntN(len(entries))].Embedding
	}
	return q
}

func TestScan_makesRoomAsTheStore(t *testing.T) {
	entries := zipf(60, 1)
	for i := range 5 {
		entries[i].Pinned = true
	}
	store, err := memory.NewStore(memory.WithClock(func() time.Time { return now }), memory.WithCapacity(20))
	if err != nil {
		t.Fatal(err)
	}
	s := newScan(true)
	s.capacity = 20
	for _, e := range entries {
		if err := store.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for e, err := range store.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), e.ID); err != nil {
			t.Error(err)
		}
	}
	if n, _ := s.Len(t.Context()); n != 20 {
		t.Errorf("%d entries", n)
	}
}

func TestScan_consolidatesAsTheStore(t *testing.T) {
	entries := nearDuplicates(300, 1)
	store, err := memory.NewStore(memory.WithClock(func() time.Time { return now }), memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	want, err := store.Consolidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := newScan(false)
	if _, err := s.StoreBatch(t.Context(), entries, memory.Replace); err != nil {
		t.Fatal(err)
	}
	got, err := s.Consolidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Which text of a cluster goes depends on quality, of which the scan knows
	// nothing.
	got.BytesSaved, want.BytesSaved = 0, 0
	if got != want || got.Merged == 0 {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
