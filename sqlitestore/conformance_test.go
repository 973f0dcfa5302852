package sqlitestore_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/memory/memorytest"
	"github.com/loopmem/loopmem/sqlitestore"
)

// openFile opens a store that answers by SQL alone, openMirrored one that
// answers from its mirror wherever it can, and openCramped one whose mirror
// often has no room for embeddings, and sometimes for nothing.
func openFile(t testing.TB, options ...memory.Option) memory.Backend {
	t.Helper()
	return openWith(t, sqlitestore.Options{MirrorBytes: -1}, options...)
}

func openMirrored(t testing.TB, options ...memory.Option) memory.Backend {
	t.Helper()
	return openWith(t, sqlitestore.Options{MirrorAfter: 1}, options...)
}

func openCramped(t testing.TB, options ...memory.Option) memory.Backend {
	t.Helper()
	return openWith(t, sqlitestore.Options{MirrorAfter: 1, MirrorBytes: 1500}, options...)
}

func openWith(t testing.TB, how sqlitestore.Options, options ...memory.Option) memory.Backend {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), how, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, store) })
	return store
}

func openInMemory(t testing.TB, options ...memory.Option) memory.Backend {
	t.Helper()
	store, err := sqlitestore.OpenInMemory(t.Context(), options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, store) })
	return store
}

// closeStore ends a test's store: whatever the test did to it, every row and
// every index must be sound.
func closeStore(t testing.TB, store *sqlitestore.Store) {
	t.Helper()
	problems, err := store.Check(context.Background())
	if err != nil && !errors.Is(err, memory.ErrClosed) {
		t.Errorf("check: %v", err)
	}
	for _, problem := range problems {
		t.Errorf("the database is not sound: %s", problem)
	}
	if err := store.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestConformanceFile(t *testing.T)     { memorytest.Run(t, openFile) }
func TestConformanceMirrored(t *testing.T) { memorytest.Run(t, openMirrored) }
func TestConformanceInMemory(t *testing.T) { memorytest.Run(t, openInMemory) }

func reference(t testing.TB, options ...memory.Option) memory.Backend {
	t.Helper()
	store, err := memory.NewStore(options...)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// FuzzOperations decodes bytes into calls, and makes them on both stores.
func FuzzOperations(f *testing.F) { memorytest.FuzzDifferential(f, reference, openInMemory) }

// TestDifferential holds all stores against the specification over random
// histories, the indexed ways to an answer against the plain scan.
func TestDifferential(t *testing.T) {
	jsonl := func(t testing.TB, options ...memory.Option) memory.Backend {
		store, err := filestore.Open(filepath.Join(t.TempDir(), "memory.jsonl"), options...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
		return store
	}
	memorytest.Differential(t, reference, jsonl, openFile, openMirrored, openCramped, openInMemory)
}
