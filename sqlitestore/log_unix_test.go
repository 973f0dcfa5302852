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
// takes it into the file after 16 MiB, and the write that notices comes on top.
const mostLog = 24 << 20

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
	if most := writeMuch(t, s, path); most > mostLog {
		t.Errorf("the log has grown to %d bytes, want at most %d", most, int64(mostLog))
	}
}

func logSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path + "-wal")
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// writeMuch stores so much text that the log would outgrow its bound, and
// returns how large it was at most.
func writeMuch(t *testing.T, s *sqlitestore.Store, path string) (most int64) {
	t.Helper()
	e := memory.NewEntry(memory.Fact, strings.Repeat("0123456789abcde ", 1<<12))
	for range 2 * mostLog / len(e.Memory) {
		e.ID = memory.NewEntry(memory.Fact, "").ID
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		most = max(most, logSize(t, path))
	}
	return most
}

// TestLogShrinksAfterReader has a process stop in the middle of a loop over all
// entries. Others write on, though the log grows; that comes down again with
// their writes when the loop is over, and the loop has seen one state.
func TestLogShrinksAfterReader(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{}, memory.WithEntries(
		memory.NewEntry(memory.Fact, "one"), memory.NewEntry(memory.Fact, "two")))
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	c := startChildren(t, 1, "loop", path)[0]
	c.tell()
	if !c.output.Scan() || c.output.Text() != "in the loop" {
		t.Fatalf("the child does not loop: %s", c.errors)
	}
	if most := writeMuch(t, s, path); most <= mostLog {
		t.Errorf("with a reader, the log has grown to %d bytes only; this test shows nothing", most)
	}
	c.tell()
	if !c.output.Scan() || c.output.Text() != "2" {
		t.Errorf("the loop has seen %q entries, want 2", c.output.Text())
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the child: %v: %s", err, c.errors)
	}
	writeMuch(t, s, path)
	if size := logSize(t, path); size > 2*mostLog {
		t.Errorf("after the reader, the log still has %d bytes", size)
	}
}
