package mcpserver

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// storeArguments are the fields of an entry that a model may set. The rest,
// such as times and counts, is the store's own book-keeping.
type storeArguments struct {
	Memory          string            `json:"memory" min:"1" max:"1000000" jsonschema:"What to remember, in words that make sense without this conversation: one fact, decision, preference or lesson."`
	Category        string            `json:"category,omitempty" min:"1" default:"\"fact\"" jsonschema:"What kind of thing it is: fact, strategy, insight, error_pattern, trajectory, working, or a name of your own. Facts and strategies fade slowest; working is for notes that may soon go."`
	Tags            []string          `json:"tags,omitempty" jsonschema:"Names to filter by later, such as a project or a topic."`
	Importance      int               `json:"importance,omitempty" min:"1" max:"10" default:"5" jsonschema:"How much it matters: 1 trivial, 5 usual, 10 must never be missed."`
	Keywords        []string          `json:"keywords,omitempty" jsonschema:"Further words under which it should be found, such as synonyms that are not in the text."`
	Summary         string            `json:"summary,omitempty" jsonschema:"One sentence for lists, where the text is long."`
	MemoryType      string            `json:"memory_type,omitempty" enum:"episodic semantic reflection" default:"\"episodic\"" jsonschema:"episodic: something that happened; semantic: something that is so; reflection: concluded from other memories."`
	Agent           string            `json:"agent,omitempty" jsonschema:"The agent it belongs to, such as team:assistant. Usually left out."`
	Confidentiality string            `json:"confidentiality,omitempty" enum:"public internal confidential restricted" default:"\"public\"" jsonschema:"Who may see it."`
	Validated       bool              `json:"validated,omitempty" jsonschema:"True if it was confirmed, by the user or by a test."`
	Pinned          bool              `json:"pinned,omitempty" jsonschema:"True keeps it for good: it is never merged, nor pruned when it fades."`
	RelatedIDs      []string          `json:"related_ids,omitempty" jsonschema:"Ids of entries that belong with it; a recall of one brings the other."`
	AuthorUserID    string            `json:"author_user_id,omitempty" jsonschema:"The user on whose behalf it is stored."`
	AuthorTenantID  string            `json:"author_tenant_id,omitempty" jsonschema:"The tenant of that user."`
	Attributes      map[string]string `json:"attributes,omitempty" jsonschema:"Anything else to keep with it, by name."`
}

type stored struct {
	ID string `json:"id"`
}

func (s stored) text() string { return "Stored under the id " + s.ID + "." }

func (s *Server) addStore() {
	addTool(s, &mcp.Tool{
		Name:  "memory_store",
		Title: "Store a memory",
		Description: "Remember something for later conversations: a fact about the user or the project, a decision " +
			"and its reason, a preference, a mistake and what it taught. One thing per call. Recall first, and " +
			"use memory_update where an entry says nearly the same. Never store secrets such as passwords or keys.",
		Annotations: adding(false),
	}, func(ctx context.Context, store memory.Backend, in storeArguments) (stored, error) {
		entry, err := in.entry()
		if err == nil {
			err = store.Store(ctx, entry)
		}
		return stored{ID: entry.ID.String()}, err
	})
}

func (in *storeArguments) entry() (memory.Entry, error) {
	e := memory.NewEntry(memory.Category(in.Category), in.Memory)
	e.Tags, e.Keywords, e.Summary = in.Tags, in.Keywords, in.Summary
	e.Agent, e.Validated, e.Pinned = in.Agent, in.Validated, in.Pinned
	e.AuthorUserID, e.AuthorTenantID = in.AuthorUserID, in.AuthorTenantID
	e.Attributes, e.Importance = in.Attributes, uint8(in.Importance)
	var err error
	if e.MemoryType, err = memory.ParseMemoryType(in.MemoryType); err != nil {
		return e, err
	}
	if e.Confidentiality, err = memory.ParseConfidentiality(in.Confidentiality); err != nil {
		return e, err
	}
	for _, text := range in.RelatedIDs {
		id, err := memory.ParseID(text)
		if err != nil {
			return e, fmt.Errorf("related_ids: %w", err)
		}
		e.RelatedIDs = append(e.RelatedIDs, id)
	}
	return e, nil
}
