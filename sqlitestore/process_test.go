package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// The tests in this file need several processes, which are this test binary
// started again in one of these roles.
const (
	childRole = "LOOPMEM_TEST_ROLE"
	childPath = "LOOPMEM_TEST_PATH"
	childName = "LOOPMEM_TEST_NAME"
)

var roles = map[string]func(c *childProcess) error{
	"store": (*childProcess).store,
	"count": (*childProcess).count,
	"open":  (*childProcess).open,
	"idle":  (*childProcess).idle,
	"add":   (*childProcess).add,
	"loop":  (*childProcess).loop,
	"obey":  (*childProcess).obey,

	"restore": (*childProcess).restore,

	"back up slowly": (*childProcess).backUpSlowly,
	"restore slowly": (*childProcess).restoreSlowly,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(childRole)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(&childProcess{path: os.Getenv(childPath), name: os.Getenv(childName)}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// childProcess is the inside of a child.
type childProcess struct{ path, name string }

// await waits for the word of the parent, so that all children are at it at the
// same time.
func (c *childProcess) await() error {
	fmt.Println("ready")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// start waits for that word and opens the store.
func (c *childProcess) start() (*sqlitestore.Store, error) {
	if err := c.await(); err != nil {
		return nil, err
	}
	return sqlitestore.Open(context.Background(), c.path, sqlitestore.Options{})
}

// storesEach is how many entries a storing child stores.
const storesEach = 40

// store stores entries, says the id of each that was acknowledged, and
// retrieves in between.
func (c *childProcess) store() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	ctx := context.Background()
	for i := range storesEach {
		e := memory.NewEntry(memory.Fact, fmt.Sprintf("note %d by process %s about shared memory", i, c.name))
		if err := s.Store(ctx, e); err != nil {
			return err
		}
		fmt.Println(e.ID)
		if _, err := s.Retrieve(ctx, "shared "+strconv.Itoa(i), 3); err != nil {
			return err
		}
	}
	return s.Close()
}

var countedID = uuid.MustParse("c0000000-0000-4000-8000-000000000001")

// count adds to one number in one entry, by reading, changing and writing.
func (c *childProcess) count() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	ctx := context.Background()
	for range storesEach {
		for {
			record, err := s.Get(ctx, countedID)
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(record.Entry.Memory)
			if err != nil {
				return err
			}
			_, err = s.Update(ctx, countedID, memory.Change{Memory: new(strconv.Itoa(n + 1)), IfVersion: record.Version})
			if err == nil {
				break
			}
			if !errors.Is(err, memory.ErrConflict) {
				return err
			}
		}
	}
	return s.Close()
}

// open only opens the store.
func (c *childProcess) open() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	return s.Close()
}

// add opens the store and stores one entry.
func (c *childProcess) add() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	err = s.Store(context.Background(), memory.NewEntry(memory.Fact, "added by "+c.name))
	return errors.Join(err, s.Close())
}

// idle looks at the store, says that it has, and does nothing more until it is
// told to end.
func (c *childProcess) idle() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	n, err := s.Len(context.Background())
	if err != nil {
		return err
	}
	fmt.Println(n)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return s.Close()
}

// loop stops in the middle of a loop over all entries, until it is told to go
// on, and says how many there were.
func (c *childProcess) loop() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	seen := 0
	for _, err := range s.Entries(context.Background(), memory.Selection{}) {
		if err != nil {
			return err
		}
		if seen++; seen == 1 {
			fmt.Println("in the loop")
			_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
		}
	}
	fmt.Println(seen)
	return s.Close()
}

// restore puts a backup in the place of the store.
func (c *childProcess) restore() error {
	if err := c.await(); err != nil {
		return err
	}
	_, err := sqlitestore.RestoreBackup(context.Background(), c.path, c.path+".backup", sqlitestore.BackupOptions{})
	return err
}

// backUpSlowly backs up the store and stops in the middle of it, until it is
// told to go on.
func (c *childProcess) backUpSlowly() error {
	s, err := c.start()
	if err != nil {
		return err
	}
	err = s.Backup(context.Background(), c.path+".copy", slowly())
	return errors.Join(err, s.Close())
}

// restoreSlowly does the same with a restore.
func (c *childProcess) restoreSlowly() error {
	if err := c.await(); err != nil {
		return err
	}
	_, err := sqlitestore.RestoreBackup(context.Background(), c.path+".new", c.path+".backup", slowly())
	return err
}

func slowly() sqlitestore.BackupOptions {
	wait := sync.OnceFunc(func() {
		fmt.Println("copying")
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	})
	return sqlitestore.BackupOptions{Progress: func(int64, int64) { wait() }}
}

// child is the outside of one.
type child struct {
	cmd    *exec.Cmd
	input  io.WriteCloser
	output *bufio.Scanner
	errors *strings.Builder
}

// startChildren starts n children and returns when all are ready.
func startChildren(t *testing.T, n int, role, path string) []*child {
	t.Helper()
	children := make([]*child, n)
	for i := range children {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childRole+"="+role, childPath+"="+path, fmt.Sprintf("%s=%d", childName, i))
		input, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		output, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		c := &child{cmd: cmd, input: input, output: bufio.NewScanner(output), errors: new(strings.Builder)}
		cmd.Stderr = c.errors
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		children[i] = c
	}
	for _, c := range children {
		if !c.output.Scan() || c.output.Text() != "ready" {
			t.Fatalf("a child does not start: %s", c.errors)
		}
	}
	return children
}

// tell gives the word to begin.
func (c *child) tell() { _, _ = io.WriteString(c.input, "go\n") }

// ids reads the ids that the child says, up to a number of them.
func (c *child) ids(t *testing.T, most int) (ids []uuid.UUID) {
	for len(ids) < most && c.output.Scan() {
		id, err := uuid.Parse(c.output.Text())
		if err != nil {
			t.Errorf("a child says %q", c.output.Text())
		}
		ids = append(ids, id)
	}
	return ids
}

// together lets all children run to their end and returns all that was
// acknowledged.
func together(t *testing.T, children []*child) (acknowledged []uuid.UUID) {
	t.Helper()
	for _, c := range children {
		c.tell()
	}
	said := make([][]uuid.UUID, len(children))
	var wait sync.WaitGroup
	for i, c := range children {
		wait.Go(func() {
			said[i] = c.ids(t, storesEach)
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("child %d: %v: %s", i, err, c.errors)
			}
		})
	}
	wait.Wait()
	for _, ids := range said {
		acknowledged = append(acknowledged, ids...)
	}
	return acknowledged
}

// mustHold opens the store at path, and finds it sound and every entry there.
func mustHold(t *testing.T, path string, ids []uuid.UUID) {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	for _, id := range ids {
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Errorf("acknowledged, but lost: %v", err)
		}
	}
}

// TestProcessesShare has several processes store and retrieve at once, on a
// file that does not exist before: the first open is a race as well.
func TestProcessesShare(t *testing.T) {
	const rounds, processes = 2, 8
	for range rounds {
		path := filepath.Join(t.TempDir(), "memory.db")
		ids := together(t, startChildren(t, processes, "store", path))
		if len(ids) != processes*storesEach {
			t.Errorf("%d stores were acknowledged, want %d", len(ids), processes*storesEach)
		}
		mustHold(t, path, ids)
	}
}

// TestProcessKilled kills a process in the middle of its writing, at another
// point in each round, from before it has made the file.
func TestProcessKilled(t *testing.T) {
	for acknowledged := range 12 {
		path := filepath.Join(t.TempDir(), "memory.db")
		c := startChildren(t, 1, "store", path)[0]
		c.tell()
		ids := c.ids(t, acknowledged)
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ids(t, storesEach)...) // said before it died
		if err := c.cmd.Wait(); err == nil {
			t.Log("the child was done before it was killed")
		}
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		if err != nil {
			t.Fatalf("after a kill with %d writes acknowledged: %v", len(ids), err)
		}
		if err := s.Store(t.Context(), memory.NewEntry(memory.Fact, "after the kill")); err != nil {
			t.Errorf("the next write: %v", err)
		}
		closeStore(t, s)
		mustHold(t, path, ids)
	}
}

// TestProcessesUpdate has processes change one entry by reading and writing:
// no change may be lost.
func TestProcessesUpdate(t *testing.T) {
	const processes = 3
	path := filepath.Join(t.TempDir(), "memory.db")
	counter := memory.NewEntry(memory.Fact, "0")
	counter.ID = countedID
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{}, memory.WithEntries(counter))
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	together(t, startChildren(t, processes, "count", path))
	record, err := s.Get(t.Context(), countedID)
	if want := strconv.Itoa(processes * storesEach); err != nil || record.Entry.Memory != want {
		t.Errorf("the count is %q (%v), want %s", record.Entry.Memory, err, want)
	}
}
