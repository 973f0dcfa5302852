package sqlitestore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// TestStrengthAheadOfTheClock has an entry whose strength does not fade yet:
// because it says so, or because the clock was ahead when it was stored. By
// their fade it would be the stronger of two, and is the weaker one.
func TestStrengthAheadOfTheClock(t *testing.T) {
	const ahead = 1000 * time.Hour
	for name, stored := range map[string]time.Time{
		"an entry of the future":  fixtureTime,
		"a clock that moves back": fixtureTime.Add(ahead),
	} {
		for _, backend := range []string{"memory", "sqlite", "sqlite indexed anew"} {
			t.Run(name+", "+backend, func(t *testing.T) {
				now := fixtureTime
				options := []memory.Option{
					memory.WithClock(func() time.Time { return now }),
					memory.WithCapacity(3),
				}
				var s memory.Backend
				var database *Store
				if backend == "memory" {
					inMemory, err := memory.NewStore(options...)
					if err != nil {
						t.Fatal(err)
					}
					s = inMemory
				} else {
					database = mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{}, options...)
					s = database
				}
				store := func(accessed time.Time, text string, strength float64) {
					t.Helper()
					e := memory.NewEntry(memory.Fact, text)
					e.CreatedAt, e.LastAccessed, e.Strength = fixtureTime.Add(-time.Hour), &accessed, strength
					if err := s.Store(t.Context(), e); err != nil {
						t.Fatal(err)
					}
				}
				hold := func(want ...string) {
					t.Helper()
					var got []string
					for e, err := range s.Entries(t.Context(), memory.Selection{}) {
						if err != nil {
							t.Fatal(err)
						}
						got = append(got, e.Memory)
					}
					if !slices.Equal(got, want) {
						t.Errorf("the store holds %q, want %q", got, want)
					}
				}
				now = stored
				store(fixtureTime.Add(ahead), "ahead", 0.5)
				store(fixtureTime.Add(ahead), "also ahead", 0.51)
				now = fixtureTime
				store(fixtureTime, "now", 0.6)
				if backend == "sqlite indexed anew" {
					if err := database.write(t.Context(), (*writeTx).rebuildIndexes); err != nil {
						t.Fatal(err)
					}
				}
				if database != nil {
					problems, err := database.Check(t.Context())
					if err != nil || len(problems) > 0 {
						t.Errorf("the indexes are not sound: %v %v", problems, err)
					}
				}
				found, err := s.Recall(t.Context(), memory.Query{Filter: memory.Filter{MinStrength: new(0.505)}, NoReinforce: true})
				if err != nil || len(found.Hits) != 2 {
					t.Errorf("%d are as strong as asked for, %v; want 2", len(found.Hits), err)
				}
				store(fixtureTime, "makes one go", 0.7)
				hold("also ahead", "now", "makes one go")
				if n, err := s.Prune(t.Context(), 0.55, 0, ""); n != 1 || err != nil {
					t.Errorf("pruned %d, %v; want 1", n, err)
				}
				hold("now", "makes one go")
			})
		}
	}
}

// TestClockThatWasAhead counts an access by a clock that is years ahead. From
// the next pass on, the rows whose strength does not fade yet are found by the
// index again, that one among them.
func TestClockThatWasAhead(t *testing.T) {
	now := fixtureTime
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{},
		memory.WithClock(func() time.Time { return now }), memory.WithEntries(fixture(1), fixture(2)))
	now = fixtureTime.AddDate(20, 0, 0)
	if _, err := s.Recall(t.Context(), memory.Query{Text: "vault", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	now = fixtureTime.Add(time.Hour)
	unfading := func() (n int, byIndex bool) {
		err := s.write(t.Context(), func(w *writeTx) error {
			c, err := w.unfading()
			if err != nil {
				return err
			}
			byIndex = strings.Contains(c.sql(), "ahead")
			return w.get(&n, `SELECT count(*) FROM entry_state AS s `+c.sql(), c.args...)
		})
		if err != nil {
			t.Fatal(err)
		}
		return n, byIndex
	}
	if n, byIndex := unfading(); n != 1 || byIndex {
		t.Errorf("before: %d rows, by the index: %t; want 1, and a scan", n, byIndex)
	}
	if _, err := s.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, byIndex := unfading(); n != 1 || !byIndex {
		t.Errorf("after a pass: %d rows, by the index: %t; want 1, and the index", n, byIndex)
	}
	problems, err := s.Check(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("the indexes are not sound: %v %v", problems, err)
	}
}
