package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/mcpserver"
	"github.com/loopmem/loopmem/memory"
)

var errLost = errors.New("the store is lost")

// source is a [mcpserver.Source] over an in-memory store, which stays when
// the server closes it. Tests replace its functions.
type source struct {
	*memory.Store
	open func(ctx context.Context) (memory.Backend, error)

	consolidations []time.Duration // the ages asked for
}

func newSource(t testing.TB, entries ...memory.Entry) *source {
	t.Helper()
	store, err := memory.NewStore(memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	s := &source{Store: store}
	s.open = func(context.Context) (memory.Backend, error) { return keptOpen{store}, nil }
	return s
}

// hold has every opening of the store wait until what it returns is closed.
func (s *source) hold() (proceed chan struct{}) {
	proceed = make(chan struct{})
	open := s.open
	s.open = func(ctx context.Context) (memory.Backend, error) {
		<-proceed
		return open(ctx)
	}
	return proceed
}

// keptOpen is a store that a server cannot close.
type keptOpen struct{ memory.Backend }

func (keptOpen) Close() error { return nil }

func (s *source) Open(ctx context.Context) (memory.Backend, error) { return s.open(ctx) }
func (s *source) Check() error                                     { return nil }
func (s *source) Lost(err error) bool                              { return errors.Is(err, errLost) }

func (s *source) Stats(ctx context.Context, store memory.Backend) (mcpserver.Stats, error) {
	stats := mcpserver.Stats{ByCategory: make(map[string]int), ByAgent: make(map[string]int), Path: "memory"}
	for e, err := range store.Entries(ctx, memory.Selection{}) {
		if err != nil {
			return stats, err
		}
		stats.Entries++
		stats.ByCategory[string(e.Category)]++
		stats.ByAgent[e.Agent]++
	}
	return stats, nil
}

func (s *source) ConsolidateIfOlder(ctx context.Context, store memory.Backend, age time.Duration) (bool, error) {
	s.consolidations = append(s.consolidations, age)
	_, err := store.Consolidate(ctx)
	return true, err
}

// wires are a running server without a client.
type wires struct {
	in   io.WriteCloser
	out  io.ReadCloser
	stop context.CancelFunc // of the context of Serve
	done chan error         // what Serve returned
}

func serve(t testing.TB, s mcpserver.Source, options mcpserver.Options) wires {
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	w := wires{in: inWriter, out: outReader, stop: stop, done: make(chan error, 1)}
	server := mcpserver.New(s, options)
	go func() {
		w.done <- server.Serve(ctx, inReader, outWriter)
		outWriter.Close()
	}()
	return w
}

// client is a real client of a server in this process.
type client struct {
	*mcp.ClientSession
	t testing.TB
}

func connect(t testing.TB, s mcpserver.Source, options mcpserver.Options) *client {
	t.Helper()
	w := serve(t, s, options)
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: w.out, Writer: w.in}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		session.Close()
		if err := <-w.done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return &client{session, t}
}

// arguments of a tool.
type arguments = map[string]any

// answer is what a tool said.
type answer struct {
	text       string
	failed     bool
	structured json.RawMessage
}

func (c *client) call(tool string, in arguments) answer {
	c.t.Helper()
	result, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{result.Content[0].(*mcp.TextContent).Text, result.IsError, structured}
}

// must calls a tool that has to succeed and reads its structured answer.
func (c *client) must(tool string, in arguments, out any) answer {
	c.t.Helper()
	a := c.call(tool, in)
	if a.failed {
		c.t.Fatalf("%s: %s", tool, a.text)
	}
	if out != nil {
		if err := json.Unmarshal(a.structured, out); err != nil {
			c.t.Fatalf("%s: %v in %s", tool, err, a.structured)
		}
	}
	return a
}

// refused calls a tool that has to fail and returns what it says.
func (c *client) refused(tool string, in arguments) string {
	c.t.Helper()
	a := c.call(tool, in)
	if !a.failed {
		c.t.Fatalf("%s with %v succeeded: %s", tool, in, a.text)
	}
	return a.text
}

type entry struct {
	ID         string   `json:"id"`
	Memory     string   `json:"memory"`
	Shortened  bool     `json:"shortened"`
	Tags       []string `json:"tags"`
	Importance int      `json:"importance"`
	Agent      string   `json:"agent"`
	Version    int      `json:"version"`
	RelatedIDs []string `json:"related_ids"`
}

type page struct {
	Entries    []entry `json:"entries"`
	NextCursor string  `json:"next_cursor"`
}

func (c *client) store(in arguments) string {
	c.t.Helper()
	var out entry
	c.must("memory_store", in, &out)
	return out.ID
}

func (c *client) recall(in arguments) page {
	c.t.Helper()
	var out page
	c.must("memory_recall", in, &out)
	return out
}
