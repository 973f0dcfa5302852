package mcpserver

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

type consolidateArguments struct {
	DryRun bool `json:"dry_run,omitempty" jsonschema:"True only tells what would happen."`
}

type consolidated struct {
	memory.ConsolidationStats
	DryRun bool `json:"dry_run"`
}

func (c consolidated) text() string {
	verb := "Consolidated"
	if c.DryRun {
		verb = "A consolidation now would go from"
	}
	return fmt.Sprintf("%s %d entries to %d: %d merged, %d pruned, %d bytes of text saved.",
		verb, c.EntriesBefore, c.EntriesAfter, c.Merged, c.Pruned, c.BytesSaved)
}

func (s *Server) addConsolidate() {
	addTool(s, &mcp.Tool{
		Name:  "memory_consolidate",
		Title: "Tidy the memory up",
		Description: "Let relevance decay with age, merge entries that say nearly the same and prune what is worthless. " +
			"Pinned entries stay. Worth a call after much was stored; dry_run shows first what would happen.",
		Annotations: destroying(false),
	}, func(ctx context.Context, store memory.Backend, in consolidateArguments) (consolidated, error) {
		pass := store.Consolidate
		if in.DryRun {
			pass = store.PreviewConsolidation
		}
		stats, err := pass(ctx)
		return consolidated{ConsolidationStats: stats, DryRun: in.DryRun}, err
	})
}
