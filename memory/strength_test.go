package memory_test

import (
	"math"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var noon = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

func TestEffectiveStrength(t *testing.T) {
	for _, test := range []struct {
		strength float64
		age      time.Duration
		want     float64
	}{
		{1, 0, 1},
		{0.5, 0, 0.5},
		{1, 200 * time.Hour, math.Exp(-1)},
		{1, time.Second - 1, 1}, // only whole seconds count
		{1, time.Second, math.Exp(-0.005 / 3600)},
		{1, -time.Hour, 1}, // the future does not strengthen
		{3, 0, 1},
		{3, 200 * time.Hour, 1}, // 3/e, clamped after the decay
		{-1, 0, 0},
		{1, 250 * 365 * 24 * time.Hour, 0},
	} {
		e := memory.NewEntry(memory.Fact, "")
		e.Strength, e.CreatedAt = test.strength, noon.Add(-test.age)
		if got := e.EffectiveStrength(noon); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("strength %g after %s is %g, want %g", test.strength, test.age, got, test.want)
		}
		e.LastAccessed, e.CreatedAt = new(e.CreatedAt), noon.Add(-999*time.Hour)
		if got := e.EffectiveStrength(noon); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("strength %g, %s after the last access, is %g, want %g", test.strength, test.age, got, test.want)
		}
	}
}

func TestEntryTouch(t *testing.T) {
	e := memory.NewEntry(memory.Fact, "")
	e.Strength, e.AccessCount = 0.9, math.MaxInt64-1
	for _, step := range []struct {
		at        time.Time
		reinforce bool
		strength  float64
		count     uint64
		accessed  time.Time
	}{
		{noon, false, 0.9, math.MaxInt64, noon},
		{noon.Add(-time.Hour), true, 1, math.MaxInt64, noon},
		{noon.Add(time.Hour), true, 1, math.MaxInt64, noon.Add(time.Hour)},
	} {
		e.Touch(step.at, step.reinforce)
		if e.Strength != step.strength || e.AccessCount != step.count || !e.LastAccessed.Equal(step.accessed) {
			t.Errorf("after Touch(%s, %t): strength %g, %d accesses, the last at %s", step.at, step.reinforce, e.Strength, e.AccessCount, e.LastAccessed)
		}
	}
}
