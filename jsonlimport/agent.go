package jsonlimport

import (
	"errors"
	"io"
	"iter"
	"math"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Agent is the form of the memory entries of heartbit agents, one a line:
//
//	{"id":"m1","agent":"tg:123:assistant","content":"…","category":"fact",
//	 "tags":["…"],"created_at":"2026-01-05T08:30:00.123456Z",
//	 "last_accessed":"2026-02-01T00:00:00+02:00","access_count":3}
//
// These fields must be there. Further fields are importance, memory_type,
// keywords, summary, strength, related_ids, source_ids, embedding,
// confidentiality, author_user_id and author_tenant_id; those that the form
// knows as optional may be null. Other fields are ignored with a warning.
//
// Ids are free text. One that is a UUID is taken as it is; from any other a
// UUID is derived (version 5), always the same one, so that importing again
// finds the entry and links lead to it. The original id is kept in the
// attribute original_id, and written again by Write.
//
// As links lead from agent to agent, an id that is no UUID stands for one
// entry, whichever agent it belongs to. If two agents have given their own
// entries the same id, that is a fault of the second line, and OwnIDs is the
// way out.
type Agent struct {
	// OwnIDs says that each agent has ids of its own, as in files put
	// together from several. Ids are then derived from that of the agent as
	// well, and links lead to entries of the same agent. The form is then
	// called agent-own-ids, and never recognized by itself.
	OwnIDs bool
}

// agentIDs is the namespace of the UUIDs derived from free ids. It must never
// change, or importing again would double what is stored.
var agentIDs = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/loopmem/loopmem/jsonlimport/agent"))

const originalID = "original_id"

// Name implements [Format].
func (a Agent) Name() string {
	if a.OwnIDs {
		return "agent-own-ids"
	}
	return "agent"
}

// Detect implements [Format].
func (a Agent) Detect(keys []string) bool { return !a.OwnIDs && hasKey(keys, "content") }

// Reader implements [Format].
func (a Agent) Reader(FileInfo) Reader { return &agentReader{form: a} }

type agentReader struct {
	form    Agent
	ignored []string
}

func (r *agentReader) Entries(line []byte) ([]memory.Entry, error) {
	o := parseObject(line)
	original := required(o, "id", asText)
	agent := required(o, "agent", asText)
	asAgentID := func(v value) (uuid.UUID, error) { return r.form.asID(agent, v) }
	entry := memory.Entry{
		ID:              required(o, "id", asAgentID),
		Agent:           agent,
		Memory:          required(o, "content", asText),
		Category:        memory.Category(required(o, "category", asText)),
		Tags:            required(o, "tags", asList(asText)),
		CreatedAt:       required(o, "created_at", asTime),
		LastAccessed:    new(required(o, "last_accessed", asTime)),
		AccessCount:     required(o, "access_count", asUint(math.MaxInt64)),
		Importance:      optional(o, "importance", asUint8, memory.DefaultImportance),
		MemoryType:      optional(o, "memory_type", named(memory.ParseMemoryType), memory.Episodic),
		Keywords:        optional(o, "keywords", asList(asText), nil),
		Summary:         nullable(o, "summary", asText),
		Strength:        optional(o, "strength", asFloat64, memory.DefaultStrength),
		RelatedIDs:      optional(o, "related_ids", asList(asAgentID), nil),
		SourceIDs:       optional(o, "source_ids", asList(asAgentID), nil),
		Embedding:       nullable(o, "embedding", asList(asFloat32)),
		Confidentiality: optional(o, "confidentiality", named(memory.ParseConfidentiality), memory.Public),
		AuthorUserID:    nullable(o, "author_user_id", asText),
		AuthorTenantID:  nullable(o, "author_tenant_id", asText),
		Relevance:       memory.DefaultRelevance,
	}
	if _, err := memory.ParseID(original); err != nil {
		entry.Attributes = map[string]string{originalID: original}
	}
	if o.err != nil {
		return nil, o.err
	}
	if err := entry.Validate(); err != nil {
		return nil, err
	}
	r.ignored = o.unknown()
	return []memory.Entry{entry}, nil
}

func (r *agentReader) Ignored() []string { return r.ignored }

func (r *agentReader) End() []string { return nil }

// asID reads a free id of an agent.
func (a Agent) asID(agent string, v value) (uuid.UUID, error) {
	text, err := asText(v)
	if err != nil {
		return uuid.Nil, err
	}
	if text == "" {
		return uuid.Nil, errors.New("is empty; expected an id")
	}
	if id, err := memory.ParseID(text); err == nil {
		return id, nil
	}
	return a.derive(agent, text), nil
}

// derive returns the UUID of an id that is none. No text holds a NUL, so that
// the two kinds of names cannot meet.
func (a Agent) derive(agent, id string) uuid.UUID {
	if a.OwnIDs {
		id = agent + "\x00" + id
	}
	return uuid.NewSHA1(agentIDs, []byte(id))
}

// original returns the id from which that of the entry was derived, or "".
func (a Agent) original(e *memory.Entry) string {
	original := e.Attributes[originalID]
	if original == "" || a.derive(e.Agent, original) != e.ID {
		return ""
	}
	return original
}

// owner implements [owned].
func (a Agent) owner(e *memory.Entry) (agent, id string) {
	if id := a.original(e); id != "" {
		return e.Agent, id
	}
	return "", ""
}

// named reads one of a set of names.
func named[T any](parse func(string) (T, error)) func(value) (T, error) {
	return func(v value) (T, error) {
		text, err := asText(v)
		if err != nil {
			return *new(T), err
		}
		return parse(text)
	}
}

// agentLine is an entry as heartbit writes it.
type agentLine struct {
	ID              string    `json:"id"`
	Agent           string    `json:"agent"`
	Content         string    `json:"content"`
	Category        string    `json:"category"`
	Tags            []string  `json:"tags"`
	CreatedAt       time.Time `json:"created_at"`
	LastAccessed    time.Time `json:"last_accessed"`
	AccessCount     uint64    `json:"access_count"`
	Importance      uint8     `json:"importance"`
	MemoryType      string    `json:"memory_type"`
	Keywords        []string  `json:"keywords"`
	Summary         *string   `json:"summary"`
	Strength        float64   `json:"strength"`
	RelatedIDs      []string  `json:"related_ids"`
	SourceIDs       []string  `json:"source_ids"`
	Embedding       []float32 `json:"embedding,omitzero"`
	Confidentiality string    `json:"confidentiality"`
	AuthorUserID    string    `json:"author_user_id,omitzero"`
	AuthorTenantID  string    `json:"author_tenant_id,omitzero"`
}

// ownIDs implements [owned].
func (Agent) ownIDs() Format { return Agent{OwnIDs: true} }

// Write implements [Format]. Entries that were never accessed get the time of
// their creation as last_accessed, as heartbit does it.
//
// A link may lead to an entry that comes later, and is written with the original
// id of that one; so all are read, to a temporary file, before the first is
// written.
func (a Agent) Write(w io.Writer, entries iter.Seq2[memory.Entry, error]) error {
	type owned struct{ agent, id string }
	originals := make(map[uuid.UUID]owned)
	all, err := newSpool()
	if err != nil {
		return err
	}
	defer all.close()
	for entry, err := range entries {
		if err == nil {
			err = all.add(&entry)
		}
		if err != nil {
			return err
		}
		if id := a.original(&entry); id != "" {
			originals[entry.ID] = owned{entry.Agent, id}
		}
	}
	name := func(agent string, id uuid.UUID) string {
		original, ok := originals[id]
		if !ok || a.OwnIDs && original.agent != agent {
			return id.String()
		}
		return original.id
	}
	names := func(agent string, ids []uuid.UUID) []string {
		var out []string
		for _, id := range ids {
			out = append(out, name(agent, id))
		}
		return out
	}
	for e, err := range all.entries() {
		if err != nil {
			return err
		}
		line := agentLine{
			ID:              name(e.Agent, e.ID),
			Agent:           e.Agent,
			Content:         e.Memory,
			Category:        string(e.Category),
			Tags:            e.Tags,
			CreatedAt:       e.CreatedAt,
			LastAccessed:    e.CreatedAt,
			AccessCount:     e.AccessCount,
			Importance:      e.Importance,
			MemoryType:      e.MemoryType.String(),
			Keywords:        e.Keywords,
			Strength:        e.Strength,
			RelatedIDs:      names(e.Agent, e.RelatedIDs),
			SourceIDs:       names(e.Agent, e.SourceIDs),
			Embedding:       e.Embedding,
			Confidentiality: e.Confidentiality.String(),
			AuthorUserID:    e.AuthorUserID,
			AuthorTenantID:  e.AuthorTenantID,
		}
		if e.LastAccessed != nil {
			line.LastAccessed = *e.LastAccessed
		}
		if e.Summary != "" {
			line.Summary = &e.Summary
		}
		if err := writeLine(w, line); err != nil {
			return err
		}
	}
	return nil
}

// Project implements [Format].
func (a Agent) Project(e memory.Entry) memory.Entry {
	if e.LastAccessed == nil {
		e.LastAccessed = &e.CreatedAt
	}
	e.Relevance, e.Validated, e.LastDecayed, e.Pinned = memory.DefaultRelevance, false, nil, false
	original := a.original(&e)
	e.Attributes = nil
	if original != "" {
		e.Attributes = map[string]string{originalID: original}
	}
	return e
}

// writeLine writes a value as a line of JSON.
func writeLine(w io.Writer, value any) error {
	line, err := json.Marshal(value, jsontext.AllowDuplicateNames(false))
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
