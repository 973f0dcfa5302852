package memorytest

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var updateRules = []rule{
	{"UpdateChangesWhatItNames", "Update changes the fields it names and no other, sets last_accessed, and keeps the entry in its place.", func(t *trial) {
		s := t.with(entry(1, "first"), everyField(2), entry(3, "third"))
		want := everyField(2)
		for _, step := range []struct {
			change memory.Change
			expect func(*memory.Entry)
		}{
			{memory.Change{Summary: new("other")}, func(e *memory.Entry) { e.Summary = "other" }},
			{memory.Change{Category: new(memory.Working)}, func(e *memory.Entry) { e.Category = memory.Working }},
			{memory.Change{Tags: new([]string{"x", "x"})}, func(e *memory.Entry) { e.Tags = []string{"x", "x"} }},
			{memory.Change{Tags: new([]string)}, func(e *memory.Entry) { e.Tags = nil }},
			{memory.Change{Keywords: new([]string{"y"})}, func(e *memory.Entry) { e.Keywords = []string{"y"} }},
			{memory.Change{Importance: new(uint8(0))}, func(e *memory.Entry) { e.Importance = 0 }},
			{memory.Change{Validated: new(false)}, func(e *memory.Entry) { e.Validated = false }},
			{memory.Change{Pinned: new(false)}, func(e *memory.Entry) { e.Pinned = false }},
			{memory.Change{Confidentiality: new(memory.Internal)}, func(e *memory.Entry) { e.Confidentiality = memory.Internal }},
			{memory.Change{Agent: new("")}, func(e *memory.Entry) { e.Agent = "" }},
			{memory.Change{Attributes: new(map[string]string{"k": "v"})}, func(e *memory.Entry) { e.Attributes = map[string]string{"k": "v"} }},
			{memory.Change{Memory: new("new words")}, func(e *memory.Entry) { e.Memory, e.Embedding = "new words", nil }},
			{memory.Change{}, func(*memory.Entry) {}},
		} {
			t.clock.advance(time.Second)
			step.expect(&want)
			want.LastAccessed = new(t.clock.now())
			t.same("what Update returned", line(s.update(2, step.change).Entry), line(want))
			s.holds(entry(1, "first"), want, entry(3, "third"))
		}
	}},
	{"UpdateText", "A changed text drops the embedding; the same text again does not.", func(t *trial) {
		s := t.with(entry(1, "text", func(e *memory.Entry) { e.Embedding = []float32{1, 2} }))
		t.same("the embedding", s.update(1, memory.Change{Memory: new("text")}).Entry.Embedding, []float32{1, 2})
		t.same("the embedding", len(s.update(1, memory.Change{Memory: new("other text")}).Entry.Embedding), 0)
	}},
	{"UpdateKeepsLaterAccess", "last_accessed never moves back.", func(t *trial) {
		future := epoch.Add(time.Hour)
		s := t.with(entry(1, "ahead", func(e *memory.Entry) { e.LastAccessed = &future }))
		t.same("last_accessed", s.update(1, memory.Change{}).Entry.LastAccessed, &future)
	}},
	{"UpdateRefuses", "An update that breaks a rule is ErrInvalid, one of an unknown id ErrNotFound, and nothing is changed.", func(t *trial) {
		s := t.with(entry(1, "as it was"))
		for name, change := range map[string]memory.Change{
			"an empty category": {Category: new(memory.Category(""))},
			"NUL in the text":   {Memory: new("a\x00")},
			"bad UTF-8":         {Tags: new([]string{"\xff"})},
			"an unknown level":  {Confidentiality: new(memory.Confidentiality(7))},
		} {
			_, err := s.Update(t.Context(), id(1), change)
			t.refused("Update with "+name, err, memory.ErrInvalid)
		}
		_, err := s.Update(t.Context(), id(2), memory.Change{})
		t.refused("Update of an unknown id", err, memory.ErrNotFound)
		s.holds(entry(1, "as it was"))
	}},
	{"UpdateIfVersion", "An update that names a version succeeds only while the entry has it; else it is ErrConflict and changes nothing.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"))
		first := s.get(1).Version
		second := s.update(1, memory.Change{Summary: new("a"), IfVersion: first})
		t.same("the version Get gives", s.get(1).Version, second.Version)
		if second.Version == first || first == 0 {
			t.Errorf("versions are %d, then %d after a change", first, second.Version)
		}
		for name, version := range map[string]uint64{"of before": first, "that never was": math.MaxInt64 - 1} {
			_, err := s.Update(t.Context(), id(1), memory.Change{Summary: new("b"), IfVersion: version})
			t.refused("Update of a version "+name, err, memory.ErrConflict)
		}
		t.same("the entry", s.get(1).Entry.Summary, "a")
		t.same("with no version named", s.update(1, memory.Change{Summary: new("c")}).Entry.Summary, "c")
	}},
	{"VersionsOutliveTheEntry", "A replaced entry, or one stored anew under its id, never gets a version back.", func(t *trial) {
		s := t.with(entry(1, "one"))
		version := s.get(1).Version
		s.put(entry(1, "replaced"))
		_, err := s.Update(t.Context(), id(1), memory.Change{IfVersion: version})
		t.refused("Update of the replaced entry", err, memory.ErrConflict)
		version = s.get(1).Version
		s.forget(1)
		s.put(entry(1, "stored anew"))
		_, err = s.Update(t.Context(), id(1), memory.Change{IfVersion: version})
		t.refused("Update of the entry stored anew", err, memory.ErrConflict)
	}},
	{"VersionsIgnoreAccess", "Access book-keeping does not change the version.", func(t *trial) {
		s := t.with(entry(1, "one"))
		version := s.get(1).Version
		s.retrieve("one", 1)
		s.recall(memory.Query{})
		s.update(1, memory.Change{IfVersion: version, Summary: new("still fits")})
		t.same("the summary", s.get(1).Entry.Summary, "still fits")
	}},
	{"LinkBothWays", "Link relates two entries with each other, once however often it is called, and keeps what they had.", func(t *trial) {
		s := t.with(entry(1, "one", related(9)), entry(2, "two"), entry(3, "three"))
		s.must("Link", s.Link(t.Context(), id(1), id(2)))
		s.must("Link again", s.Link(t.Context(), id(1), id(2)))
		s.must("Link the other way", s.Link(t.Context(), id(2), id(1)))
		s.holds(entry(1, "one", related(9, 2)), entry(2, "two", related(1)), entry(3, "three"))
	}},
	{"LinkRefuses", "Link is ErrNotFound for an unknown id and ErrInvalid for an entry with itself, and changes nothing.", func(t *trial) {
		s := t.with(entry(1, "one"))
		t.refused("Link to an unknown id", s.Link(t.Context(), id(1), id(2)), memory.ErrNotFound)
		t.refused("Link from an unknown id", s.Link(t.Context(), id(2), id(1)), memory.ErrNotFound)
		t.refused("Link to itself", s.Link(t.Context(), id(1), id(1)), memory.ErrInvalid)
		s.holds(entry(1, "one"))
	}},
	{"Get", "Get returns the entry without counting an access; an unknown id is ErrNotFound.", func(t *trial) {
		s := t.with(entry(1, "one"))
		t.same("Get", line(s.get(1).Entry), line(entry(1, "one")))
		s.holds(entry(1, "one"))
		_, err := s.Get(t.Context(), id(2))
		t.refused("Get of an unknown id", err, memory.ErrNotFound)
	}},
	{"NoUpdateIsLost", "Concurrent updates by version lose none, and concurrent recalls and links count exactly.", func(t *trial) {
		const workers, rounds = 8, 10
		s := t.with(entry(1, "counter"), entry(2, "other"))
		before := s.get(1).Entry.AccessCount
		var wait sync.WaitGroup
		for range workers {
			wait.Go(func() {
				for range rounds {
					if !increment(t, s) {
						return
					}
					if _, err := s.Recall(t.Context(), memory.Query{Text: "counter"}); err != nil {
						t.Errorf("Recall: %v", err)
					}
					if err := s.Link(t.Context(), id(1), id(2)); err != nil {
						t.Errorf("Link: %v", err)
					}
				}
			})
		}
		wait.Wait()
		s.put(entry(3, "a write, after which no book-keeping is deferred"))
		e := s.get(1).Entry
		t.same("the number of updates in the entry", len(e.Tags), workers*rounds)
		t.same("the access count", e.AccessCount-before, uint64(workers*rounds))
		t.same("the links", e.RelatedIDs, ids(2))
	}},
}

// increment adds one tag to entry 1 by the way of optimistic updates. It may
// run in any goroutine, and reports whether it succeeded.
func increment(t *trial, s *subject) bool {
	const patience = 10_000
	for range patience {
		r, err := s.Get(t.Context(), id(1))
		if err != nil {
			t.Errorf("Get: %v", err)
			return false
		}
		tags := append(r.Entry.Tags, "+1")
		_, err = s.Update(t.Context(), id(1), memory.Change{Tags: &tags, IfVersion: r.Version})
		if err == nil {
			return true
		}
		if !errors.Is(err, memory.ErrConflict) {
			t.Errorf("Update: %v", err)
			return false
		}
	}
	t.Errorf("Update conflicted %d times in a row", patience)
	return false
}
