package jsonlimport

import (
	"errors"
	"io"
	"iter"
	"math"
	"slices"
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
type Agent struct{}

// agentIDs is the namespace of the UUIDs derived from free ids. It must never
// change, or importing again would double what is stored.
var agentIDs = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/loopmem/loopmem/jsonlimport/agent"))

const originalID = "original_id"

// Name implements [Format].
func (Agent) Name() string { return "agent" }

// Detect implements [Format].
func (Agent) Detect(keys []string) bool { return hasKey(keys, "content") }

// Reader implements [Format].
func (Agent) Reader(FileInfo) Reader { return &agentReader{} }

type agentReader struct{ unknownFields }

func (r *agentReader) Entries(line []byte) ([]memory.Entry, error) {
	o := parseObject(line)
	original := required(o, "id", asText)
	entry := memory.Entry{
		ID:              required(o, "id", asAgentID),
		Agent:           required(o, "agent", asText),
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
	r.note(o)
	return []memory.Entry{entry}, nil
}

// asAgentID reads a free id.
func asAgentID(v value) (uuid.UUID, error) {
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
	return uuid.NewSHA1(agentIDs, []byte(text)), nil
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

// Write implements [Format]. Entries that were never accessed get the time of
// their creation as last_accessed, as heartbit does it.
//
// It ranges over the entries twice: a link may lead to one that comes later,
// and is written with the original id of that one.
func (Agent) Write(w io.Writer, entries iter.Seq2[memory.Entry, error]) error {
	originals := make(map[uuid.UUID]string)
	for entry, err := range entries {
		if err != nil {
			return err
		}
		if id := entry.Attributes[originalID]; id != "" {
			originals[entry.ID] = id
		}
	}
	name := func(id uuid.UUID) string {
		if original, ok := originals[id]; ok {
			return original
		}
		return id.String()
	}
	names := func(ids []uuid.UUID) []string {
		var out []string
		for _, id := range ids {
			out = append(out, name(id))
		}
		return out
	}
	for e, err := range entries {
		if err != nil {
			return err
		}
		line := agentLine{
			ID:              name(e.ID),
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
			RelatedIDs:      names(e.RelatedIDs),
			SourceIDs:       names(e.SourceIDs),
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
func (Agent) Project(e memory.Entry) memory.Entry {
	if e.LastAccessed == nil {
		e.LastAccessed = &e.CreatedAt
	}
	e.Relevance, e.Validated, e.LastDecayed, e.Pinned = memory.DefaultRelevance, false, nil, false
	original, ok := e.Attributes[originalID]
	e.Attributes = nil
	if ok {
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

// unknownFields remembers which fields a reader ignored, for its End.
type unknownFields struct{ names []string }

// maxUnknown bounds how many are remembered: a person needs some of them.
const maxUnknown = 20

func (u *unknownFields) note(o *object) {
	for _, name := range o.unknown() {
		if len(u.names) < maxUnknown && !slices.Contains(u.names, name) {
			u.names = append(u.names, name)
		}
	}
}

// End implements [Reader].
func (u *unknownFields) End() []string {
	if len(u.names) == 0 {
		return nil
	}
	return []string{"these fields are unknown and were ignored: " + joinNames(u.names)}
}
