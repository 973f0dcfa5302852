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
		for range 2 * cap(pool.inUse) {
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

// TestPoolReusesConnections makes calls one after the other, for which one
// connection is enough, and one that knows the file already.
func TestPoolReusesConnections(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{})
	for range 2 * cap(s.readers.inUse) {
		if _, err := s.Retrieve(t.Context(), "vault", 1); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.readers.db.Stats().OpenConnections; n != 1 {
		t.Errorf("%d connections are open, want 1", n)
	}
}
