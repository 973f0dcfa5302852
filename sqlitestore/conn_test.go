package sqlitestore

import (
	"path/filepath"
	"testing"
)

// TestDoubtfulConnection gives connections back whose transaction has not
// ended, as one may be whose BEGIN the end of a context has met. Nobody gets
// such a connection again.
func TestDoubtfulConnection(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{})
	for name, pool := range map[string]*pool{"readers": s.readers, "writer": s.writer} {
		for range 2 * cap(pool.free) {
			conn, err := pool.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.run(t.Context(), "BEGIN"); err != nil {
				t.Errorf("%s: a connection in doubt came back: %v", name, err)
			}
			pool.release(conn, true)
		}
	}
	if err := s.Store(t.Context(), fixture(1)); err != nil {
		t.Errorf("the next write: %v", err)
	}
}
