package memorytest

import (
	"math"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var consolidationRules = []rule{
	{"ConsolidatePinned", "A pinned entry neither decays, merges, attracts nor is pruned or set aside; it stays in its place, and only its stamp and its links are kept up.", func(t *trial) {
		old := age(9000 * time.Hour)
		worthless := entry(2, "the same words", pinned, relevance(-3), old)
		s := t.with(entry(1, "the same words", old, relevance(1)), worthless,
			entry(3, "linking", pinned, related(4, 5)), entry(4, "the same words"), entry(5, "the same words"))
		s.retrieve("linking", 1)
		s.consolidate()
		got := s.list()
		t.same("the survivors", entryIDs(got), ids(4, 2, 3))
		t.same("the worthless one", line(got[1]), line(worthless))
		linking := entry(3, "linking", pinned, related(4))
		linking.AccessCount, linking.LastAccessed = 1, &epoch
		t.same("the accessed one", line(got[2]), line(linking))
	}},
	{"ConsolidateOnce", "A second pass at the same time finds nothing more to do, nor does one over an empty store.", func(t *trial) {
		t.same("a pass over nothing", t.fresh().consolidate(), memory.ConsolidationStats{})
		s := t.with(entry(1, "the same words"), entry(2, "the same words"), entry(3, "other", relevance(0.01)), entry(4, "odd", relevance(2), func(e *memory.Entry) { e.Validated = true }))
		t.same("the first pass", s.consolidate(), memory.ConsolidationStats{EntriesBefore: 4, EntriesAfter: 1, Pruned: 2, Merged: 1, BytesSaved: 22})
		before := s.list()
		t.same("the second pass", s.consolidate(), memory.ConsolidationStats{EntriesBefore: 1, EntriesAfter: 1})
		s.holds(before...)
	}},
	{"ConsolidateRestricted", "Restricted entries are consolidated like any others.", func(t *trial) {
		s := t.with(entry(1, "the same words", restricted), entry(2, "the same words", restricted))
		t.same("merged", s.consolidate().Merged, 1)
	}},
	{"ConsolidateLinks", "Links to a merged entry follow it, and the kept one gains its links and names it as a source.", func(t *trial) {
		s := t.with(entry(1, "the same words", related(2, 3)), entry(2, "the same words", related(1, 4)), entry(3, "elsewhere", related(2, 1)), entry(4, "far away", related(2, 99)))
		s.consolidate()
		got := s.list()
		t.same("the survivors", entryIDs(got), ids(1, 3, 4))
		t.same("the kept one's links", got[0].RelatedIDs, ids(3, 4))
		t.same("the kept one's sources", got[0].SourceIDs, ids(2))
		t.same("a link to both", got[1].RelatedIDs, ids(1))
		t.same("a link to the merged one", got[2].RelatedIDs, ids(1, 99))
		_, err := s.Get(t.Context(), id(2))
		t.refused("Get of the merged entry", err, memory.ErrNotFound)
		t.same("Retrieve", matchIDs(s.retrieve("same", 9)), ids(1, 3, 4))
	}},
	{"ConsolidateUsesTheClock", "Relevance decays with the store's clock, and the decay stamp never moves back.", func(t *trial) {
		s := t.with(entry(1, "plain", func(e *memory.Entry) { e.Category = memory.Trajectory }))
		t.clock.advance(336 * time.Hour)
		s.consolidate()
		decayed := s.get(1).Entry
		t.same("the relevance after one half-life", decayed.Relevance, float32(0.5))
		t.same("last_decayed", decayed.LastDecayed, new(t.clock.now()))
		t.clock.set(epoch)
		s.consolidate()
		t.same("the entry after a pass in the past", line(s.get(1).Entry), line(decayed))
	}},
	{"PreviewConsolidation", "The preview tells what Consolidate would do, and changes nothing.", func(t *trial) {
		// The last one would be pruned, if it were not for its pending stamp.
		faded := entry(4, "wanted", relevance(0.06), age(9000*time.Hour))
		entries := []memory.Entry{entry(1, "the same words"), entry(2, "the same words"), entry(3, "other", relevance(0.01)), faded}
		s := t.with(entries...)
		s.retrieve("wanted", 4)
		preview, err := s.PreviewConsolidation(t.Context())
		s.must("PreviewConsolidation", err)
		s.holds(entries...)
		t.same("the preview", preview, memory.ConsolidationStats{EntriesBefore: 4, EntriesAfter: 2, Pruned: 1, Merged: 1, BytesSaved: 19})
		t.same("the pass", s.consolidate(), preview)
		t.same("access counts", s.accessCounts(), []uint64{0, 1})
	}},
}

var removalRules = []rule{
	{"Forget", "Forget removes an entry for good and reports whether there was one.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two", related(1)))
		s.forget(1)
		s.holds(entry(2, "two", related(1)))
		found, err := s.Forget(t.Context(), id(1))
		s.must("Forget", err)
		t.same("whether a second Forget found one", found, false)
		_, err = s.Get(t.Context(), id(1))
		t.refused("Get of the forgotten entry", err, memory.ErrNotFound)
		t.same("Recall along the link left over", hitIDs(s.recall(memory.Query{Text: "two"})), ids(2))
	}},
	{"PruneByStrengthAndAge", "Prune removes what is weaker than the strength and created more than the age ago, and spares pinned entries.", func(t *trial) {
		hour := age(time.Hour)
		weak, exact, young, firm := entry(1, "weak", hour, strength(0.2)), entry(2, "just that old", age(30*time.Minute), strength(0.2)), entry(3, "young", strength(0.2)), entry(4, "firm", hour, strength(0.9))
		nailed := entry(5, "nailed", hour, strength(0.2), pinned)
		s := t.with(weak, exact, young, firm, nailed)
		s.prunes(0.5, 30*time.Minute, "", 1)
		s.holds(exact, young, firm, nailed)
		s.prunes(0.2, 0, "", 1) // the strength of the one half an hour old has faded below 0.2
		s.holds(young, firm, nailed)
		t.clock.advance(2000 * time.Hour)
		s.prunes(0.5, 0, "", 2)
		s.holds(nailed)
		s.finds("firm")
	}},
	{"PrunePrefix", "A prefix names an agent and those below it: tg:123 never touches tg:1234, and nothing in it is a wildcard.", func(t *trial) {
		var entries []memory.Entry
		for n, name := range []string{"tg:123", "tg:123:assistant", "tg:1234", "tg:12", "TG:123", "", "tg:123\u0301", "tg_123:x", "tg:123:"} {
			entries = append(entries, entry(n, "any", agent(name), age(time.Hour)))
		}
		s := t.with(entries...)
		s.prunes(2, 0, "tg:123", 3)
		t.same("what is left", entryIDs(s.list()), ids(2, 3, 4, 5, 6, 7))
		s.prunes(2, 0, "tg_123", 1)
		s.prunes(2, 0, "t%", 0)
		s.prunes(2, 0, "tg:1", 0)
		t.same("what is left", entryIDs(s.list()), ids(2, 3, 4, 5, 6))
		s.prunes(2, 0, "", 5)
	}},
	{"PruneRefuses", "A strength that is no number or a negative age is ErrInvalid.", func(t *trial) {
		s := t.with(entry(1, "one", age(time.Hour)))
		_, err := s.Prune(t.Context(), math.NaN(), 0, "")
		t.refused("Prune with NaN", err, memory.ErrInvalid)
		_, err = s.Prune(t.Context(), 2, -1, "")
		t.refused("Prune with a negative age", err, memory.ErrInvalid)
		s.holds(entry(1, "one", age(time.Hour)))
	}},
}

// prunes calls Prune and checks how many entries it says went.
func (s *subject) prunes(minStrength float64, minAge time.Duration, prefix string, want int) {
	s.t.Helper()
	count, err := s.Prune(s.t.Context(), minStrength, minAge, prefix)
	s.must("Prune", err)
	s.t.same("the number pruned", count, want)
}
