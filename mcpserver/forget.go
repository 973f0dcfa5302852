package mcpserver

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

type forgotten struct {
	ID string `json:"id"`
}

func (f forgotten) text() string { return "Forgotten for good: " + f.ID + "." }

func (s *Server) addForget() {
	addTool(s, &mcp.Tool{
		Name:  "memory_forget",
		Title: "Forget a memory",
		Description: "Remove an entry for good; it cannot be restored. For what the user wants gone, and for what was " +
			"wrong all along. What has merely changed is better updated. Where no byte of it may be left in unused " +
			"parts of the file, the user runs loopmem compact afterwards.",
		Annotations: destroying(true),
	}, func(ctx context.Context, store memory.Backend, in idArgument) (forgotten, error) {
		return named(ctx, store, in.ID, func(id uuid.UUID) (forgotten, error) {
			found, err := store.Forget(ctx, id)
			if err == nil && !found {
				err = fmt.Errorf("%s: %w", id, memory.ErrNotFound)
			}
			return forgotten{ID: id.String()}, err
		})
	})
}
