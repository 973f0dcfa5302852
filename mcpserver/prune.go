package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

type pruneArguments struct {
	MinStrength float64 `json:"min_strength,omitempty" min:"0" max:"1" default:"0.1" jsonschema:"Remove entries whose strength has faded below this."`
	MinAgeHours float64 `json:"min_age_hours,omitempty" min:"0" max:"876000" default:"24" jsonschema:"Remove only entries that were created longer ago than this."`
	AgentPrefix string  `json:"agent_prefix,omitempty" jsonschema:"Only entries of this agent and those below it: team covers team:a, not teams."`
	DryRun      bool    `json:"dry_run,omitempty" jsonschema:"True removes nothing and only tells how many entries would go."`
}

type pruned struct {
	Pruned int  `json:"pruned" jsonschema:"how many entries were removed, or would be"`
	DryRun bool `json:"dry_run"`
}

func (p pruned) text() string {
	if p.DryRun {
		return fmt.Sprintf("Pruning now would remove %d entries.", p.Pruned)
	}
	return fmt.Sprintf("Pruned %d entries.", p.Pruned)
}

func (s *Server) addPrune() {
	addTool(s, &mcp.Tool{
		Name:  "memory_prune",
		Title: "Prune faded memories",
		Description: "Remove entries that have faded because nothing has recalled them for long. Pinned entries stay. " +
			"Half of its strength is gone after about six days without use; dry_run shows first how many would go.",
		Annotations: destroying(true),
	}, func(ctx context.Context, store memory.Backend, in pruneArguments) (pruned, error) {
		rule := memory.PruneRule{
			MinStrength: in.MinStrength, MinAge: time.Duration(in.MinAgeHours * float64(time.Hour)), Namespace: in.AgentPrefix,
		}
		if in.DryRun {
			n, err := rule.Preview(ctx, store)
			return pruned{Pruned: n, DryRun: true}, err
		}
		n, err := store.Prune(ctx, rule.MinStrength, rule.MinAge, rule.Namespace)
		return pruned{Pruned: n}, err
	})
}
