package memorytest

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var recallRules = []rule{
	{"RecallZeroQuery", "The zero Query returns every entry, best first, and reinforces each.", func(t *trial) {
		s := t.with(entry(1, "plain", strength(0.5)), entry(2, "important", strength(0.9), func(e *memory.Entry) { e.Importance = 10 }), entry(3, "secret", restricted, strength(0.5)))
		hits := s.recall(memory.Query{})
		t.same("Recall", hitIDs(hits), ids(2, 1, 3))
		t.same("strengths", []float64{hits[0].Entry.Strength, hits[1].Entry.Strength}, []float64{1, 0.7})
	}},
	{"RecallCountsAccess", "Every returned entry has one access more, made now, and the store holds it as it was returned.", func(t *trial) {
		s := t.with(entry(1, "returned", strength(0.3)), entry(2, "not this"))
		t.clock.advance(time.Minute)
		hits := s.recall(memory.Query{Text: "returned"})
		t.same("Recall", hitIDs(hits), ids(1))
		want := entry(1, "returned", strength(0.5))
		want.AccessCount, want.LastAccessed = 1, new(t.clock.now())
		t.same("the hit", line(hits[0].Entry), line(want))
		s.holds(want, entry(2, "not this"))
		t.same("Get", line(s.get(1).Entry), line(want))
	}},
	{"RecallNoReinforce", "Without reinforcement the strength stays, but the access counts all the same.", func(t *trial) {
		s := t.with(entry(1, "returned", strength(0.3)))
		s.recall(memory.Query{NoReinforce: true})
		want := entry(1, "returned", strength(0.3))
		want.AccessCount, want.LastAccessed = 1, new(t.clock.now())
		s.holds(want)
	}},
	{"RecallKeepsLaterAccess", "last_accessed becomes the later of its own and now, even under a clock that moved back.", func(t *trial) {
		future := epoch.Add(time.Hour)
		accessed := func(e *memory.Entry) { e.LastAccessed = &future }
		hits := t.with(entry(1, "ahead", accessed)).recall(memory.Query{})
		t.same("last_accessed", hits[0].Entry.LastAccessed, &future)
	}},
	{"RecallSaturates", "Strength stops at 1, and an access count at 2^63-1.", func(t *trial) {
		s := t.with(entry(1, "full", strength(0.95), func(e *memory.Entry) { e.AccessCount = math.MaxInt64 }))
		s.recall(memory.Query{})
		e := s.get(1).Entry
		t.same("strength", e.Strength, 1.0)
		t.same("access count", e.AccessCount, uint64(math.MaxInt64))
		s.retrieve("full", 1)
		s.consolidate()
		t.same("access count after a fold", s.get(1).Entry.AccessCount, uint64(math.MaxInt64))
	}},
	{"RecallKeepsOrder", "Book-keeping does not move an entry in insertion order.", func(t *trial) {
		s := t.with(entry(1, "alpha"), entry(2, "beta"), entry(3, "beta"))
		s.recall(memory.Query{Text: "alpha"})
		s.recall(memory.Query{Text: "beta", Limit: 1})
		t.same("Entries", entryIDs(s.list()), ids(1, 2, 3))
		t.same("ties in Retrieve", matchIDs(s.retrieve("", 3)), ids(1, 2, 3))
	}},
	{"RecallLimit", "A limit of 0 means all, a negative one is ErrInvalid.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"), entry(3, "three"))
		t.same("Recall without limit", len(s.recall(memory.Query{})), 3)
		t.same("Recall of one", len(s.recall(memory.Query{Limit: 1})), 1)
		t.same("Recall of a thousand millions", len(s.recall(memory.Query{Limit: 1e9})), 3)
	}},
	{"RecallRefuses", "A query that cannot mean anything is ErrInvalid, and counts no access.", func(t *trial) {
		s := t.with(entry(1, "one"))
		for name, q := range map[string]memory.Query{
			"a negative limit":      {Limit: -1},
			"NaN in the embedding":  {Embedding: []float32{float32(math.NaN())}},
			"an infinite embedding": {Embedding: []float32{float32(math.Inf(1))}},
			"NaN as min_strength":   {Filter: memory.Filter{MinStrength: new(math.NaN())}},
			"an unknown type":       {Filter: memory.Filter{MemoryType: new(memory.MemoryType(9))}},
		} {
			_, err := s.Recall(t.Context(), q)
			t.refused("Recall with "+name, err, memory.ErrInvalid)
		}
		s.holds(entry(1, "one"))
	}},
	{"RecallFiltersAreLiteral", "Filters compare text as it is: no wildcards, no case folding, no trimming.", func(t *trial) {
		s := t.with(
			entry(1, "a", agent("a_b")), entry(2, "a", agent("axb")), entry(3, "a", agent("A_B")), entry(4, "a", agent("a%")),
			entry(5, "a", agent("a*")), entry(6, "a", agent("a_b\U0010ffff")), entry(7, "a"), entry(8, "a", agent(" a_b")), entry(9, "a", agent("a[b]")))
		for prefix, want := range map[string][]int{
			"a_": {1, 6}, "a%": {4}, "a*": {5}, "A": {3}, "a_b": {1, 6}, "a[": {9}, " ": {8}, "a_b\U0010ffff": {6}, "": {1, 2, 3, 4, 5, 6, 7, 8, 9}, "?": nil,
		} {
			t.same("Recall with the agent prefix "+prefix, hitIDs(s.recall(memory.Query{Filter: memory.Filter{AgentPrefix: prefix}})), ids(want...))
		}
		for name, want := range map[string][]int{"a_b": {1}, "A_B": {3}, "": {7}, "a%": {4}, "a": nil} {
			t.same("Recall with the agent "+name, hitIDs(s.recall(memory.Query{Filter: memory.Filter{Agent: &name, AgentPrefix: "ignored"}})), ids(want...))
		}
		for category, want := range map[memory.Category]int{"fact": 9, "Fact": 0, "fac": 0, "f%": 0} {
			t.same("the number of entries of category "+string(category), len(s.recall(memory.Query{Filter: memory.Filter{Category: category}})), want)
		}
	}},
	{"RecallManyForms", "A word is found however many forms it has in the texts, in both modes and by Retrieve.", func(t *trial) {
		const forms = 600
		entries := make([]memory.Entry, forms)
		for i := range entries {
			entries[i] = entry(i+1, strings.Repeat("(", i%30)+"word"+strings.Repeat(")", i/30))
		}
		s := t.with(entries...)
		for _, exact := range []bool{true, false} {
			hits := s.recall(memory.Query{Text: "word", ExactWords: exact})
			t.same(fmt.Sprintf("the number of hits, exact words: %t", exact), len(hits), forms)
		}
		matched := 0
		for _, m := range s.retrieve("word", forms) {
			if m.Matched {
				matched++
			}
		}
		t.same("the number of matches", matched, forms)
	}},
	{"RecallExpands", "What a result is linked to comes along if agent, level and strength allow it, whatever its text; it counts as accessed too.", func(t *trial) {
		s := t.with(
			entry(1, "wanted", agent("a"), related(2, 3, 4, 5, 6, 99)),
			entry(2, "linked", agent("a"), strength(0.6), func(e *memory.Entry) { e.Category = memory.Working }),
			entry(3, "of another agent", agent("ab")),
			entry(4, "secret", agent("a"), restricted),
			entry(5, "faded", agent("a"), strength(0.1)),
			entry(6, "two hops away from here", agent("a"), related(7)),
			entry(7, "beyond", agent("a")))
		hits := s.recall(memory.Query{Text: "wanted", Filter: memory.Filter{
			Agent: new("a"), Category: memory.Fact, MinStrength: new(0.5), MaxConfidentiality: new(memory.Confidential)}})
		t.same("Recall", hitIDs(hits), ids(1, 6, 2))
		t.same("matched", []bool{hits[0].Matched, hits[1].Matched}, []bool{true, false})
		t.same("access counts", s.accessCounts(), []uint64{1, 1, 0, 0, 0, 1, 0})
	}},
	{"RecallByEmbedding", "With a query embedding, an entry that has an embedding is found even where its text does not match.", func(t *trial) {
		vector := func(v ...float32) func(*memory.Entry) { return func(e *memory.Entry) { e.Embedding = v } }
		s := t.with(entry(1, "far", vector(0, 1)), entry(2, "near", vector(1, 0.1)), entry(3, "no vector"), entry(4, "wanted"))
		t.same("Recall", hitIDs(s.recall(memory.Query{Text: "wanted", Embedding: []float32{1, 0}})), ids(2, 4, 1))
	}},
}
