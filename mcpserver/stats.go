package mcpserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// Stats describe the store as a client may know it. Counts are of what the
// client sees, sizes of the whole file.
type Stats struct {
	Entries          int            `json:"entries"`
	ByCategory       map[string]int `json:"by_category"`
	ByAgent          map[string]int `json:"by_agent"`
	Path             string         `json:"path" jsonschema:"the file of the store"`
	FileBytes        int64          `json:"file_bytes"`
	LastConsolidated *time.Time     `json:"last_consolidated,omitempty"`
}

// described adds what the client may do.
type described struct {
	Stats
	Agent              string `json:"agent,omitempty" jsonschema:"the namespace that this client writes in"`
	MaxConfidentiality string `json:"max_confidentiality" jsonschema:"the highest level that this client sees"`
	ReadOnly           bool   `json:"read_only"`
}

func (d described) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d entries in %s (%d bytes).\nBy category: %s.\nBy agent: %s.\n",
		d.Entries, quoted(d.Path), d.FileBytes, counts(d.ByCategory), counts(d.ByAgent))
	if d.LastConsolidated != nil {
		fmt.Fprintf(&b, "Last consolidated %s.\n", d.LastConsolidated.Format(time.RFC3339))
	}
	fmt.Fprintf(&b, "This client sees entries up to the level %s", d.MaxConfidentiality)
	if d.Agent != "" {
		fmt.Fprintf(&b, ", stores as the agent %s", quoted(d.Agent))
	}
	if d.ReadOnly {
		b.WriteString(", and may only read")
	}
	b.WriteString(".\n")
	return b.String()
}

// counts names the most frequent groups, which are what a reader wants.
func counts(groups map[string]int) string {
	const most = 10
	names := slices.SortedFunc(maps.Keys(groups), func(a, b string) int {
		return cmp.Or(groups[b]-groups[a], cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %d", quoted(name), groups[name]))
	}
	if more := len(names) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}

func (s *Server) addStats() {
	addTool(s, &mcp.Tool{
		Name:        "memory_stats",
		Title:       "Describe the memory",
		Description: "Tell how many entries there are, of which categories and agents, in which file, and what this client may see and change.",
		Annotations: reading(),
	}, func(ctx context.Context, store memory.Backend, _ struct{}) (described, error) {
		stats, err := s.source.Stats(ctx, store)
		return described{
			Stats: stats, Agent: s.write.Namespace,
			MaxConfidentiality: s.write.MaxConfidentiality.String(), ReadOnly: s.options.ReadOnly,
		}, err
	})
}
