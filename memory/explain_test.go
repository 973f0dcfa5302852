package memory_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// TestExplanation_addsUp works out the formula that is shown, and compares it
// with the score.
func TestExplanation_addsUp(t *testing.T) {
	now := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	e := memory.NewEntry(memory.Fact, "red apples")
	e.CreatedAt, e.Importance, e.Strength = now.Add(-30*time.Hour), 7, 0.8
	store, err := memory.NewStore(memory.WithEntries(e), memory.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	for _, ranking := range []memory.Ranking{memory.RankingComposite, memory.RankingQuestion} {
		q := memory.Query{Text: "apples", Ranking: ranking, NoReinforce: true}
		found, err := store.Recall(t.Context(), q)
		if err != nil || len(found.Hits) != 1 {
			t.Fatal(found, err)
		}
		text := q.Explain(&found.Hits[0]).String()
		var n []float64
		for _, number := range regexp.MustCompile(`\d+(\.\d+)?`).FindAllString(text, -1) {
			x, _ := strconv.ParseFloat(number, 64)
			n = append(n, x)
		}
		var score float64
		switch {
		case len(n) != 8:
			t.Fatalf("%q has the numbers %v", text, n)
		case strings.Contains(text, "("):
			score = n[0] * (n[1] + n[2]*n[3] + n[4]*n[5] + n[6]*n[7])
		default:
			score = n[0]*n[1] + n[2]*n[3] + n[4]*n[5] + n[6]*n[7]
		}
		if got := found.Hits[0].Score; math.Abs(got-score) > 0.01 {
			t.Errorf("%v: %q comes to %v, the score is %v", ranking, text, score, got)
		}
	}
}
