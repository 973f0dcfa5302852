package topk_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// TestBest compares with sorting everything.
func TestBest(t *testing.T) {
	type item struct{ Score, Place int }
	before := func(a, b item) bool { return a.Score > b.Score || a.Score == b.Score && a.Place < b.Place }
	rapid.Check(t, func(t *rapid.T) {
		scores := rapid.SliceOf(rapid.IntRange(0, 5)).Draw(t, "scores")
		limit := rapid.IntRange(0, 8).Draw(t, "limit")
		best := topk.New(limit, before)
		var all []item
		for place, score := range scores {
			best.Add(item{score, place})
			all = append(all, item{score, place})
		}
		slices.SortFunc(all, func(a, b item) int {
			return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Place, b.Place))
		})
		want := all[:min(limit, len(all))]
		if best.Full() != (len(want) == limit) {
			t.Errorf("full: %v with %d of %d", best.Full(), len(want), limit)
		}
		if len(want) > 0 && best.Worst() != want[len(want)-1] {
			t.Errorf("worst: %v, want %v", best.Worst(), want[len(want)-1])
		}
		if diff := gocmp.Diff(append([]item{}, want...), append([]item{}, best.Ranked()...)); diff != "" {
			t.Error(diff)
		}
	})
}
