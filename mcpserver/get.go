package mcpserver

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

func (s *Server) addGet() {
	addTool(s, &mcp.Tool{
		Name:        "memory_get",
		Title:       "Read a memory",
		Description: "Read one entry whole: its full text and every field, with the version that memory_update can check.",
		Annotations: reading(),
	}, func(ctx context.Context, store memory.Backend, in idArgument) (full, error) {
		return named(ctx, store, in.ID, func(id uuid.UUID) (full, error) {
			record, err := store.Get(ctx, id)
			return fullOf(record, time.Now()), err
		})
	})
}
