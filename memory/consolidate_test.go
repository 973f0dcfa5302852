package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// What a pass does to entries is tested by the conformance suite. Here is how
// a plan tells a store where they go.
func TestPlanPlaces(t *testing.T) {
	entries := []memory.Entry{
		memory.NewEntry(memory.Fact, "the same words"),
		memory.NewEntry(memory.Fact, "set aside, but worth keeping"),
		memory.NewEntry(memory.Fact, "nothing much"),
		memory.NewEntry(memory.Fact, "the same words"),
		memory.NewEntry(memory.Fact, "the last"),
	}
	for i := range entries {
		entries[i].CreatedAt = noon
	}
	entries[1].Relevance = 7
	entries[2].Relevance = 0.01
	entries[3].Validated = true // so that it is the better of the two
	before := clone(entries)

	config := memory.DefaultConsolidation()
	config.PruneFloor = 0.02
	plan := config.Plan(noon, entries, nil)
	type place struct{ Index, Slot int }
	var places []place
	for _, s := range plan.Survivors {
		places = append(places, place{s.Index, s.Slot})
		if s.Entry.ID != entries[s.Index].ID {
			t.Errorf("survivor %d is not the entry that stood there", s.Index)
		}
	}
	// The better one takes the place of the first; what was set aside has the
	// relevance 0 afterwards and so goes as well.
	if diff := cmp.Diff([]place{{3, 0}, {4, 4}}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	want := map[int]uuid.UUID{0: entries[3].ID, 1: uuid.Nil, 2: uuid.Nil}
	got := make(map[int]uuid.UUID)
	for _, r := range plan.Removed {
		got[r.Index] = r.MergedInto
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("removals (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[uuid.UUID]uuid.UUID{entries[0].ID: entries[3].ID}, plan.Merged); diff != "" {
		t.Errorf("merged (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, entries); diff != "" {
		t.Errorf("the input was changed:\n%s", diff)
	}

	config.PruneFloor = 0
	plan = config.Plan(noon, entries, nil)
	last := plan.Survivors[len(plan.Survivors)-1]
	if last.Index != 1 || last.Slot != memory.EndOfOrder || last.Entry.LastDecayed != nil {
		t.Errorf("what was set aside should come last and undecayed; last is %+v", last)
	}
}

func clone(entries []memory.Entry) []memory.Entry {
	out := make([]memory.Entry, len(entries))
	for i := range entries {
		out[i] = entries[i].Clone()
	}
	return out
}

func TestQuality(t *testing.T) {
	const month = 30 * 24 * time.Hour
	for name, test := range map[string]struct {
		edit func(*memory.Entry)
		want float64
	}{
		"new":                  {func(*memory.Entry) {}, 0.45 + 0.15},
		"accessed 50 times":    {func(e *memory.Entry) { e.AccessCount = 50 }, 0.45 + 0.30 + 0.15},
		"accessed for ever":    {func(e *memory.Entry) { e.AccessCount = math.MaxInt64 }, 0.45 + 0.30 + 0.15},
		"accessed once":        {func(e *memory.Entry) { e.AccessCount = 1 }, 0.45 + 0.30*math.Log(2)/math.Log(51) + 0.15},
		"validated":            {func(e *memory.Entry) { e.Validated = true }, 0.45 + 0.15 + 0.10},
		"a month old":          {func(e *memory.Entry) { e.CreatedAt = noon.Add(-month) }, 0.45 + 0.15/math.E},
		"a month old, in use":  {func(e *memory.Entry) { e.CreatedAt, e.LastAccessed = noon.Add(-month), &noon }, 0.45 + 0.15},
		"of the future":        {func(e *memory.Entry) { e.CreatedAt = noon.Add(month) }, 0.45 + 0.15},
		"of no relevance":      {func(e *memory.Entry) { e.Relevance = 0 }, 0.15},
		"of too much of it":    {func(e *memory.Entry) { e.Relevance = 7 }, 0.45 + 0.15},
		"of less than nothing": {func(e *memory.Entry) { e.Relevance = -7 }, 0.15},
	} {
		e := memory.NewEntry(memory.Fact, "")
		e.CreatedAt = noon
		test.edit(&e)
		if got := e.Quality(noon); math.Abs(float64(got)-test.want) > 1e-6 {
			t.Errorf("an entry %s has the quality %g, want %g", name, got, test.want)
		}
	}
}

func TestRelink(t *testing.T) {
	a, b, c, own := uuid.New(), uuid.New(), uuid.New(), uuid.New()
	merged := map[uuid.UUID]uuid.UUID{b: a, c: own}
	for name, test := range map[string]struct{ before, after []uuid.UUID }{
		"not concerned":            {[]uuid.UUID{a, a, own}, []uuid.UUID{a, a, own}},
		"a link to the merged one": {[]uuid.UUID{b}, []uuid.UUID{a}},
		"links to both":            {[]uuid.UUID{b, a}, []uuid.UUID{a}},
		"a link that becomes own":  {[]uuid.UUID{c}, nil},
		"none":                     {nil, nil},
	} {
		e := memory.NewEntry(memory.Fact, "")
		e.ID, e.RelatedIDs = own, test.before
		given := cmp.Diff(test.before, test.after) != ""
		if got := e.Relink(merged); got != given {
			t.Errorf("%s: Relink reports %t", name, got)
		}
		if diff := cmp.Diff(test.after, e.RelatedIDs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
