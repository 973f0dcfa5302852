package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// A knowledge graph is kept in the entries that [jsonlimport.Graph] makes of
// one: an entry for each observation and each relation, and one for each
// entity as such. So it can be imported and exported, and what it says is
// found by memory_recall too. These are the attributes that tell them.
const (
	attributeKind         = "graph"
	attributeEntity       = "entity"
	attributeEntityType   = "entity_type"
	attributeFrom         = "from"
	attributeTo           = "to"
	attributeRelationType = "relation_type"
)

// entity and relation have the form that the tools take and return.
type entity struct {
	Name         string   `json:"name" jsonschema:"The name, by which relations and observations refer to it."`
	EntityType   string   `json:"entityType" jsonschema:"What kind of thing it is, such as person or project."`
	Observations []string `json:"observations" jsonschema:"What is known about it, one fact each."`
}

type relation struct {
	From         string `json:"from" jsonschema:"The name of the entity that it starts from."`
	To           string `json:"to" jsonschema:"The name of the entity that it leads to."`
	RelationType string `json:"relationType" jsonschema:"What the first is or does to the second, in active voice: works_at."`
}

// graph is the knowledge graph of a store at one moment.
type graph struct {
	nodes []*node
	edges []edge
}

// node is an entity with the entries that it is made of.
type node struct {
	entity
	self uuid.UUID   // the entry of the entity as such; zero after an import of one with observations
	ids  []uuid.UUID // those of the observations, in their order
}

type edge struct {
	relation
	id uuid.UUID
}

// loadGraph reads the graph. It reads every entry of the kind, as the server
// does that this one stands in for.
func loadGraph(ctx context.Context, store memory.Backend) (*graph, error) {
	g := &graph{}
	byKey := make(map[[2]string]*node)
	selection := memory.Selection{Filter: memory.Filter{Category: memory.Fact, MemoryType: new(memory.Semantic)}}
	for e, err := range store.Entries(ctx, selection) {
		if err != nil {
			return nil, err
		}
		switch e.Attributes[attributeKind] {
		case "relation":
			g.edges = append(g.edges, edge{relation{
				From: e.Attributes[attributeFrom], To: e.Attributes[attributeTo], RelationType: e.Attributes[attributeRelationType],
			}, e.ID})
		case "entity", "observation":
			key := [2]string{e.Attributes[attributeEntity], e.Attributes[attributeEntityType]}
			n := byKey[key]
			if n == nil {
				n = &node{entity: entity{Name: key[0], EntityType: key[1], Observations: []string{}}}
				byKey[key] = n
				g.nodes = append(g.nodes, n)
			}
			if e.Attributes[attributeKind] == "entity" {
				n.self = e.ID
			} else {
				n.Observations = append(n.Observations, e.Memory)
				n.ids = append(n.ids, e.ID)
			}
		}
	}
	return g, nil
}

// node returns the first entity of that name, or nil.
func (g *graph) node(name string) *node {
	i := slices.IndexFunc(g.nodes, func(n *node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return g.nodes[i]
}

func (g *graph) has(r relation) bool {
	return slices.ContainsFunc(g.edges, func(e edge) bool { return e.relation == r })
}

// part is what the tools that read return.
type part struct {
	Entities  []entity   `json:"entities"`
	Relations []relation `json:"relations"`
}

func (p part) text() string { return indented(p) }

// whole returns the graph as it is returned.
func (g *graph) whole() part {
	p := part{Entities: []entity{}, Relations: []relation{}}
	for _, n := range g.nodes {
		p.Entities = append(p.Entities, n.entity)
	}
	for _, e := range g.edges {
		p.Relations = append(p.Relations, e.relation)
	}
	return p
}

// around returns the entities that match, with the relations from and to them.
func (g *graph) around(matches func(*node) bool) part {
	p := part{Entities: []entity{}, Relations: []relation{}}
	names := make(map[string]bool)
	for _, n := range g.nodes {
		if matches(n) {
			p.Entities = append(p.Entities, n.entity)
			names[n.Name] = true
		}
	}
	for _, e := range g.edges {
		if names[e.From] || names[e.To] {
			p.Relations = append(p.Relations, e.relation)
		}
	}
	return p
}

// graphWriter makes the entries of a graph in one namespace.
type graphWriter struct {
	agent string
	now   time.Time
}

// entity returns the entries of an entity: its own and its observations.
func (w graphWriter) entity(e entity) ([]memory.Entry, error) {
	self, err := w.self(e.Name, e.EntityType)
	if err != nil || len(e.Observations) == 0 {
		return self, err
	}
	observations, err := w.observations(e)
	return append(self, observations...), err
}

// self returns the entry of an entity as such.
func (w graphWriter) self(name, entityType string) ([]memory.Entry, error) {
	return w.entries(entityLine{"entity", entity{name, entityType, []string{}}})
}

func (w graphWriter) observations(e entity) ([]memory.Entry, error) {
	if len(e.Observations) == 0 {
		return nil, nil
	}
	return w.entries(entityLine{"entity", e})
}

func (w graphWriter) relation(r relation) ([]memory.Entry, error) {
	return w.entries(relationLine{"relation", r})
}

// The lines of the file of such a graph.
type entityLine struct {
	Type string `json:"type"`
	entity
}

type relationLine struct {
	Type string `json:"type"`
	relation
}

// entries lets the importer make the entries, so that both give the same
// thing the same id: what is created twice, by two servers at once even, is
// there once.
func (w graphWriter) entries(line any) ([]memory.Entry, error) {
	raw, err := json.Marshal(line)
	if err != nil {
		return nil, err
	}
	entries, err := jsonlimport.Graph{}.Reader(jsonlimport.FileInfo{ModTime: w.now}).Entries(raw)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		entries[i].ID = w.own(entries[i].ID)
	}
	return entries, nil
}

// own makes an id that is derived from the content one of the namespace: the
// same content may be in another one as well.
func (w graphWriter) own(id uuid.UUID) uuid.UUID {
	if w.agent == "" {
		return id
	}
	return uuid.NewSHA1(id, []byte(w.agent))
}

// forgetAll removes entries, one by one; those that are gone already do not
// matter.
func forgetAll(ctx context.Context, store memory.Backend, ids []uuid.UUID) error {
	for i, id := range ids {
		if id == uuid.Nil {
			continue
		}
		if _, err := store.Forget(ctx, id); err != nil {
			return &partialError{done: i, of: len(ids), err: err}
		}
	}
	return nil
}

// indented writes JSON the way JavaScript does, for results that are read as
// text by clients of the other server.
func indented(value any) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		panic(err) // texts in lists and structs, which always can be written
	}
	return strings.TrimSuffix(b.String(), "\n")
}
