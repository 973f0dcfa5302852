package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/internal/mcptest"
)

// wires are a server process as the program that starts it has it in hand.
type wires struct {
	*exec.Cmd
	t   testing.TB
	in  io.WriteCloser
	out *bufio.Reader
}

// wire starts a server process and greets it.
func (w *world) wire(cmd *exec.Cmd) *wires {
	w.t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	s := &wires{cmd, w.t, in, bufio.NewReader(out)}
	s.say(mcptest.Hello)
	s.hear()
	return s
}

func (s *wires) say(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, strings.Join(lines, "")); err != nil {
		s.t.Fatal(err)
	}
}

// hear reads one line.
func (s *wires) hear() {
	s.t.Helper()
	if _, err := s.out.ReadString('\n'); err != nil {
		s.t.Fatal(err)
	}
}

// waysToEnd are those in which a server learns that it is to end.
var waysToEnd = []struct {
	name string
	// parent returns what starts the server; nil means that the test does.
	parent func(server *exec.Cmd) *exec.Cmd
	tell   func(*wires) error
	posix  bool // needs what Windows does not have
}{
	{name: "input ends", tell: func(s *wires) error { return s.in.Close() }},
	{name: "terminated", tell: func(s *wires) error { return s.Process.Signal(syscall.SIGTERM) }, posix: true},
	// The test holds the other end of the server's input, so that stays open.
	{name: "parent dies", parent: belowAShell, tell: func(s *wires) error { return s.Process.Kill() }, posix: true},
}

func belowAShell(server *exec.Cmd) *exec.Cmd {
	// A shell connects what it starts with & to nothing, hence the detour.
	const script = `exec 3<&0; "$@" <&3 & wait`
	shell := exec.Command("sh", append([]string{"-c", script, "sh"}, server.Args...)...)
	shell.Stderr = server.Stderr
	return shell
}

// endsInTime is what a client can rely on, and so how long it may take.
const endsInTime = 2 * time.Second

// A lock that another process holds, and that a call and the counting of what
// was recalled wait for, must not keep the server.
func TestMCP_endsInTime(t *testing.T) {
	for _, end := range waysToEnd {
		for _, locked := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, locked %t", end.name, locked), func(t *testing.T) {
				if end.posix && runtime.GOOS == "windows" {
					t.Skip("needs signals, a shell, and a system that tells of a new parent")
				}
				w := newWorld(t)
				w.add("zero")
				cmd := w.mcpProcess("--busy-timeout", "1h")
				if end.parent != nil {
					cmd = end.parent(cmd)
				}
				s := w.wire(cmd)
				s.say(mcptest.Store("kept", "one"))
				s.hear()
				unlock := func() {}
				if locked {
					unlock = w.lockDatabase()
					s.say(mcptest.Call("counted later", "memory_recall", `{}`))
					s.hear()
					s.say(mcptest.Store("in vain", "two"))
					// A line in the pipe is not yet a call that the server
					// has; once it answers the next line, it has this one.
					s.say(mcptest.Ping("read"))
					s.hear()
				}
				told := time.Now()
				if err := end.tell(s); err != nil {
					t.Fatal(err)
				}
				// The output ends when the last process that holds it does.
				rest := mcptest.Answers(t, s.out)
				if took := time.Since(told); took > endsInTime {
					t.Errorf("it took %s to end", took)
				}
				if err := s.Wait(); err != nil && end.parent == nil {
					t.Errorf("the server ended with: %v", err)
				}
				if locked {
					if m := rest["in vain"]; m.Result == nil || !m.Result.IsError {
						t.Errorf("the call that waits is answered with %+v, want an error of the tool", m)
					}
					delete(rest, "in vain")
				}
				if len(rest) > 0 {
					t.Errorf("at the end it writes %+v", rest)
				}
				unlock()
				if got := w.texts("list"); !slices.Equal(got, []string{"zero", "one"}) {
					t.Errorf("stored %q", got)
				}
				w.must("doctor")
			})
		}
	}
}

func TestMCP_inputEndsWithCallsInFlight(t *testing.T) {
	w := newWorld(t)
	w.add("zero") // so that the little time there is does not go into making the file
	texts := []string{"one", "two", "three", "four", "five"}
	lines := mcptest.Hello
	for i, text := range texts {
		lines += mcptest.Store(i, text)
	}
	cmd := w.mcpProcess()
	cmd.Stdin = strings.NewReader(lines + "no message\n")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := mcptest.Answers(t, bytes.NewReader(out))
	for i := range texts {
		if m := got[float64(i)]; m.Result == nil || m.Result.IsError {
			t.Errorf("call %d is answered with %+v", i, m)
		}
	}
	if got := w.texts("list"); len(got) != len(texts)+1 {
		t.Errorf("stored %q, want all of %q after the first", got, texts)
	}
}

// The pipes may break one by one, where a client is not killed but breaks.
func TestMCP_clientTakesNoAnswers(t *testing.T) {
	w := newWorld(t)
	w.add("note before")
	cmd := w.mcpProcess()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	lines := mcptest.Hello
	for i := range 200 {
		lines += mcptest.Store(i, fmt.Sprintf("note %d", i))
	}
	cmd.Stdin = strings.NewReader(lines)
	_ = cmd.Run() // it may complain about the pipe
	for _, text := range w.texts("list", "--limit", "0") {
		if !strings.HasPrefix(text, "note ") {
			t.Errorf("%q was never stored", text)
		}
	}
	w.mcpClient().mustStore("after")
}

// runAsClient makes the test binary be a client that starts the server which
// its arguments name, stores one note after the other, and writes a line for
// each that it was told is stored.
const runAsClient = "LOOPMEM_TEST_RUN_AS_CLIENT"

func clientMain() error {
	server := exec.Command(os.Args[1], os.Args[2:]...)
	server.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool { return strings.HasPrefix(variable, runAsClient+"=") })
	server.Stderr = os.Stderr
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(context.Background(), &mcp.CommandTransport{Command: server}, nil)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		if err := storeText(context.Background(), session, fmt.Sprintf("note %d", i)); err != nil {
			return err
		}
		fmt.Println("stored", i)
	}
}

func TestMCP_clientIsKilled(t *testing.T) {
	for _, locked := range []bool{false, true} {
		t.Run(fmt.Sprintf("locked %t", locked), func(t *testing.T) {
			w := newWorld(t)
			server := w.mcpProcess("--busy-timeout", "1h")
			client := exec.Command(server.Path, server.Args...)
			client.Env = append(os.Environ(), runAsClient+"=1")
			out, err := client.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			// The server inherits it, so that it tells when both are gone.
			errs, err := client.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			stored := 0
			for stored < 10 && lines.Scan() {
				stored++
			}
			unlock := func() {}
			if locked {
				unlock = w.lockDatabase()
			}
			// The client does nothing but to call, so it is in a call.
			killed := time.Now()
			if err := client.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
				stored++
			}
			says, err := io.ReadAll(errs)
			if took := time.Since(killed); err != nil || took > endsInTime {
				t.Errorf("the server ended after %s, %v, and said:\n%s", took, err, says)
			}
			_ = client.Wait() // killed
			unlock()
			got := w.texts("list", "--limit", "0")
			for i, text := range got {
				if want := fmt.Sprintf("note %d", i); text != want {
					t.Errorf("entry %d is %q, want %q", i, text, want)
				}
			}
			// The last call may have come to its end, unknown to the client.
			if n := len(got); n < stored || n > stored+1 {
				t.Errorf("%d entries, and the client was told of %d", n, stored)
			}
			w.add("after")
			w.must("doctor")
		})
	}
}
