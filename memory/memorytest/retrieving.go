package memorytest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var retrievalRules = []rule{
	{"RetrieveLimit", "A limit of 0 returns none, a negative one is ErrInvalid, and one beyond the store returns all.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"))
		for limit, want := range map[int]int{0: 0, 1: 1, 2: 2, 3: 2, math.MaxInt: 2} {
			t.same(fmt.Sprintf("the number of results for limit %d", limit), len(s.retrieve("one", limit)), want)
		}
		for _, limit := range []int{-1, math.MinInt} {
			_, err := s.Retrieve(t.Context(), "one", limit)
			t.refused(fmt.Sprintf("Retrieve with limit %d", limit), err, memory.ErrInvalid)
		}
	}},
	{"RetrieveTies", "Entries of equal score come in insertion order.", func(t *trial) {
		s := t.with(entry(3, "same"), entry(1, "same"), entry(2, "same"), entry(4, "none"))
		t.same("Retrieve", matchIDs(s.retrieve("same", 4)), ids(3, 1, 2, 4))
		t.same("Retrieve of the first two", matchIDs(s.retrieve("same", 2)), ids(3, 1))
	}},
	{"RetrieveFills", "Entries that do not match fill the result by their relevance, and are not called matched.", func(t *trial) {
		s := t.with(entry(1, "other", relevance(0.3)), entry(2, "other", relevance(7)), entry(3, "wanted", relevance(0)), entry(4, "other", relevance(0.9)))
		got := s.retrieve("wanted", 4)
		t.same("Retrieve", matchIDs(got), ids(4, 3, 1, 2))
		var matched []bool
		for _, m := range got {
			matched = append(matched, m.Matched)
		}
		t.same("matched", matched, []bool{false, true, false, false})
	}},
	{"RetrieveRestricted", "Retrieve never returns restricted entries, and counts the limit without them.", func(t *trial) {
		s := t.with(entry(1, "secret word", restricted), entry(2, "open word"), entry(3, "other"))
		t.same("Retrieve", matchIDs(s.retrieve("secret word", 2)), ids(2, 3))
		t.same("Recall, which does return them", hitIDs(s.recall(memory.Query{Text: "secret"})), ids(1))
	}},
	{"WithRestricted", "A store made with WithRestricted lets Retrieve return restricted entries.", func(t *trial) {
		s := t.fresh(memory.WithRestricted())
		s.put(entry(1, "other"), entry(2, "secret word", restricted))
		t.same("Retrieve", matchIDs(s.retrieve("secret", 2)), ids(2, 1))
	}},
	{"QueriesAreText", "A query is text, never syntax: whatever it holds, it finds the entry of the same text.", func(t *trial) {
		var entries []memory.Entry
		for i, text := range awkwardQueries {
			entries = append(entries, entry(i, text))
		}
		s := t.with(entries...)
		for i, text := range awkwardQueries {
			found := false
			for _, m := range s.retrieve(text, len(entries)) {
				found = found || m.Matched && m.Entry.ID == id(i)
			}
			if !found {
				t.Errorf("Retrieve(%q) does not match its own text", text)
			}
			found = false
			for _, h := range s.recall(memory.Query{Text: text, NoReinforce: true}) {
				found = found || h.Matched && h.Entry.ID == id(i)
			}
			if !found {
				t.Errorf("Recall(%q) does not match its own text", text)
			}
		}
	}},
	{"UnknownWordsDoNoHarm", "One word that nothing contains does not empty the result.", func(t *trial) {
		t.with(entry(1, "alpha"), entry(2, "beta")).finds("alpha zzzzzz", 1)
	}},
	{"LongQueries", "A query of many words is answered like any other.", func(t *trial) {
		s := t.with(entry(1, "alpha"), entry(2, "beta"))
		s.finds(strings.Repeat("wordy ", 5000)+"bet", 2)
		s.finds(strings.Repeat("a", 100_000))
	}},
}

// awkwardQueries are texts that search engines have taken for syntax or have
// lost in tokenizing.
var awkwardQueries = []string{
	"don't", "multi-agent", "C++", `"open`, `"`, `""`, "memory:safe", "DO NOT USE", "FIND / ALL", "*", "pre*", "(python", ")",
	"-x", "^start", "NEAR(", "NEAR(a b, 2)", "AND", "a OR", "col : a", "{a b}", "a + b", "%", "_", "foo_bar", "100%", `\`, "'; DROP",
	"東京", "京", "東", "x東京タワー", "🙂", "👩‍👩‍👧", "café", "cafe\u0301", "\u0301", "क्ष", "का", "ΟΔΟΣ", "ς", "İ", "ﬁ", "²",
	"\u200b", "\u180e", "\ufeff", "\ufffd", "\U0010ffff", "\x01", "\x7f", "ª", "a\u00a0b", "1e5", "?1", ":id", "@v", "$1",
}

var stampRules = []rule{
	{"StampsOnMatches", "Entries that matched and were returned get an access stamp; those that fill the result, or that the limit cut off, get none.", func(t *trial) {
		tagged := func(e *memory.Entry) { e.Tags = []string{"Wanted"} }
		s := t.with(entry(1, "wanted"), entry(2, "other", tagged), entry(3, "wanted too", relevance(0.2)), entry(4, "filler"))
		t.same("Retrieve", matchIDs(s.retrieve("wanted", 2)), ids(1, 2))
		t.same("Retrieve of fillers", matchIDs(s.retrieve("nothing such", 4)), ids(1, 2, 4, 3))
		s.consolidate()
		t.same("access counts", s.accessCounts(), []uint64{1, 1, 0, 0})
		t.same("accessed", []bool{s.get(1).Entry.LastAccessed != nil, s.get(4).Entry.LastAccessed != nil}, []bool{true, false})
	}},
	{"StampsFoldOnce", "A consolidation adds one access however often the entry was returned, and the next one adds none.", func(t *trial) {
		s := t.with(entry(1, "wanted"))
		for range 3 {
			s.retrieve("wanted", 1)
		}
		s.consolidate()
		t.same("access counts", s.accessCounts(), []uint64{1})
		s.consolidate()
		t.same("access counts after a second pass", s.accessCounts(), []uint64{1})
		s.retrieve("wanted", 1)
		s.consolidate()
		t.same("access counts after another retrieve and pass", s.accessCounts(), []uint64{2})
	}},
	{"StampsKeepLatest", "Of several stamps the latest counts, and last_accessed never moves back.", func(t *trial) {
		future := epoch.Add(time.Hour)
		s := t.with(entry(1, "wanted now"), entry(2, "wanted later", func(e *memory.Entry) { e.LastAccessed = &future }))
		latest := epoch.Add(time.Minute)
		for _, at := range []time.Time{epoch, latest, epoch} {
			t.clock.set(at)
			s.retrieve("wanted", 2)
		}
		s.consolidate()
		t.same("access counts", s.accessCounts(), []uint64{1, 1})
		t.same("last_accessed", s.get(1).Entry.LastAccessed, &latest)
		t.same("last_accessed in the future", s.get(2).Entry.LastAccessed, &future)
	}},
	{"StampsArePending", "Recall, Get, Update and Entries do not see stamps that no consolidation has folded yet.", func(t *trial) {
		s := t.with(entry(1, "wanted"))
		s.retrieve("wanted", 1)
		s.holds(entry(1, "wanted"))
		t.same("Get", line(s.get(1).Entry), line(entry(1, "wanted")))
		t.clock.advance(time.Hour)
		t.same("the count after an Update", s.update(1, memory.Change{Validated: new(true)}).Entry.AccessCount, uint64(0))
		t.same("the count after a Recall", s.recall(memory.Query{})[0].Entry.AccessCount, uint64(1))
		s.consolidate()
		t.same("access counts after the fold", s.accessCounts(), []uint64{2})
	}},
	{"StampsGoWithTheEntry", "An entry that is forgotten or replaced takes its stamp with it.", func(t *trial) {
		s := t.with(entry(1, "wanted"), entry(2, "wanted as well"), entry(3, "wanted, and kept"))
		s.retrieve("wanted", 3)
		s.put(entry(1, "replaced"))
		s.forget(2)
		s.put(entry(2, "stored anew"))
		s.consolidate()
		t.same("access counts", s.accessCounts(), []uint64{1, 0, 0})
	}},
	{"StampsBeforeMerge", "Stamps are folded before entries merge, so that a merged count includes them.", func(t *trial) {
		s := t.with(entry(1, "the same words"), entry(2, "the same words"))
		s.retrieve("words", 2)
		t.same("the stats", s.consolidate().Merged, 1)
		t.same("access counts", s.accessCounts(), []uint64{2})
	}},
}

// accessCounts returns the access counts in insertion order.
func (s *subject) accessCounts() []uint64 {
	s.t.Helper()
	var counts []uint64
	for _, e := range s.list() {
		counts = append(counts, e.AccessCount)
	}
	return counts
}
