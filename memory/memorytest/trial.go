package memorytest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// trial is the check of one rule: a test with stores to try it on and the
// clock they run by.
type trial struct {
	testing.TB
	open  Open
	clock *clock
}

// sub runs part of a check as a subtest, so that its stores are closed before
// the next part opens more of them.
func (t *trial) sub(name string, check func(t *trial)) {
	parent, ok := t.TB.(*testing.T)
	if !ok { // the suite under test itself, with a TB that records
		check(t)
		return
	}
	parent.Run(name, func(sub *testing.T) {
		check(&trial{TB: sub, open: t.open, clock: t.clock})
	})
}

// fresh opens an empty store that runs by the clock of the trial.
func (t *trial) fresh(options ...memory.Option) *subject {
	t.Helper()
	return &subject{t.open(t, append(options, memory.WithClock(t.clock.now))...), t}
}

// with opens a store that holds the entries.
func (t *trial) with(entries ...memory.Entry) *subject {
	t.Helper()
	s := t.fresh()
	s.put(entries...)
	return s
}

// refused reports an error other than the one that the call should give.
func (t *trial) refused(call string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got error %v, want one that is %q", call, err, want)
	}
}

// same compares what a call gave with what it should give.
func (t *trial) same(what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}

// subject is a store on trial. Its own methods stop the test on any error.
type subject struct {
	memory.Backend
	t *trial
}

func (s *subject) in(scope memory.Scope) *subject { return &subject{s.In(scope), s.t} }

func (s *subject) must(call string, err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", call, err)
	}
}

func (s *subject) put(entries ...memory.Entry) {
	s.t.Helper()
	for _, e := range entries {
		s.must("Store", s.Store(s.t.Context(), e))
	}
}

func (s *subject) retrieve(query string, limit int) []memory.Match {
	s.t.Helper()
	matches, err := s.Retrieve(s.t.Context(), query, limit)
	s.must("Retrieve", err)
	return matches
}

func (s *subject) recall(query memory.Query) []memory.Hit {
	s.t.Helper()
	recollection, err := s.Recall(s.t.Context(), query)
	s.must("Recall", err)
	return recollection.Hits
}

func (s *subject) get(n int) memory.Record {
	s.t.Helper()
	record, err := s.Get(s.t.Context(), id(n))
	s.must("Get", err)
	return record
}

func (s *subject) update(n int, change memory.Change) memory.Record {
	s.t.Helper()
	record, err := s.Update(s.t.Context(), id(n), change)
	s.must("Update", err)
	return record
}

func (s *subject) forget(n int) {
	s.t.Helper()
	found, err := s.Forget(s.t.Context(), id(n))
	s.must("Forget", err)
	if !found {
		s.t.Fatalf("Forget found no entry %d", n)
	}
}

func (s *subject) consolidate() memory.ConsolidationStats {
	s.t.Helper()
	stats, err := s.Consolidate(s.t.Context())
	s.must("Consolidate", err)
	return stats
}

func (s *subject) list() []memory.Entry {
	s.t.Helper()
	return s.selected(memory.Selection{})
}

func (s *subject) selected(selection memory.Selection) []memory.Entry {
	s.t.Helper()
	var entries []memory.Entry
	for e, err := range s.Entries(s.t.Context(), selection) {
		s.must("Entries", err)
		entries = append(entries, e)
	}
	return entries
}

// holds checks that the store holds exactly these entries, in that order.
func (s *subject) holds(want ...memory.Entry) {
	s.t.Helper()
	s.t.same("the content of the store", lines(s.list()), lines(want))
}

// finds checks which entries Retrieve and Recall match by a text.
func (s *subject) finds(text string, want ...int) {
	s.t.Helper()
	var retrieved, recalled []uuid.UUID
	for _, m := range s.retrieve(text, 1000) {
		if m.Matched {
			retrieved = append(retrieved, m.Entry.ID)
		}
	}
	for _, h := range s.recall(memory.Query{Text: text}) {
		if h.Matched {
			recalled = append(recalled, h.Entry.ID)
		}
	}
	s.t.same(fmt.Sprintf("what Retrieve matches by %.60q", text), unordered(retrieved), unordered(ids(want...)))
	s.t.same(fmt.Sprintf("what Recall matches by %.60q", text), unordered(recalled), unordered(ids(want...)))
}

// epoch is the time at which every trial begins.
var epoch = time.Date(2026, time.October, 1, 12, 0, 0, 123456789, time.UTC)

// clock is a clock that only moves when told to. Stores may read it from any
// goroutine.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.set(epoch)
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) set(t time.Time)         { c.nanos.Store(t.UnixNano()) }
func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

// id is the id of the n-th entry of a trial.
func id(n int) uuid.UUID {
	return uuid.MustParse(fmt.Sprintf("5eed%04x-0000-4000-8000-%012x", n, n))
}

func ids(numbers ...int) []uuid.UUID {
	var out []uuid.UUID
	for _, n := range numbers {
		out = append(out, id(n))
	}
	return out
}

// entry is the n-th entry of a trial: all defaults, created at the epoch.
func entry(n int, text string, edits ...func(*memory.Entry)) memory.Entry {
	e := memory.NewEntry(memory.Fact, text)
	e.ID, e.CreatedAt = id(n), epoch
	for _, edit := range edits {
		edit(&e)
	}
	return e
}

func agent(name string) func(*memory.Entry) { return func(e *memory.Entry) { e.Agent = name } }
func pinned(e *memory.Entry)                { e.Pinned = true }
func restricted(e *memory.Entry)            { e.Confidentiality = memory.Restricted }
func strength(x float64) func(*memory.Entry) {
	return func(e *memory.Entry) { e.Strength = x }
}
func relevance(x float32) func(*memory.Entry) {
	return func(e *memory.Entry) { e.Relevance = x }
}
func related(numbers ...int) func(*memory.Entry) {
	return func(e *memory.Entry) { e.RelatedIDs = ids(numbers...) }
}
func age(d time.Duration) func(*memory.Entry) {
	return func(e *memory.Entry) { e.CreatedAt = epoch.Add(-d) }
}

// line is the JSONL form: equal lines are equal entries, to the last bit.
func line(e memory.Entry) string { return string(e.AppendJSON(nil)) }

func lines(entries []memory.Entry) []string {
	out := make([]string, len(entries))
	for i, e := range entries {
		out[i] = line(e)
	}
	return out
}

func matchIDs(matches []memory.Match) []uuid.UUID {
	var out []uuid.UUID
	for _, m := range matches {
		out = append(out, m.Entry.ID)
	}
	return out
}

func hitIDs(hits []memory.Hit) []uuid.UUID {
	var out []uuid.UUID
	for _, h := range hits {
		out = append(out, h.Entry.ID)
	}
	return out
}

func entryIDs(entries []memory.Entry) []uuid.UUID {
	var out []uuid.UUID
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

// unordered renders ids for a comparison that disregards order.
func unordered(list []uuid.UUID) map[uuid.UUID]int {
	out := make(map[uuid.UUID]int)
	for _, id := range list {
		out[id]++
	}
	return out
}
