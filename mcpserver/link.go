package mcpserver

import (
	"context"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

type linkArguments struct {
	ID        string `json:"id" jsonschema:"The id of one entry."`
	RelatedID string `json:"related_id" jsonschema:"The id of the other entry."`
}

type linked struct {
	ID        string `json:"id"`
	RelatedID string `json:"related_id"`
}

func (l linked) text() string { return "Linked " + l.ID + " and " + l.RelatedID + " with each other." }

func (s *Server) addLink() {
	addTool(s, &mcp.Tool{
		Name:        "memory_link",
		Title:       "Link two memories",
		Description: "Relate two entries with each other, such as a problem and its solution. A recall that finds one of them then brings the other.",
		Annotations: adding(true),
	}, func(ctx context.Context, store memory.Backend, in linkArguments) (linked, error) {
		return named(ctx, store, in.ID, func(a uuid.UUID) (linked, error) {
			return named(ctx, store, in.RelatedID, func(b uuid.UUID) (linked, error) {
				return linked{ID: a.String(), RelatedID: b.String()}, store.Link(ctx, a, b)
			})
		})
	})
}
