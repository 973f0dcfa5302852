package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

type updateArguments struct {
	ID              string             `json:"id" jsonschema:"The id of the entry, as memory_recall returns it."`
	Memory          *string            `json:"memory,omitempty" min:"1" max:"1000000" jsonschema:"The new text, whole."`
	Category        *string            `json:"category,omitempty" min:"1" jsonschema:"The new category."`
	Tags            *[]string          `json:"tags,omitempty" jsonschema:"All tags, in place of those it has."`
	Keywords        *[]string          `json:"keywords,omitempty" jsonschema:"All keywords, in place of those it has."`
	Summary         *string            `json:"summary,omitempty" jsonschema:"The new summary."`
	Importance      *int               `json:"importance,omitempty" min:"1" max:"10" jsonschema:"The new importance."`
	Validated       *bool              `json:"validated,omitempty" jsonschema:"True once it was confirmed."`
	Pinned          *bool              `json:"pinned,omitempty" jsonschema:"True keeps it for good, false lets it fade again."`
	Confidentiality *string            `json:"confidentiality,omitempty" enum:"public internal confidential restricted" jsonschema:"The new level."`
	Agent           *string            `json:"agent,omitempty" jsonschema:"The agent it is to belong to."`
	Attributes      *map[string]string `json:"attributes,omitempty" jsonschema:"All attributes, in place of those it has."`
	IfVersion       uint64             `json:"if_version,omitempty" min:"1" jsonschema:"Change it only if it still has this version, as memory_get returned it. Use it when the change depends on what the entry said."`
}

// updated is the entry as it stands after an update.
type updated struct{ full }

func (u updated) text() string { return "Updated. The entry now reads:\n" + u.full.text() }

func (s *Server) addUpdate() {
	addTool(s, &mcp.Tool{
		Name:  "memory_update",
		Title: "Change a memory",
		Description: "Change fields of an entry that has become wrong or incomplete, in place of storing a second one. " +
			"Only the fields given change; lists are replaced whole.",
		Annotations: destroying(true),
	}, func(ctx context.Context, store memory.Backend, in updateArguments) (updated, error) {
		change, err := in.change()
		if err != nil {
			return updated{}, err
		}
		return named(ctx, store, in.ID, func(id uuid.UUID) (updated, error) {
			record, err := store.Update(ctx, id, change)
			return updated{fullOf(record, time.Now())}, err
		})
	})
}

func (in *updateArguments) change() (memory.Change, error) {
	c := memory.Change{
		Memory: in.Memory, Category: (*memory.Category)(in.Category), Tags: in.Tags, Keywords: in.Keywords,
		Summary: in.Summary, Validated: in.Validated, Pinned: in.Pinned, Agent: in.Agent,
		Attributes: in.Attributes, IfVersion: in.IfVersion,
	}
	if in.Importance != nil {
		c.Importance = new(uint8(*in.Importance))
	}
	if in.Confidentiality != nil {
		level, err := memory.ParseConfidentiality(*in.Confidentiality)
		if err != nil {
			return c, err
		}
		c.Confidentiality = &level
	}
	return c, in.anything()
}

// anything refuses a call that changes nothing: it is a mistake, such as a
// field name that was forgotten.
func (in *updateArguments) anything() error {
	rest := *in
	rest.ID, rest.IfVersion = "", 0
	if rest == (updateArguments{}) {
		return fmt.Errorf("%w: no field to change was given; name at least one, such as memory or tags", memory.ErrInvalid)
	}
	return nil
}
