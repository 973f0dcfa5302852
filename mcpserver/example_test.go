package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/mcpserver"
	"github.com/loopmem/loopmem/memory"
)

// inMemory is a store in the memory of the process, which nobody can take
// away. The command loopmem has a source for its database.
type inMemory struct{ *memory.Store }

func (s inMemory) Open(context.Context) (memory.Backend, error) { return s.Store, nil }
func (s inMemory) Check() error                                 { return nil }
func (s inMemory) Lost(error) bool                              { return false }

func (s inMemory) Stats(ctx context.Context, store memory.Backend) (mcpserver.Stats, error) {
	n, err := store.Len(ctx)
	return mcpserver.Stats{Entries: n, Path: "in memory"}, err
}

func (s inMemory) ConsolidateIfOlder(ctx context.Context, store memory.Backend, _ time.Duration) (bool, error) {
	_, err := store.Consolidate(ctx)
	return err == nil, err
}

// A server works on any store and any pair of streams: here a store in memory,
// and pipes to a client in the same process.
func Example() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	server := mcpserver.New(inMemory{store}, mcpserver.Options{Agent: "team:editor"})
	served := make(chan error)
	go func() { served <- server.Serve(ctx, in, out) }()

	client, err := mcp.NewClient(&mcp.Implementation{Name: "editor"}, nil).
		Connect(ctx, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		log.Fatal(err)
	}
	var answer *mcp.CallToolResult
	for _, call := range []*mcp.CallToolParams{
		{Name: "memory_store", Arguments: map[string]any{"memory": "The staging cluster is rebuilt every Monday."}},
		{Name: "memory_recall", Arguments: map[string]any{"text": "When do we rebuild staging?"}},
	} {
		if answer, err = client.CallTool(ctx, call); err != nil {
			log.Fatal(err)
		}
	}
	for _, entry := range answer.StructuredContent.(map[string]any)["entries"].([]any) {
		fields := entry.(map[string]any)
		fmt.Println(fields["agent"], "remembers:", fields["memory"])
	}
	client.Close()
	if err := <-served; err != nil {
		log.Fatal(err)
	}
	// Output: team:editor remembers: The staging cluster is rebuilt every Monday.
}
