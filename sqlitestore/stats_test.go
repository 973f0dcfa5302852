package sqlitestore

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// TestStatsByStrength counts entries of every strength, of which some have
// faded, within a scope.
func TestStatsByStrength(t *testing.T) {
	now := fixtureTime
	s, err := OpenInMemory(t.Context(), memory.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, s)
	for n, strength := range []float64{0, 0.05, 0.1, 0.55, 0.95, 1, 7} {
		e := fixture(n)
		e.CreatedAt, e.Strength = now, strength
		if n == 3 {
			e.Agent = "team"
		}
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	want := func(s *Store, want [10]int) {
		t.Helper()
		if stats, err := s.Stats(t.Context()); stats.ByStrength != want || err != nil {
			t.Errorf("Stats counts %v (%v), want %v", stats.ByStrength, err, want)
		}
	}
	want(s, [10]int{0: 2, 1: 1, 5: 1, 9: 3})
	want(s.In(memory.Scope{Namespace: "team"}).(*Store), [10]int{5: 1})
	now = now.Add(139 * time.Hour) // to half the strength, nearly
	want(s, [10]int{0: 3, 2: 1, 4: 2, 9: 1})
}

// TestStatsOfScope counts within a scope what is beside the entries, too.
func TestStatsOfScope(t *testing.T) {
	s, _ := openArchiving(t)
	if _, err := s.Retrieve(t.Context(), "vault", 1); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), func(*writeTx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	for namespace, want := range map[string][3]int{"": {1, 1, 2}, "team": {1, 1, 1}, "other": {}} {
		stats, err := s.In(memory.Scope{Namespace: namespace}).(*Store).Stats(t.Context())
		if got := [3]int{stats.Entries, stats.PendingStamps, stats.Archived}; got != want || err != nil {
			t.Errorf("in %q, Stats counts %v entries, stamps and archived (%v), want %v", namespace, got, err, want)
		}
	}
}

// TestSizes adds up to the file, once it has no free pages.
func TestSizes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpen(t, path, Options{}, memory.WithEntries(fixture(1), fixture(2)))
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	sizes, err := s.Sizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, size := range sizes {
		sum += size.Bytes
	}
	file, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	// The pages that say where others are belong to nothing.
	if missing := file.Size() - sum; missing < 0 || missing > 4096 {
		t.Errorf("the parts take %d bytes, the file %d", sum, file.Size())
	}
}
