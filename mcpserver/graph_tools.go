package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// addGraphTools offers the tools of the official knowledge-graph server, under
// its names and with its arguments and results. What differs:
//
//   - An entity or relation that comes twice in one call is created once.
//   - Calls that create one name with two types at the same moment create two
//     entities; there, one call would undo the other.
//   - Arguments that the schema does not have are refused, and what is wrong
//     with a call is said in other words.
//   - A call that deletes several things removes them one after the other; one
//     that fails half way can be repeated.
//   - An imported entity that loses all its observations moves to the end.
//   - The line separators U+2028 and U+2029 are escaped in the text form.
//   - A relative path of the file is one from the folder the server starts in.
//     The file is read once, and never written.
//   - There are no subscriptions.
func (s *Server) addGraphTools() {
	s.addCreating()
	s.addDeleting()
	s.addReading()
}

// writer makes the entries of a call.
func (s *Server) writer() graphWriter {
	return graphWriter{agent: s.write.Namespace, now: time.Now()}
}

type entities struct {
	Entities []entity `json:"entities"`
}

func (e entities) text() string { return indented(e.Entities) }

type relations struct {
	Relations []relation `json:"relations"`
}

func (r relations) text() string { return indented(r.Relations) }

type newObservations struct {
	Observations []struct {
		EntityName string   `json:"entityName" jsonschema:"The name of an entity that exists."`
		Contents   []string `json:"contents" jsonschema:"What to add to what is known about it."`
	} `json:"observations"`
}

type added struct {
	EntityName        string   `json:"entityName"`
	AddedObservations []string `json:"addedObservations"`
}

type results struct {
	Results []added `json:"results"`
}

func (r results) text() string { return indented(r.Results) }

func (s *Server) addCreating() {
	addTool(s, &mcp.Tool{
		Name: "create_entities", Title: "Create Entities", Annotations: adding(false),
		Description: "Add entities to the knowledge graph, with what is known about them. Those whose name exists stay as they are.",
	}, func(ctx context.Context, store memory.Backend, in entities) (entities, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return entities{}, err
		}
		out, batch := entities{Entities: []entity{}}, []memory.Entry(nil)
		for _, e := range in.Entities {
			if g.node(e.Name) != nil {
				continue
			}
			entries, err := s.writer().entity(e)
			if err != nil {
				return entities{}, err
			}
			batch = append(batch, entries...)
			g.nodes = append(g.nodes, &node{entity: e})
			out.Entities = append(out.Entities, e)
		}
		_, err = store.StoreBatch(ctx, batch, memory.Keep)
		return out, err
	})

	addTool(s, &mcp.Tool{
		Name: "create_relations", Title: "Create Relations", Annotations: adding(false),
		Description: "Connect entities of the knowledge graph. Relations that exist stay as they are.",
	}, func(ctx context.Context, store memory.Backend, in relations) (relations, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return relations{}, err
		}
		out, batch := relations{Relations: []relation{}}, []memory.Entry(nil)
		for _, r := range in.Relations {
			if g.has(r) {
				continue
			}
			entries, err := s.writer().relation(r)
			if err != nil {
				return relations{}, err
			}
			batch = append(batch, entries...)
			g.edges = append(g.edges, edge{relation: r})
			out.Relations = append(out.Relations, r)
		}
		_, err = store.StoreBatch(ctx, batch, memory.Keep)
		return out, err
	})

	addTool(s, &mcp.Tool{
		Name: "add_observations", Title: "Add Observations", Annotations: adding(false),
		Description: "Add to what is known about entities of the knowledge graph. What is known already is not added again.",
	}, func(ctx context.Context, store memory.Backend, in newObservations) (results, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return results{}, err
		}
		out, batch := results{Results: []added{}}, []memory.Entry(nil)
		for _, o := range in.Observations {
			n := g.node(o.EntityName)
			if n == nil {
				// The other server's words.
				return results{}, fmt.Errorf("Entity with name %s not found", o.EntityName)
			}
			fresh := slices.DeleteFunc(slices.Clone(o.Contents), func(text string) bool { return slices.Contains(n.Observations, text) })
			entries, err := s.writer().observations(entity{n.Name, n.EntityType, fresh})
			if err != nil {
				return results{}, err
			}
			batch = append(batch, entries...)
			n.Observations = append(n.Observations, fresh...)
			out.Results = append(out.Results, added{o.EntityName, append([]string{}, fresh...)})
		}
		_, err = store.StoreBatch(ctx, batch, memory.Keep)
		return out, err
	})
}

type deleted struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

func (d deleted) text() string { return d.Message }

func (s *Server) addDeleting() {
	addTool(s, &mcp.Tool{
		Name: "delete_entities", Title: "Delete Entities", Annotations: destroying(true),
		Description: "Remove entities from the knowledge graph, with all that is known about them and all their relations.",
	}, func(ctx context.Context, store memory.Backend, in struct {
		EntityNames []string `json:"entityNames" jsonschema:"The names of the entities."`
	}) (deleted, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return deleted{}, err
		}
		gone := func(name string) bool { return slices.Contains(in.EntityNames, name) }
		var ids []uuid.UUID
		for _, n := range g.nodes {
			if gone(n.Name) {
				ids = append(append(ids, n.self), n.ids...)
			}
		}
		for _, e := range g.edges {
			if gone(e.From) || gone(e.To) {
				ids = append(ids, e.id)
			}
		}
		return deleted{true, "Entities deleted successfully"}, forgetAll(ctx, store, ids)
	})

	addTool(s, &mcp.Tool{
		Name: "delete_observations", Title: "Delete Observations", Annotations: destroying(true),
		Description: "Remove some of what is known about entities of the knowledge graph. The entities stay.",
	}, func(ctx context.Context, store memory.Backend, in struct {
		Deletions []struct {
			EntityName   string   `json:"entityName" jsonschema:"The name of the entity."`
			Observations []string `json:"observations" jsonschema:"The observations to remove, word for word."`
		} `json:"deletions"`
	}) (deleted, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return deleted{}, err
		}
		var kept []memory.Entry
		var ids []uuid.UUID
		for _, d := range in.Deletions {
			n := g.node(d.EntityName)
			if n == nil {
				continue
			}
			if n.self == uuid.Nil {
				// It was known by its observations alone.
				self, err := s.writer().self(n.Name, n.EntityType)
				if err != nil {
					return deleted{}, err
				}
				kept = append(kept, self...)
			}
			for i, text := range n.Observations {
				if slices.Contains(d.Observations, text) {
					ids = append(ids, n.ids[i])
				}
			}
		}
		if _, err := store.StoreBatch(ctx, kept, memory.Keep); err != nil {
			return deleted{}, err
		}
		return deleted{true, "Observations deleted successfully"}, forgetAll(ctx, store, ids)
	})

	addTool(s, &mcp.Tool{
		Name: "delete_relations", Title: "Delete Relations", Annotations: destroying(true),
		Description: "Remove relations from the knowledge graph. The entities stay.",
	}, func(ctx context.Context, store memory.Backend, in relations) (deleted, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return deleted{}, err
		}
		var ids []uuid.UUID
		for _, e := range g.edges {
			if slices.Contains(in.Relations, e.relation) {
				ids = append(ids, e.id)
			}
		}
		return deleted{true, "Relations deleted successfully"}, forgetAll(ctx, store, ids)
	})
}

func (s *Server) addReading() {
	addTool(s, &mcp.Tool{
		Name: "read_graph", Title: "Read Graph", Annotations: reading(),
		Description: "Return the whole knowledge graph. It may be long; search_nodes and open_nodes return parts of it.",
	}, func(ctx context.Context, store memory.Backend, _ struct{}) (part, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return part{}, err
		}
		return g.whole(), nil
	})

	addTool(s, &mcp.Tool{
		Name: "search_nodes", Title: "Search Nodes", Annotations: reading(),
		Description: "Find entities of the knowledge graph by a text in their name, their type or what is known about them, with their relations.",
	}, func(ctx context.Context, store memory.Backend, in struct {
		Query string `json:"query" jsonschema:"The text to look for, as a whole; case does not matter."`
	}) (part, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return part{}, err
		}
		query := memory.Lower(in.Query)
		contains := func(text string) bool { return strings.Contains(memory.Lower(text), query) }
		return g.around(func(n *node) bool {
			return contains(n.Name) || contains(n.EntityType) || slices.ContainsFunc(n.Observations, contains)
		}), nil
	})

	addTool(s, &mcp.Tool{
		Name: "open_nodes", Title: "Open Nodes", Annotations: reading(),
		Description: "Return entities of the knowledge graph by their names, with their relations.",
	}, func(ctx context.Context, store memory.Backend, in struct {
		Names []string `json:"names" jsonschema:"The names of the entities."`
	}) (part, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return part{}, err
		}
		return g.around(func(n *node) bool { return slices.Contains(in.Names, n.Name) }), nil
	})
}

const graphURI = "memory://knowledge-graph"

// addGraphResource offers what read_graph returns to clients that let a
// person attach it.
func (s *Server) addGraphResource() {
	s.addResource(&mcp.Resource{
		Name: "knowledge-graph", Title: "Knowledge Graph", URI: graphURI, MIMEType: "application/json",
		Description: "The whole knowledge graph: all entities and relations.",
	}, func(ctx context.Context, store memory.Backend, _ string) (string, error) {
		g, err := loadGraph(ctx, store)
		if err != nil {
			return "", err
		}
		return g.whole().text(), nil
	})
}
