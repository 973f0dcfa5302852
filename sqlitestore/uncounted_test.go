package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// TestUncounted looks for a trace of what was asked for.
func TestUncounted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), path, Options{Uncounted: true}, memory.WithEntries(fixture(1)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recall(t.Context(), memory.Query{Text: "deploy"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retrieve(t.Context(), "deploy", 1); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s) // which writes what was put off
	s = mustOpen(t, path, Options{})
	record, err := s.Get(t.Context(), fixture(1).ID)
	if err != nil {
		t.Fatal(err)
	}
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if record.Entry.AccessCount != 0 || stats.PendingStamps != 0 {
		t.Errorf("%d accesses are counted, and %d will be", record.Entry.AccessCount, stats.PendingStamps)
	}
}
