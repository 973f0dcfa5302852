package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/internal/mcptest"
	"github.com/loopmem/loopmem/mcpserver"
	"github.com/loopmem/loopmem/memory"
)

// say sends lines and ends the input; the pipe takes them as the server reads.
func (w wires) say(lines ...string) {
	go func() {
		_, _ = io.WriteString(w.in, strings.Join(lines, ""))
		w.in.Close()
	}()
}

// In a bubble, where time stands still while anything runs, a slow machine does
// not exhaust the grace that calls in flight have.
func TestServe_passesOverWhatIsNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, newSource(t), mcpserver.Options{})
		w.say(mcptest.Hello,
			"not JSON\n", "\n", "null\n", "7\n", "{}\n", "[]\n", "[\n", "\x00\xff\n", `{"jsonrpc":"2.0"}`+"\n",
			`{"jsonrpc":"1.0","id":"old","method":"ping"}`+"\n",
			`{"jsonrpc":"2.0","id":{},"method":"ping"}`+"\n",
			`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`+"\n",
			`{"jsonrpc":"2.0","id":36028797018963968,"method":"ping"}`+"\n",
			`{"jsonrpc":"2.0","id":"answer","result":{}}`+"\n",
			mcptest.Store("long", strings.Repeat("x", 1<<20)),
			`[{"jsonrpc":"2.0","id":"b1","method":"ping"},{"jsonrpc":"2.0","id":"b2","method":"ping"}]`+"\n",
			strings.TrimSuffix(mcptest.Call("last", "memory_stats", `{}`), "\n"))
		got := mcptest.Answers(t, w.out)
		for _, id := range []string{"hello", "b1", "b2", "last"} {
			if m, ok := got[id]; !ok || m.Error != nil {
				t.Errorf("%s: answered %t, error %v", id, ok, m.Error)
			}
		}
		for id, what := range map[any]string{
			"old": "of another version of JSON-RPC", 1.5: "with a fraction as its id", float64(1 << 55): "with too large an id",
		} {
			if m := got[id]; m.Error == nil {
				t.Errorf("a call %s got no error", what)
			}
		}
		if m := got["long"]; m.Result == nil || !m.Result.IsError {
			t.Error("a text beyond the limit was not refused")
		} else if text := m.Result.Content[0].(*mcp.TextContent).Text; len(text) > 2000 || !strings.Contains(text, "1000000") {
			t.Errorf("the answer to a long text has %d bytes, and should name the limit", len(text))
		}
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
}

func TestServe_answersEveryCallBeforeItEnds(t *testing.T) {
	const calls = 50
	for _, end := range []string{"input", "context"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource(t)
				proceed := s.hold()
				w := serve(t, s, mcpserver.Options{})
				lines := []string{mcptest.Hello}
				for i := range calls {
					lines = append(lines, mcptest.Store(i, fmt.Sprintf("note %d", i)))
				}
				if _, err := io.WriteString(w.in, strings.Join(lines, "")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // all of them are in flight
				if end == "input" {
					w.in.Close()
				} else {
					w.stop()
					defer w.in.Close() // what reads it cannot be stopped otherwise
				}
				synctest.Wait()
				close(proceed)
				got := mcptest.Answers(t, w.out)
				for i := range calls {
					if m := got[float64(i)]; m.Result == nil || m.Result.IsError {
						t.Errorf("call %d: %+v", i, m)
					}
				}
				if n, err := s.Len(t.Context()); n != calls || err != nil {
					t.Errorf("%d entries, %v; want %d", n, err, calls)
				}
				if err := <-w.done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Two answers to one id would be taken for one. What is never answered must not
// be waited for, either: time stands still here unless something does.
func TestServe_idInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		proceed := s.hold()
		w := serve(t, s, mcpserver.Options{})
		start := time.Now()
		w.say(mcptest.Hello,
			mcptest.Store("same", "first"),
			mcptest.Store("same", "second"))
		go func() {
			synctest.Wait()
			close(proceed)
		}()
		if m := mcptest.Answers(t, w.out)["same"]; m.Result == nil || m.Result.IsError {
			t.Errorf("the first call: %+v", m)
		}
		for e, err := range s.Entries(t.Context(), memory.Selection{}) {
			if err != nil || e.Memory != "first" {
				t.Errorf("stored %q, %v", e.Memory, err)
			}
		}
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		if waited := time.Since(start); waited > 0 {
			t.Errorf("the server waited %s for an answer that never comes", waited)
		}
	})
}

func TestServe_consolidates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		w := serve(t, s, mcpserver.Options{ConsolidateEvery: time.Hour})
		time.Sleep(2 * time.Hour)
		w.in.Close()
		mcptest.Answers(t, w.out)
		if err := <-w.done; err != nil {
			t.Error(err)
		}
		// It looks more often than that: another server's pass may have been
		// just too young.
		if n := len(s.consolidations); n < 3 || s.consolidations[0] != time.Hour {
			t.Errorf("in two hours it asked for passes older than %v, want an hour at least three times", s.consolidations)
		}
	})
}

// stuck is a store whose writes wait for the end of their context.
type stuck struct{ memory.Backend }

func (s stuck) In(memory.Scope) memory.Backend { return s }

func (stuck) Store(ctx context.Context, _ memory.Entry) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestServe_cancelsWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSource(t)
		s.open = func(context.Context) (memory.Backend, error) { return stuck{keptOpen{s.Store}}, nil }
		w := serve(t, s, mcpserver.Options{})
		w.say(mcptest.Hello, mcptest.Store("stuck", "x"))
		got := mcptest.Answers(t, w.out)
		mustFail(t, got["stuck"], "the server is ending", "nothing was changed")
		if err := <-w.done; err != nil {
			t.Error(err)
		}
	})
}

// mustFail expects the error of a tool, and these texts in it.
func mustFail(t testing.TB, m mcptest.Message, texts ...string) {
	t.Helper()
	if m.Result == nil || !m.Result.IsError {
		t.Errorf("the call is answered with %+v, want an error of the tool", m)
		return
	}
	for _, want := range texts {
		if text := m.Result.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, want) {
			t.Errorf("the call fails with %q, which should say %q", text, want)
		}
	}
}

// Whatever hangs, clients that wait two seconds for the end see it.
func TestServe_endsWithinTwoSeconds(t *testing.T) {
	for _, end := range []string{"input", "context"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSource(t)
				deaf := deaf{keptOpen{s.Store}, make(chan struct{})}
				s.open = func(context.Context) (memory.Backend, error) { return deaf, nil }
				w := serve(t, s, mcpserver.Options{ConsolidateEvery: time.Hour})
				defer w.in.Close()
				if _, err := io.WriteString(w.in, mcptest.Hello+mcptest.Store("stuck", "x")); err != nil {
					t.Fatal(err)
				}
				answers := make(chan map[any]mcptest.Message, 1)
				go func() { answers <- mcptest.Answers(t, w.out) }()
				synctest.Wait()
				start := time.Now()
				if end == "input" {
					w.in.Close()
				} else {
					w.stop()
				}
				<-w.done
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("it took %s", took)
				}
				// Of the call that heeds nothing, the server cannot know the end.
				mustFail(t, (<-answers)["stuck"], "the server is ending", "look before")
				close(deaf.release)
			})
		})
	}
}

// deaf is a store that heeds no cancellation, nor that it is to be closed.
type deaf struct {
	memory.Backend
	release chan struct{}
}

func (d deaf) In(memory.Scope) memory.Backend { return d }

func (d deaf) Store(context.Context, memory.Entry) error {
	<-d.release
	return nil
}

func (d deaf) Close() error {
	<-d.release
	return nil
}

func TestServe_endsWithoutAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := serve(t, newSource(t), mcpserver.Options{})
		w.say(mcptest.Hello)
		if err := <-w.done; err == nil {
			t.Error("Serve ended without an error, though its answer was never taken")
		}
		w.out.Close() // lets the goroutine of the answer go
	})
}

func TestServe_cancelledCall(t *testing.T) {
	s := newSource(t)
	s.open = func(context.Context) (memory.Backend, error) { return stuck{keptOpen{s.Store}}, nil }
	c := connect(t, s, mcpserver.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "memory_store", Arguments: arguments{"memory": "x"}})
		failed <- err
	}()
	cancel()
	if err := <-failed; err == nil {
		t.Error("a cancelled call succeeded")
	}
	c.must("memory_recall", nil, nil)
}

func TestServe_worksBeforeTheStoreIsOpen(t *testing.T) {
	s := newSource(t)
	proceed := s.hold()
	c := connect(t, s, mcpserver.Options{})
	if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) == 0 {
		t.Errorf("no tools while the store is being opened: %v", err)
	}
	close(proceed)
	c.must("memory_store", arguments{"memory": "x"}, nil)
}

func TestServe_opensAgain(t *testing.T) {
	s := newSource(t)
	open := s.open
	failures := []error{memory.ErrBusy, memory.ErrBusy, nil}
	opened := 0
	s.open = func(ctx context.Context) (memory.Backend, error) {
		opened++
		if len(failures) == 0 {
			return open(ctx)
		}
		err := failures[0]
		failures = failures[1:]
		if err != nil {
			return nil, err
		}
		return losing{keptOpen{s.Store}}, nil
	}
	c := connect(t, s, mcpserver.Options{})
	for range 10 {
		text := c.call("memory_store", arguments{"memory": "x"})
		if !text.failed {
			break
		}
		if !strings.Contains(text.text, "repeat") {
			t.Errorf("the error does not say that repeating helps: %s", text.text)
		}
	}
	if opened != 4 {
		t.Errorf("opened %d times, want 4: twice in vain, once to lose it, once for good", opened)
	}
}

// What cannot be opened is not for a model to mend.
func TestServe_cannotOpen(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		options mcpserver.Options
		want    string
	}{
		"busy":         {memory.ErrBusy, mcpserver.Options{}, "repeat the call in a moment"},
		"damaged":      {errors.New("damaged"), mcpserver.Options{}, "damaged; nothing was done: tell the user"},
		"nothing yet":  {fs.ErrNotExist, mcpserver.Options{ReadOnly: true}, "nothing is remembered yet"},
		"no such disk": {fs.ErrNotExist, mcpserver.Options{}, "tell the user"},
	} {
		s := newSource(t)
		s.open = func(context.Context) (memory.Backend, error) { return nil, test.err }
		if text := connect(t, s, test.options).refused("memory_recall", nil); !strings.Contains(text, test.want) {
			t.Errorf("%s: it says %q, want it to say %q", name, text, test.want)
		}
	}
}

// losing is a store whose file has gone.
type losing struct{ memory.Backend }

func (l losing) In(memory.Scope) memory.Backend { return l }

func (losing) Store(context.Context, memory.Entry) error { return errLost }
