package mcpserver

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// recallArguments are the fields of a [memory.Query], and a cursor.
type recallArguments struct {
	Text               string    `json:"text,omitempty" max:"100000" jsonschema:"What to look for, as ranking says. An entry with any of the words is found; without words, every entry that passes the filters."`
	Ranking            string    `json:"ranking,omitempty" enum:"composite question" default:"\"question\"" jsonschema:"question: text is in plain language; its common words do not count, and its words are found in other forms too. composite: text holds the words to look for, or parts of them; exact_words implies it."`
	Window             int       `json:"window,omitempty" min:"0" max:"10" jsonschema:"With the ranking question, where entries are turns of a conversation: how many turns before and after one lend it their words."`
	Limit              int       `json:"limit,omitempty" min:"1" max:"100" default:"10" jsonschema:"How many entries to return at most. A few are usually enough; the cursor brings more."`
	Category           string    `json:"category,omitempty" jsonschema:"Only this category."`
	Tags               []string  `json:"tags,omitempty" jsonschema:"Only entries with at least one of these tags, compared exactly."`
	Agent              *string   `json:"agent,omitempty" jsonschema:"Only entries of exactly this agent; empty: only entries without an agent."`
	AgentPrefix        string    `json:"agent_prefix,omitempty" jsonschema:"Only entries of agents that begin with this text. Ignored where agent is given."`
	MemoryType         string    `json:"memory_type,omitempty" enum:"episodic semantic reflection" jsonschema:"Only this type."`
	MinStrength        *float64  `json:"min_strength,omitempty" min:"0" max:"1" jsonschema:"Only entries remembered at least that well now."`
	MaxConfidentiality string    `json:"max_confidentiality,omitempty" enum:"public internal confidential restricted" jsonschema:"Only entries up to this level."`
	ExactWords         bool      `json:"exact_words,omitempty" jsonschema:"True compares whole words, so that perf does not find performance."`
	Reinforce          bool      `json:"reinforce,omitempty" default:"true" jsonschema:"False looks without making what is found stronger."`
	QueryEmbedding     []float32 `json:"query_embedding,omitempty" jsonschema:"The query as a vector, for programs that store embeddings. Leave it out."`
	Explain            bool      `json:"explain,omitempty" jsonschema:"True tells of each entry which words of the text it has and how its score came about. For finding out why something was found, or was not."`
	Cursor             string    `json:"cursor,omitempty" jsonschema:"next_cursor of an earlier answer, for the entries after those. Give it alone, or with limit."`
}

type recollection struct {
	Notice     string  `json:"notice,omitempty"` // some clients show a model the structured content alone
	Entries    []brief `json:"entries" jsonschema:"best first"`
	NextCursor string  `json:"next_cursor,omitempty" jsonschema:"for memory_recall, if there may be more"`
	further    bool    // these come after others
}

func (r recollection) text() string {
	if len(r.Entries) == 0 && r.further {
		return "There is nothing more."
	}
	if len(r.Entries) == 0 {
		return "Nothing was found. Try fewer or other words, parts of words, or no filters."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d found, best first. %s\n\n", len(r.Entries), notice)
	for i := range r.Entries {
		fmt.Fprintf(&b, "%d. ", i+1)
		r.Entries[i].write(&b)
	}
	if r.NextCursor != "" {
		fmt.Fprintf(&b, "\nThere may be more: memory_recall with cursor %s.\n", r.NextCursor)
	}
	return b.String()
}

func (s *Server) addRecall() {
	addTool(s, &mcp.Tool{
		Name:  "memory_recall",
		Title: "Recall memories",
		Description: "Look up what is remembered, before answering or deciding anything that earlier conversations may " +
			"bear on. Returns the best entries by relevance, importance, age and strength, with entries they are " +
			"linked to, long texts shortened. Ask in plain language, or give the few words that matter. " +
			"It changes nothing of what entries say; " + s.bookKeeping(),
		Annotations: reading(),
	}, func(ctx context.Context, store memory.Backend, in recallArguments) (recollection, error) {
		page, err := s.page(in)
		if err != nil {
			return recollection{}, err
		}
		hits, err := page.recall(ctx, store)
		if err != nil {
			return recollection{}, err
		}
		r := recollection{Entries: make([]brief, len(hits)), further: len(page.seen) > 0}
		if len(hits) > 0 {
			r.Notice = notice
		}
		now := time.Now()
		for i := range hits {
			r.Entries[i] = briefOf(&hits[i].Entry, now)
			r.Entries[i].Score, r.Entries[i].Matched = hits[i].Score, hits[i].Matched
			if page.explain {
				r.Entries[i].Explanation = new(page.query.Explain(&hits[i]))
			}
		}
		if len(hits) == page.limit {
			r.NextCursor = s.pages.keep(page.after(hits))
		}
		return r, nil
	})
}

// bookKeeping tells of what a recall does beside answering. It is annotated as
// reading all the same: clients ask a person before anything else, and this is
// what a store keeps about its use, as others keep the time of an access.
func (s *Server) bookKeeping() string {
	if s.options.ReadOnly {
		return "nor does it make what is found stronger here."
	}
	return "that an entry was recalled is counted, and makes it fade more slowly unless reinforce is false."
}

// page returns the page that the arguments ask for: the first one of a query,
// or the one that a cursor leads to.
func (s *Server) page(in recallArguments) (page, error) {
	limit := in.Limit
	if in.Cursor == "" {
		query, err := in.query()
		if s.options.ReadOnly {
			query.NoReinforce = true
		}
		return page{query: query, limit: limit, explain: in.Explain}, err
	}
	if !in.onlyCursor() {
		return page{}, fmt.Errorf("%w: a cursor goes on with its own query; give it alone, or with limit", memory.ErrInvalid)
	}
	p, ok := s.pages.find(in.Cursor)
	if !ok {
		return page{}, fmt.Errorf("%w: the cursor is unknown or too old; ask the query again", memory.ErrInvalid)
	}
	p.limit = limit
	return p, nil
}

// onlyCursor reports whether nothing else is asked than a cursor and a limit.
// The schema has filled in the defaults.
func (in *recallArguments) onlyCursor() bool {
	bare := recallArguments{Cursor: in.Cursor, Limit: in.Limit, Ranking: memory.RankingQuestion.String(), Reinforce: true}
	return reflect.DeepEqual(*in, bare)
}

func (in *recallArguments) query() (memory.Query, error) {
	q := memory.Query{
		Filter: memory.Filter{
			Category: memory.Category(in.Category), Tags: in.Tags, Agent: in.Agent,
			AgentPrefix: in.AgentPrefix, MinStrength: in.MinStrength,
		},
		Text: in.Text, Embedding: in.QueryEmbedding, ExactWords: in.ExactWords,
		NoReinforce: !in.Reinforce, Window: in.Window,
	}
	var err error
	if q.Ranking, err = memory.ParseRanking(in.Ranking); err != nil {
		return q, err
	}
	if in.ExactWords {
		q.Ranking = memory.RankingComposite
	}
	if in.MemoryType != "" {
		memoryType, err := memory.ParseMemoryType(in.MemoryType)
		if err != nil {
			return q, err
		}
		q.MemoryType = &memoryType
	}
	if in.MaxConfidentiality != "" {
		level, err := memory.ParseConfidentiality(in.MaxConfidentiality)
		if err != nil {
			return q, err
		}
		q.MaxConfidentiality = &level
	}
	return q, nil
}

// page is a part of the answer to a query: the best entries but for those
// seen on the pages before.
//
// It is the query asked again, on the store as it is by then. So no entry
// comes twice, and none is passed over that was there all the time, whatever
// others store, change or recall between the pages.
type page struct {
	query   memory.Query
	limit   int
	explain bool
	seen    []uuid.UUID
}

func (p page) recall(ctx context.Context, store memory.Backend) ([]memory.Hit, error) {
	query := p.query
	query.Limit = p.limit + len(p.seen)
	if len(p.seen) > 0 {
		// The entries seen are among those that this recall counts as
		// accessed; paging must not make them stronger once more.
		query.NoReinforce = true
	}
	found, err := store.Recall(ctx, query)
	if err != nil {
		return nil, err
	}
	hits := slices.DeleteFunc(found.Hits, func(h memory.Hit) bool { return slices.Contains(p.seen, h.Entry.ID) })
	return hits[:min(p.limit, len(hits))], nil
}

// after returns the page that follows the one with these hits.
func (p page) after(hits []memory.Hit) page {
	p.seen = slices.Clone(p.seen)
	for i := range hits {
		p.seen = append(p.seen, hits[i].Entry.ID)
	}
	return p
}
