package jsonlimport

import (
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Graph is the form of memory.jsonl, the file of the official MCP
// knowledge-graph server (@modelcontextprotocol/server-memory). Each line is
// an entity with its observations, or a relation:
//
//	{"type":"entity","name":"Ada","entityType":"person","observations":["…"]}
//	{"type":"relation","from":"Ada","to":"Initech","relationType":"works_at"}
//
// Every observation becomes an entry, every relation becomes one that reads
// "Ada works_at Initech", and an entity without observations one with its
// name. Names and types are kept as tags and keywords, so that they are
// found, and as the attributes graph (entity, observation or relation),
// entity, entity_type, from, to and relation_type, from which Write makes the
// same graph again. The entries are pinned, because that server never
// forgets. Their ids are derived from the content (UUID version 5), so that
// importing again finds them.
//
// The form has no times: entries are as old as the file. A relation to an
// entity that the file does not have is kept, with a warning. The reader
// keeps the names of all entities in memory.
type Graph struct{}

// graphIDs is the namespace of the derived UUIDs; see agentIDs.
var graphIDs = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/loopmem/loopmem/jsonlimport/graph"))

// The attributes of entries that come from a graph.
const (
	graphKind         = "graph"
	graphEntity       = "entity"
	graphEntityType   = "entity_type"
	graphFrom         = "from"
	graphTo           = "to"
	graphRelationType = "relation_type"

	// GraphFileAttribute marks an entry that notes that the graph of a file was
	// brought into the store. It is about the graph and no part of it, so that
	// an export to this form leaves it out.
	GraphFileAttribute = "graph_file"

	kindEntity      = "entity"
	kindObservation = "observation"
	kindRelation    = "relation"
)

// Name implements [Format].
func (Graph) Name() string { return "graph" }

// Detect implements [Format].
func (Graph) Detect(keys []string) bool {
	return hasKey(keys, "entityType") || hasKey(keys, "relationType") || hasKey(keys, "observations") ||
		hasKey(keys, "type") && (hasKey(keys, "name") || hasKey(keys, "from") || hasKey(keys, "to"))
}

// Reader implements [Format].
func (Graph) Reader(info FileInfo) Reader {
	return &graphReader{modTime: info.ModTime, entities: make(map[string]bool), ends: make(map[string]int)}
}

type graphReader struct {
	ignored  []string
	modTime  time.Time
	entities map[string]bool
	ends     map[string]int // names that relations lead from and to, with how many do
}

func (r *graphReader) Entries(line []byte) ([]memory.Entry, error) {
	o := parseObject(line)
	kind := required(o, "type", asText)
	var entries []memory.Entry
	switch {
	case o.err != nil:
		return nil, o.err
	case kind == kindEntity:
		entries = r.entity(o)
	case kind == kindRelation:
		entries = []memory.Entry{r.relation(o)}
	default:
		o.fail("type", fmt.Errorf("is %q; expected %q or %q", shorten(kind), kindEntity, kindRelation))
	}
	if o.err != nil {
		return nil, o.err
	}
	for i := range entries {
		if err := entries[i].Validate(); err != nil {
			return nil, err
		}
	}
	r.ignored = o.unknown()
	return entries, nil
}

func (r *graphReader) Ignored() []string { return r.ignored }

func (r *graphReader) entity(o *object) []memory.Entry {
	name := required(o, "name", asText)
	entityType := required(o, "entityType", asText)
	observations := required(o, "observations", asList(asText))
	if o.err == nil {
		r.entities[name] = true
	}
	entry := func(kind, text string, key ...string) memory.Entry {
		e := graphEntry(text, []string{name, entityType}, map[string]string{
			graphKind: kind, graphEntity: name, graphEntityType: entityType,
		})
		e.ID = graphID(append([]string{kind, name, entityType}, key...))
		e.CreatedAt = r.modTime
		return e
	}
	if len(observations) == 0 {
		return []memory.Entry{entry(kindEntity, name)}
	}
	entries := make([]memory.Entry, len(observations))
	seen := make(map[string]int)
	for i, text := range observations {
		// The server lets an observation be there twice. The number tells
		// them apart, so that the second is not lost.
		entries[i] = entry(kindObservation, text, text, strconv.Itoa(seen[text]))
		seen[text]++
	}
	return entries
}

func (r *graphReader) relation(o *object) memory.Entry {
	from := required(o, "from", asText)
	to := required(o, "to", asText)
	relationType := required(o, "relationType", asText)
	if o.err == nil {
		r.ends[from]++
		r.ends[to]++
	}
	e := graphEntry(from+" "+relationType+" "+to, []string{from, to}, map[string]string{
		graphKind: kindRelation, graphFrom: from, graphTo: to, graphRelationType: relationType,
	})
	e.ID = graphID([]string{kindRelation, from, relationType, to})
	e.CreatedAt = r.modTime
	return e
}

// graphEntry makes an entry that still lacks its id and its time.
func graphEntry(text string, names []string, attributes map[string]string) memory.Entry {
	return memory.Entry{
		Category:   memory.Fact,
		Memory:     text,
		Tags:       names,
		Relevance:  memory.DefaultRelevance,
		Importance: memory.DefaultImportance,
		MemoryType: memory.Semantic,
		Keywords:   slices.Clone(names),
		Strength:   memory.DefaultStrength,
		Attributes: attributes,
		Pinned:     true,
	}
}

// graphID derives an id from what an entry says. No part of a key holds a
// NUL, so joining them is unambiguous.
func graphID(key []string) uuid.UUID {
	return uuid.NewSHA1(graphIDs, []byte(strings.Join(key, "\x00")))
}

// End implements [Reader].
func (r *graphReader) End() []string {
	var notes []string
	for _, name := range slices.Sorted(maps.Keys(r.ends)) {
		if !r.entities[name] {
			notes = append(notes, fmt.Sprintf("%q is no entity of this file; %s to or from it kept",
				shorten(name), english.Plural(r.ends[name], "relation", "")))
		}
	}
	return notes
}

type graphEntityLine struct {
	Type         string   `json:"type"`
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
}

type graphRelationLine struct {
	Type         string `json:"type"`
	From         string `json:"from"`
	To           string `json:"to"`
	RelationType string `json:"relationType"`
}

// Write implements [Format]. Entities come first, then relations, each in the
// order of the entries. An entry that came from no graph becomes an entity
// whose name is its id, whose type is its category and whose only observation
// is its text. The graph is held in memory, as that server does too.
func (Graph) Write(w io.Writer, entries iter.Seq2[memory.Entry, error]) error {
	var entities []*graphEntityLine
	var relations []graphRelationLine
	byName := make(map[[2]string]*graphEntityLine)
	for e, err := range entries {
		if err != nil {
			return err
		}
		name, entityType, observed := e.Attributes[graphEntity], e.Attributes[graphEntityType], true
		switch e.Attributes[graphKind] {
		case kindRelation:
			relations = append(relations, graphRelationLine{
				Type: kindRelation, From: e.Attributes[graphFrom], To: e.Attributes[graphTo],
				RelationType: e.Attributes[graphRelationType],
			})
			continue
		case kindObservation:
		case kindEntity:
			observed = false
		default:
			name, entityType = e.ID.String(), string(e.Category)
		}
		entity := byName[[2]string{name, entityType}]
		if entity == nil {
			entity = &graphEntityLine{Type: kindEntity, Name: name, EntityType: entityType}
			byName[[2]string{name, entityType}] = entity
			entities = append(entities, entity)
		}
		if observed {
			entity.Observations = append(entity.Observations, e.Memory)
		}
	}
	for _, entity := range entities {
		if err := writeLine(w, entity); err != nil {
			return err
		}
	}
	for _, relation := range relations {
		if err := writeLine(w, relation); err != nil {
			return err
		}
	}
	return nil
}

// leavesOut implements [selective].
func (Graph) leavesOut(e *memory.Entry) bool {
	_, isNote := e.Attributes[GraphFileAttribute]
	return isNote
}

// Project implements [Format].
func (Graph) Project(e memory.Entry) memory.Entry {
	var names, kept []string
	switch e.Attributes[graphKind] {
	case kindEntity, kindObservation:
		names, kept = []string{graphEntity, graphEntityType}, []string{graphKind, graphEntity, graphEntityType}
	case kindRelation:
		names, kept = []string{graphFrom, graphTo}, []string{graphKind, graphFrom, graphTo, graphRelationType}
	default:
		return memory.Entry{}
	}
	attributes := make(map[string]string)
	for _, key := range kept {
		attributes[key] = e.Attributes[key]
	}
	for i, key := range names {
		names[i] = attributes[key]
	}
	out := graphEntry(e.Memory, names, attributes)
	out.ID = e.ID
	return out
}
