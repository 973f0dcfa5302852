//go:build unix

package sqlitestore_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// mostLog is what the write-ahead log may grow to while nobody reads: SQLite
// takes it into the file after 4 MiB, and the write that notices comes on top.
const mostLog = 8 << 20

// TestLogStaysBounded writes without pause while other processes have the
// store open and do nothing, one of them stopped altogether.
func TestLogStaysBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	for i, c := range startChildren(t, 2, "idle", path) {
		c.tell()
		if !c.output.Scan() {
			t.Fatalf("a child does not look at the store: %s", c.errors)
		}
		if i == 0 {
			if err := c.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
		defer func() {
			c.cmd.Process.Signal(syscall.SIGCONT)
			c.input.Close()
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("an idle child: %v: %s", err, c.errors)
			}
		}()
	}
	logSize := func() int64 {
		info, err := os.Stat(path + "-wal")
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	// writes stores so much text that the log would outgrow its bound.
	writes := func() (most int64) {
		e := memory.NewEntry(memory.Fact, strings.Repeat("0123456789abcde ", 1<<12))
		for range 2 * mostLog / len(e.Memory) {
			e.ID = memory.NewEntry(memory.Fact, "").ID
			if err := s.Store(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			most = max(most, logSize())
		}
		return most
	}
	if most := writes(); most > mostLog {
		t.Errorf("the log has grown to %d bytes, want at most %d", most, int64(mostLog))
	}

	// A reader in the middle of its work does make it grow, or this test
	// would show nothing; after that it shrinks again.
	for _, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		if most := writes(); most <= mostLog {
			t.Errorf("with a reader, the log has grown to %d bytes only", most)
		}
		break
	}
	writes()
	if size := logSize(); size > 2*mostLog {
		t.Errorf("after the reader, the log still has %d bytes", size)
	}
}
