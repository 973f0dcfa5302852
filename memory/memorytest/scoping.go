package memorytest

import (
	"fmt"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// scopedTrial is a store seen through a handle for the namespace tg:1 up to
// internal, in which only entries 1 and 2 lie. The others are what such a
// handle might let slip: an agent whose name goes on without a colon, one
// named like the namespace in capitals, none at all, and a level above.
type scopedTrial struct {
	*trial
	whole, handle *subject
}

var tg1 = memory.Scope{Namespace: "tg:1", MaxConfidentiality: new(memory.Internal)}

func scopedEntries() []memory.Entry {
	return []memory.Entry{
		entry(3, "alpha words", agent("tg:12"), age(time.Hour), related(1)),
		entry(1, "alpha words", agent("tg:1"), age(time.Hour), related(2, 3, 4, 5, 6)),
		entry(4, "alpha words", agent("TG:1"), age(time.Hour)),
		entry(2, "beta", agent("tg:1:assistant"), age(time.Hour), func(e *memory.Entry) { e.Confidentiality = memory.Internal }),
		entry(5, "alpha words", age(time.Hour)),
		entry(6, "alpha words", agent("tg:1"), age(time.Hour), func(e *memory.Entry) { e.Confidentiality = memory.Confidential }),
		entry(7, "alpha words", agent("tg:12:assistant"), age(time.Hour)),
	}
}

// hidden are the entries outside the handle's scope, in order.
func hidden() []memory.Entry {
	var out []memory.Entry
	for _, e := range scopedEntries() {
		if e.ID != id(1) && e.ID != id(2) {
			out = append(out, e)
		}
	}
	return out
}

func scoped(check func(t *scopedTrial)) func(*trial) {
	return func(t *trial) {
		whole := t.with(scopedEntries()...)
		check(&scopedTrial{t, whole, whole.in(tg1)})
	}
}

// outsideUntouched checks that no entry outside the scope has changed.
func (t *scopedTrial) outsideUntouched() {
	t.Helper()
	var outside []memory.Entry
	for _, e := range t.whole.list() {
		if !tg1.Contains(e.Agent, e.Confidentiality) {
			outside = append(outside, e)
		}
	}
	t.same("the entries outside the scope", lines(outside), lines(hidden()))
}

var scopeRules = []rule{
	{"ScopeStore", "A handle stores entries at or below its namespace, gives it to those without agent, and refuses others with ErrScope, also to replace what it does not see.", scoped(func(t *scopedTrial) {
		t.handle.put(entry(20, "no agent"), entry(21, "below", agent("tg:1:x")))
		t.same("the agent given", t.handle.get(20).Entry.Agent, "tg:1")
		for name, e := range map[string]memory.Entry{
			"of another agent":         entry(22, "x", agent("tg:12")),
			"above the level":          entry(22, "x", agent("tg:1"), restricted),
			"over one of another":      entry(3, "x", agent("tg:1")),
			"over one without agent":   entry(5, "x"),
			"over one of a high level": entry(6, "x", agent("tg:1")),
		} {
			t.refused("Store "+name, t.handle.Store(t.Context(), e), memory.ErrScope)
			_, err := t.handle.StoreBatch(t.Context(), []memory.Entry{entry(23, "good"), e}, memory.Replace)
			t.refused("StoreBatch "+name, err, memory.ErrScope)
		}
		t.same("what the handle sees", entryIDs(t.handle.list()), ids(1, 2, 20, 21))
		t.outsideUntouched()
	})},
	{"ScopeRetrieve", "Retrieve ranks, limits and stamps only what the handle sees.", scoped(func(t *scopedTrial) {
		t.same("Retrieve", matchIDs(t.handle.retrieve("alpha", 2)), ids(1, 2))
		t.same("Retrieve of all", matchIDs(t.handle.retrieve("alpha", 100)), ids(1, 2))
		t.whole.consolidate()
		t.same("the accesses of a visible match", t.whole.get(1).Entry.AccessCount, uint64(1))
		t.same("the accesses of a hidden one", t.whole.get(3).Entry.AccessCount, uint64(0))
	})},
	{"ScopeRecall", "Recall filters, ranks, limits and expands within what the handle sees.", scoped(func(t *scopedTrial) {
		t.same("Recall with expansion", hitIDs(t.handle.recall(memory.Query{Text: "alpha"})), ids(1, 2))
		t.same("Recall of all", hitIDs(t.handle.recall(memory.Query{Limit: 2})), ids(1, 2))
		for name, filter := range map[string]memory.Filter{
			"agent":        {Agent: new("tg:12")},
			"no agent":     {Agent: new("")},
			"agent prefix": {AgentPrefix: "tg:12"},
		} {
			t.same("Recall of a hidden "+name, hitIDs(t.handle.recall(memory.Query{Filter: filter})), ids())
		}
		t.same("Recall up to restricted", hitIDs(t.handle.recall(memory.Query{Filter: memory.Filter{MaxConfidentiality: new(memory.Restricted)}})), ids(1, 2))
		t.outsideUntouched()
	})},
	{"ScopeRead", "Get, Resolve, Entries and Len treat what the handle does not see as not there.", scoped(func(t *scopedTrial) {
		count, err := t.handle.Len(t.Context())
		t.handle.must("Len", err)
		t.same("Len", count, 2)
		t.same("Entries", entryIDs(t.handle.list()), ids(1, 2))
		for _, e := range hidden() {
			_, err := t.handle.Get(t.Context(), e.ID)
			t.refused("Get of a hidden entry", err, memory.ErrNotFound)
			_, err = t.handle.Resolve(t.Context(), e.ID.String())
			t.refused("Resolve of a hidden entry", err, memory.ErrNotFound)
			_, err = t.handle.Resolve(t.Context(), e.ID.String()[:8])
			t.refused("Resolve of the prefix of a hidden entry", err, memory.ErrNotFound)
			for _, err := range t.handle.Entries(t.Context(), memory.Selection{After: e.ID}) {
				t.refused("Entries after a hidden entry", err, memory.ErrNotFound)
			}
		}
		t.whole.forget(2)
		got, err := t.handle.Resolve(t.Context(), "5eed00")
		t.handle.must("Resolve of a prefix that only hidden entries share", err)
		t.same("Resolve", got, id(1))
	})},
	{"ScopeUpdate", "Update does not find what the handle does not see, and moves nothing out of the scope.", scoped(func(t *scopedTrial) {
		for _, e := range hidden() {
			_, err := t.handle.Update(t.Context(), e.ID, memory.Change{Summary: new("seen")})
			t.refused("Update of a hidden entry", err, memory.ErrNotFound)
		}
		before := line(t.handle.get(1).Entry)
		for name, change := range map[string]memory.Change{
			"to another agent":   {Agent: new("tg:12")},
			"to no agent":        {Agent: new("")},
			"above the level":    {Confidentiality: new(memory.Confidential)},
			"with other changes": {Agent: new("tg:12"), Memory: new("lost")},
		} {
			_, err := t.handle.Update(t.Context(), id(1), change)
			t.refused("Update "+name, err, memory.ErrScope)
		}
		t.same("the entry", line(t.handle.get(1).Entry), before)
		t.handle.update(1, memory.Change{Agent: new("tg:1:deeper")})
		t.outsideUntouched()
	})},
	{"ScopeForget", "Forget does not find what the handle does not see.", scoped(func(t *scopedTrial) {
		for _, e := range hidden() {
			found, err := t.handle.Forget(t.Context(), e.ID)
			t.handle.must("Forget", err)
			t.same("whether Forget found a hidden entry", found, false)
		}
		t.handle.forget(1)
		t.outsideUntouched()
	})},
	{"ScopeLink", "Link does not find what the handle does not see, at either end.", scoped(func(t *scopedTrial) {
		for _, e := range hidden() {
			t.refused("Link to a hidden entry", t.handle.Link(t.Context(), id(1), e.ID), memory.ErrNotFound)
			t.refused("Link from a hidden entry", t.handle.Link(t.Context(), e.ID, id(1)), memory.ErrNotFound)
		}
		t.whole.holds(scopedEntries()...)
	})},
	{"ScopePrune", "Prune removes only what the handle sees, whatever prefix it is given.", scoped(func(t *scopedTrial) {
		t.handle.prunes(2, 0, "tg:12", 0)
		t.handle.prunes(2, 0, "TG:1", 0)
		t.whole.holds(scopedEntries()...)
		t.handle.prunes(2, 0, "tg", 2)
		t.outsideUntouched()
	})},
	{"ScopeConsolidate", "Consolidate decays, merges, prunes and counts only what the handle sees, and so does its preview.", scoped(func(t *scopedTrial) {
		twin := entry(8, "alpha words", agent("tg:1"), age(time.Hour))
		t.whole.put(twin)
		want := memory.ConsolidationStats{EntriesBefore: 3, EntriesAfter: 2, Merged: 1, BytesSaved: len(twin.Memory)}
		preview, err := t.handle.PreviewConsolidation(t.Context())
		t.handle.must("PreviewConsolidation", err)
		t.same("the preview", preview, want)
		t.same("the pass", t.handle.consolidate(), want)
		t.same("the order", entryIDs(t.whole.list()), ids(3, 1, 4, 2, 5, 6, 7))
		t.outsideUntouched()
	})},
	{"ScopeNarrows", "A handle made from a handle lies within both scopes; it never sees more.", scoped(func(t *scopedTrial) {
		for _, test := range []struct {
			inner memory.Scope
			want  []int
		}{
			{memory.Scope{}, []int{1, 2}},
			{memory.Scope{Namespace: "tg"}, []int{1, 2}},
			{memory.Scope{Namespace: "tg:1"}, []int{1, 2}},
			{memory.Scope{Namespace: "tg:1:assistant"}, []int{2}},
			{memory.Scope{Namespace: "tg:12"}, nil},
			{memory.Scope{Namespace: "other"}, nil},
			{memory.Scope{MaxConfidentiality: new(memory.Restricted)}, []int{1, 2}},
			{memory.Scope{MaxConfidentiality: new(memory.Public)}, []int{1}},
		} {
			inner := t.handle.in(test.inner)
			t.same(fmt.Sprintf("what %+v within the handle sees", test.inner), entryIDs(inner.list()), ids(test.want...))
			count, err := inner.Len(t.Context())
			inner.must("Len", err)
			t.same("Len", count, len(test.want))
		}
		empty := t.handle.in(memory.Scope{Namespace: "tg:12"})
		for _, e := range []memory.Entry{entry(30, "x"), entry(30, "x", agent("tg:12")), entry(30, "x", agent("tg:1"))} {
			t.refused("Store through an empty scope", empty.Store(t.Context(), e), memory.ErrScope)
		}
		t.same("Retrieve through an empty scope", len(empty.retrieve("alpha", 9)), 0)
		t.same("Recall through an empty scope", len(empty.recall(memory.Query{})), 0)
		t.same("Consolidate through an empty scope", empty.consolidate(), memory.ConsolidationStats{})
		t.whole.holds(scopedEntries()...)
	})},
	{"ScopeIsLiteral", "A namespace is no pattern: wildcards in it mean themselves.", func(t *trial) {
		names := []string{"a_b", "a_b:x", "axb", "a%", "a%:x", "ab", "a*", "a*:x", "A_B", "a_b\u0301", "a_b:"}
		s := t.fresh()
		for n, name := range names {
			s.put(entry(n, "any", agent(name)))
		}
		for namespace, want := range map[string][]int{"a_b": {0, 1, 10}, "a%": {3, 4}, "a*": {6, 7}, "a": nil, "%": nil, "A_B": {8}} {
			handle := s.in(memory.Scope{Namespace: namespace})
			t.same("what the namespace "+namespace+" holds", entryIDs(handle.list()), ids(want...))
			t.same("what Recall finds in "+namespace, hitIDs(handle.recall(memory.Query{NoReinforce: true})), ids(want...))
			t.same("what Retrieve finds in "+namespace, matchIDs(handle.retrieve("any", 99)), ids(want...))
		}
	}},
	{"ScopeIsAStoreOfItsOwn", "A handle answers exactly as a store that holds nothing but what the handle sees.", scoped(func(t *scopedTrial) {
		own := t.fresh()
		for _, e := range scopedEntries() {
			if tg1.Contains(e.Agent, e.Confidentiality) {
				own.put(e)
			}
		}
		t.same("the part to see", entryIDs(own.list()), ids(1, 2))
		for _, text := range []string{"", "alpha", "alpha beta", "words", "nothing"} {
			for limit := range 4 {
				t.same("Retrieve", answerRetrieve(t.Context(), t.handle, text, limit), answerRetrieve(t.Context(), own, text, limit))
				for _, exact := range []bool{false, true} {
					q := memory.Query{Text: text, Limit: limit, ExactWords: exact}
					t.same("Recall", answerRecall(t.Context(), t.handle, q), answerRecall(t.Context(), own, q))
				}
			}
		}
		t.same("Consolidate", t.handle.consolidate(), own.consolidate())
		t.same("Entries", lines(t.handle.list()), lines(own.list()))
	})},
}
