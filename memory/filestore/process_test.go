package filestore_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/memory/filestore/filestoretest"
)

// The tests in this file need a second process, which is this test binary
// started again to run nothing but TestChild.
const (
	childRole  = "LOOPMEM_TEST_CHILD" // what the child does
	childPath  = "LOOPMEM_TEST_PATH"  // on which file
	childStage = "LOOPMEM_TEST_STAGE" // where it dies
)

// child is a running second process.
type child struct {
	*exec.Cmd
	input  io.Closer
	output *bufio.Scanner
}

// startChild starts a child, which is killed in the end if it still runs.
func startChild(t *testing.T, role, path string, environment ...string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), append(environment, childRole+"="+role, childPath+"="+path)...)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{Cmd: cmd, input: input, output: bufio.NewScanner(output)}
	t.Cleanup(func() { c.kill() })
	return c
}

// mustSay waits for the next line of the child and returns it.
func (c *child) mustSay(t *testing.T) string {
	t.Helper()
	if !c.output.Scan() {
		t.Fatalf("the child has ended: %v, %v", c.output.Err(), c.Wait())
	}
	return c.output.Text()
}

// mustDie waits until the child is dead, which has to come before its next
// line.
func (c *child) mustDie(t *testing.T) {
	t.Helper()
	if c.output.Scan() {
		t.Fatalf("the child did not die, but said %q", c.output.Text())
	}
	c.kill()
}

// kill ends the child at once, as kill -9 does, and waits until it is gone.
func (c *child) kill() {
	_ = c.Process.Kill() // it may have ended by itself
	_ = c.Wait()
}

func TestChild(t *testing.T) {
	role := os.Getenv(childRole)
	if role == "" {
		return // it is for second processes only
	}
	path := os.Getenv(childPath)
	s, err := filestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	switch role {
	case "hold": // keeps the file open until its input ends
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	case "rewrite": // counts in the first entry, one rewrite a count
		for count := 1; ; count++ {
			if _, err := s.Update(t.Context(), three()[0].ID, memory.Change{Memory: new(strconv.Itoa(count))}); err != nil {
				t.Fatal(err)
			}
			fmt.Println(count)
		}
	case "append": // stores numbered entries
		for count := 1; ; count++ {
			if err := s.Store(t.Context(), appended(count)); err != nil {
				t.Fatal(err)
			}
			fmt.Println(count)
		}
	case "die rewriting":
		dieAt(t, path)
		_, err := s.Forget(t.Context(), three()[0].ID)
		t.Fatal("survived the rewrite: ", err)
	case "die appending":
		dieAt(t, path)
		err := s.Store(t.Context(), appended(1))
		t.Fatal("survived the append: ", err)
	default:
		t.Fatalf("unknown role %q", role)
	}
}

// dieAt has this process kill itself at the stage that its environment names.
func dieAt(t *testing.T, path string) {
	filestoretest.OnStage(t, path, func(stage filestoretest.Stage) error {
		if string(stage) != os.Getenv(childStage) {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
		select {} // the signal may take a moment
	})
}

// appended is the entry that a child stores as its nth.
func appended(n int) memory.Entry {
	e := numbered(0, strings.Repeat("entry ", n%7)+strconv.Itoa(n))
	e.ID = uuid.NewSHA1(uuid.Nil, []byte(strconv.Itoa(n)))
	return e
}

func TestOpen_SecondProcessIsRefused(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	holder := startChild(t, "hold", path)
	holder.mustSay(t)
	for name, open := range map[string]func(string, ...memory.Option) (*filestore.Store, error){
		"Open": filestore.Open, "New": filestore.New,
	} {
		_, err := open(path)
		if !errors.Is(err, filestore.ErrInUse) {
			t.Fatalf("%s gave %v, want ErrInUse", name, err)
		}
		for _, part := range []string{path, "SQLite store", "loopmem import"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("the error does not name %q: %v", part, err)
			}
		}
	}
	reader, err := filestore.OpenReadOnly(path)
	if err != nil {
		t.Fatalf("reading beside the holder: %v", err)
	}
	defer reader.Close()
	wantEntries(t, reader, three()...)

	if err := holder.input.Close(); err != nil {
		t.Fatal(err)
	}
	if err := holder.Wait(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, path)
}

func TestOpen_LockEndsWithTheProcess(t *testing.T) {
	path := mustWrite(t, "")
	holder := startChild(t, "hold", path)
	holder.mustSay(t)
	holder.kill()
	mustOpen(t, path)
}

// A process that dies at any stage of a rewrite leaves the old file or the new
// one, and at most a temporary file that the next open removes.
func TestRewrite_ProcessDiesAtEachStage(t *testing.T) {
	older, newer := three(), three()[1:]
	for _, test := range []struct {
		stage    filestoretest.Stage
		want     []memory.Entry
		leftover bool
	}{
		{filestoretest.TempCreate, older, false},
		{filestoretest.Write, older, true},
		{filestoretest.Sync, older, true},
		{filestoretest.Rename, older, true},
		{filestoretest.DirectorySync, newer, false},
	} {
		t.Run(string(test.stage), func(t *testing.T) {
			path := mustWrite(t, jsonl(older...))
			// Files of other people, which must survive.
			foreign := []string{"memory.jsonl", "memory.jsonl.tmp", "memory.jsonl.backup.tmp", "other.jsonl." + uuid.NewString() + ".tmp"}
			for _, name := range foreign[1:] {
				if err := overwrite(strings.TrimSuffix(path, "memory.jsonl")+name, "precious"); err != nil {
					t.Fatal(err)
				}
			}
			c := startChild(t, "die rewriting", path, childStage+"="+string(test.stage))
			c.mustDie(t)
			wantContent(t, path, jsonl(test.want...))
			siblings, err := os.ReadDir(strings.TrimSuffix(path, "memory.jsonl"))
			if err != nil {
				t.Fatal(err)
			}
			if left := len(siblings) - len(foreign) - 1; (left == 1) != test.leftover || left > 1 { // 1 is the lock
				t.Errorf("the child left %d temporary files", left)
			}

			s := mustOpen(t, path)
			wantEntries(t, s, test.want...)
			wantContent(t, path, jsonl(test.want...))
			wantFiles(t, path, foreign...)
		})
	}
}

func TestStore_ProcessDiesInAnAppend(t *testing.T) {
	older := three()
	path := mustWrite(t, jsonl(older...))
	c := startChild(t, "die appending", path, childStage+"="+string(filestoretest.AppendWrite))
	c.mustDie(t)
	if torn, ok := strings.CutPrefix(mustRead(t, path), jsonl(older...)); !ok || torn == "" || strings.Contains(torn, "\n") {
		t.Fatalf("the child left no torn line, but %q", torn)
	}
	s := mustOpen(t, path)
	wantEntries(t, s, older...)
	wantContent(t, path, jsonl(older...))
}

// Processes killed wherever they happen to be: what was acknowledged is there,
// and nothing is half done.
func TestKill_AcknowledgedWritesSurvive(t *testing.T) {
	t.Parallel()
	const rounds = 25
	t.Run("rewrite", func(t *testing.T) {
		path := mustWrite(t, jsonl(three()...))
		for round := range rounds {
			acknowledged := killAfter(t, "rewrite", path, round%4+1)
			s, err := filestore.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			all := mustList(t, s)
			if len(all) != 3 {
				t.Fatalf("round %d: %d entries are left of 3", round, len(all))
			}
			count, err := strconv.Atoi(all[0].Memory)
			if err != nil || count < acknowledged || count > acknowledged+1 {
				t.Fatalf("round %d: the entry says %q after %d was acknowledged", round, all[0].Memory, acknowledged)
			}
			wantEntries(t, s, append(all[:1:1], three()[1:]...)...)
			wantContent(t, path, jsonl(all...))
			wantFiles(t, path, "memory.jsonl")
			mustClose(t, s)
		}
	})
	t.Run("append", func(t *testing.T) {
		path := mustWrite(t, "")
		for round := range rounds {
			acknowledged := killAfter(t, "append", path, round%4+1)
			s, err := filestore.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, e := range mustList(t, s) {
				if want := appended(i + 1); e.Memory != want.Memory {
					t.Fatalf("round %d: entry %d says %q, want %q", round, i+1, e.Memory, want.Memory)
				}
			}
			if n, err := s.Len(t.Context()); err != nil || n < acknowledged || n > acknowledged+1 {
				t.Fatalf("round %d: %d entries, %v, after %d were acknowledged", round, n, err, acknowledged)
			}
			mustClose(t, s)
			if err := overwrite(path, ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// killAfter kills a child when it has acknowledged that many writes, and
// returns the last that it acknowledged until it was dead.
func killAfter(t *testing.T, role, path string, writes int) (acknowledged int) {
	t.Helper()
	c := startChild(t, role, path)
	for range writes {
		c.mustSay(t)
	}
	_ = c.Process.Kill()
	last := c.output.Text()
	for c.output.Scan() { // what it said before it died
		last = c.output.Text()
	}
	c.kill()
	acknowledged, err := strconv.Atoi(last)
	if err != nil {
		t.Fatalf("the child said %q", last)
	}
	return acknowledged
}
