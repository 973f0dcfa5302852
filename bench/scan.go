package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// scan looks at every entry for every answer. It is written for this package
// alone, from the contract, and shares with loopmem's stores the arithmetic
// of single entries only, not the way to the answer.
//
// The plain one is the reference: it does what the Rust stores do, which is
// to lowercase each text anew, score each entry and sort them all. The tuned
// one keeps the lowercased texts and their words beside the entries, and only
// the best results instead of all. Both give the same answers, so the tuned
// one also serves as the truth that other stores are checked against.
//
// Unlike a store it is not safe for concurrent use.
type scan struct {
	tuned    bool
	capacity int // most entries; 0 is unlimited
	records  []*record
	byID     map[uuid.UUID]*record
}

// record is an entry with its texts, which are nil in a plain scan.
type record struct {
	entry memory.Entry
	texts *texts
}

// texts are what queries look at, lowercased.
type texts struct {
	memory   string
	tags     []string
	keywords []string
	pieces   []string // of the memory, between white space
	words    []string // the pieces without punctuation around them
}

func newScan(tuned bool) *scan {
	return &scan{tuned: tuned, byID: make(map[uuid.UUID]*record)}
}

func prepare(e *memory.Entry) *texts {
	t := &texts{memory: memory.Lower(e.Memory)}
	for _, tag := range e.Tags {
		t.tags = append(t.tags, memory.Lower(tag))
	}
	t.keywords = loweredKeywords(e)
	t.pieces = strings.Fields(t.memory)
	t.words = wordsOf(t.pieces)
	return t
}

func loweredKeywords(e *memory.Entry) []string {
	var out []string
	for _, keyword := range e.Keywords {
		out = append(out, memory.Lower(keyword))
	}
	return out
}

func wordsOf(pieces []string) []string {
	words := make([]string, len(pieces))
	for i, piece := range pieces {
		words[i] = memory.Word(piece)
	}
	return words
}

// Store adds or replaces an entry.
func (s *scan) Store(ctx context.Context, e memory.Entry) error {
	_, err := s.StoreBatch(ctx, []memory.Entry{e}, memory.Replace)
	return err
}

// StoreBatch stores all entries; of the ways to treat an id that exists, it
// only knows to replace.
func (s *scan) StoreBatch(ctx context.Context, entries []memory.Entry, _ memory.OnConflict) (memory.BatchResult, error) {
	for i := range entries {
		r := &record{entry: entries[i].Clone()}
		if s.tuned {
			r.texts = prepare(&r.entry)
		}
		if _, err := s.Forget(ctx, r.entry.ID); err != nil {
			return memory.BatchResult{}, err
		}
		if s.capacity > 0 && len(s.records) >= s.capacity {
			weakest := s.weakest()
			if weakest == nil {
				return memory.BatchResult{}, memory.ErrFull
			}
			s.remove(weakest)
		}
		s.records = append(s.records, r)
		s.byID[r.entry.ID] = r
	}
	return memory.BatchResult{Stored: len(entries)}, nil
}

// weakest returns the entry that has to make room for another, or nil if all
// are pinned.
func (s *scan) weakest() *record {
	var weakest *record
	for _, r := range s.records {
		if !r.entry.Pinned && (weakest == nil || memory.WeakerThan(&r.entry, &weakest.entry, now)) {
			weakest = r
		}
	}
	return weakest
}

func (s *scan) remove(r *record) {
	i := slices.Index(s.records, r)
	s.records = slices.Delete(s.records, i, i+1)
	delete(s.byID, r.entry.ID)
}

// Forget removes an entry.
func (s *scan) Forget(_ context.Context, id uuid.UUID) (bool, error) {
	r := s.byID[id]
	if r == nil {
		return false, nil
	}
	s.remove(r)
	return true, nil
}

// Get returns an entry.
func (s *scan) Get(_ context.Context, id uuid.UUID) (memory.Record, error) {
	if r := s.byID[id]; r != nil {
		return memory.Record{Entry: r.entry.Clone()}, nil
	}
	return memory.Record{}, fmt.Errorf("get %s: %w", id, memory.ErrNotFound)
}

// Len counts the entries.
func (s *scan) Len(context.Context) (int, error) { return len(s.records), nil }

// Entries iterates over all entries, whatever the selection.
func (s *scan) Entries(context.Context, memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		for _, r := range s.records {
			if !yield(r.entry, nil) {
				return
			}
		}
	}
}

// Close does nothing.
func (s *scan) Close() error { return nil }

// result is an entry with the score by which it is ranked.
type result[S cmp.Ordered] struct {
	*record
	position int // in insertion order, which decides ties
	score    S
	matched  bool
}

func better[S cmp.Ordered](a, b result[S]) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.position, b.position))
}

// ranked collects results and returns the best.
type ranked[S cmp.Ordered] struct {
	limit   int
	tuned   bool
	results []result[S]
}

// add takes a result in. The tuned form keeps no more than limit, in order;
// as most results are worse than all of those, it seldom does more than one
// comparison.
func (r *ranked[S]) add(x result[S]) {
	if !r.tuned {
		r.results = append(r.results, x)
		return
	}
	if len(r.results) == r.limit {
		if r.limit == 0 || better(r.results[r.limit-1], x) < 0 {
			return
		}
		r.results = r.results[:r.limit-1]
	}
	i, _ := slices.BinarySearchFunc(r.results, x, better[S])
	r.results = slices.Insert(r.results, i, x)
}

func (r *ranked[S]) best() []result[S] {
	if !r.tuned {
		slices.SortFunc(r.results, better[S])
		r.results = r.results[:min(r.limit, len(r.results))]
	}
	return r.results
}

// Retrieve ranks all entries by the LoopMemory score. It leaves no access
// stamps: they only show in a consolidation.
func (s *scan) Retrieve(_ context.Context, query string, limit int) ([]memory.Match, error) {
	q := memory.NewRetrieveQuery(query)
	best := ranked[float32]{limit: limit, tuned: s.tuned}
	for i, r := range s.records {
		if r.entry.Confidentiality == memory.Restricted {
			continue
		}
		x := result[float32]{record: r, position: i}
		if s.tuned {
			overlap, tag := q.Overlap(r.texts.memory), q.Phrase != "" && containsPart(r.texts.tags, q.Phrase)
			x.score, x.matched = q.Score(r.entry.Relevance, overlap, tag), overlap > 0 || tag
		} else {
			overlap, tag := q.Overlap(memory.Lower(r.entry.Memory)), q.TagMatches(r.entry.Tags)
			x.score, x.matched = q.Score(r.entry.Relevance, overlap, tag), overlap > 0 || tag
		}
		best.add(x)
	}
	var matches []memory.Match
	for _, x := range best.best() {
		matches = append(matches, memory.Match{Entry: x.entry.Clone(), Score: x.score, Matched: x.matched})
	}
	return matches, nil
}

// containsPart reports whether any of the texts contains the part.
func containsPart(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}

// touch does the book-keeping of a recall that returned these entries.
func (s *scan) touch(hits []memory.Hit, reinforce bool) {
	for i := range hits {
		if r := s.byID[hits[i].Entry.ID]; r != nil {
			r.entry.Touch(now, reinforce)
		}
	}
}
