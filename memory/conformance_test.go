package memory_test

import (
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/memorytest"
)

func open(t testing.TB, options ...memory.Option) memory.Backend {
	t.Helper()
	store, err := memory.NewStore(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

func TestConformance(t *testing.T) { memorytest.Run(t, open) }

// The reference against itself: random histories must be repeatable, or no
// other store could be compared with it.
func TestDifferential(t *testing.T) { memorytest.Differential(t, open, open) }
