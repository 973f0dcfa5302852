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
}

type pruned struct {
	Pruned int `json:"pruned"`
}

func (p pruned) text() string { return fmt.Sprintf("Pruned %d entries.", p.Pruned) }

func (s *Server) addPrune() {
	addTool(s, &mcp.Tool{
		Name:  "memory_prune",
		Title: "Prune faded memories",
		Description: "Remove entries that have faded because nothing has recalled them for long. Pinned entries stay. " +
			"A half of its strength is gone after about six days without use.",
		Annotations: destroying(true),
	}, func(ctx context.Context, store memory.Backend, in pruneArguments) (pruned, error) {
		age := time.Duration(in.MinAgeHours * float64(time.Hour))
		removed, err := store.Prune(ctx, in.MinStrength, age, in.AgentPrefix)
		return pruned{Pruned: removed}, err
	})
}
