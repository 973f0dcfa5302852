package mcpserver_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/mcpserver"
	"github.com/loopmem/loopmem/memory"
)

type (
	node struct {
		Name         string   `json:"name"`
		EntityType   string   `json:"entityType"`
		Observations []string `json:"observations"`
	}
	edge struct {
		From         string `json:"from"`
		To           string `json:"to"`
		RelationType string `json:"relationType"`
	}
	graph struct {
		Entities  []node `json:"entities"`
		Relations []edge `json:"relations"`
	}
)

func (c *client) graph() graph {
	c.t.Helper()
	var g graph
	c.must("read_graph", arguments{}, &g)
	return g
}

var (
	ada     = node{"Ada", "person", []string{"drinks tea", "says \"<b>\"\n"}}
	initech = node{"Initech", "company", []string{}}
	works   = edge{"Ada", "Initech", "works_at"}
)

func TestGraph_isInTheSameStore(t *testing.T) {
	s := newSource(t, memory.NewEntry(memory.Fact, "no graph"))
	c := connect(t, s, mcpserver.Options{Graph: true})
	c.must("create_entities", arguments{"entities": []node{ada, initech}}, nil)
	c.must("create_relations", arguments{"relations": []edge{works}}, nil)
	want := graph{[]node{ada, initech}, []edge{works}}
	if diff := cmp.Diff(want, c.graph()); diff != "" {
		t.Errorf("read_graph (-want +got):\n%s", diff)
	}

	var exported bytes.Buffer
	if _, err := jsonlimport.Export(t.Context(), s.Store, memory.Selection{}, jsonlimport.Graph{}, &exported); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		`{"type":"entity","name":"Ada","entityType":"person","observations":["drinks tea","says \"<b>\"\n"]}`,
		`{"type":"entity","name":"Initech","entityType":"company","observations":[]}`,
		`{"type":"relation","from":"Ada","to":"Initech","relationType":"works_at"}`,
	} {
		if !strings.Contains(exported.String(), line+"\n") {
			t.Errorf("an export lacks %s:\n%s", line, &exported)
		}
	}
	other := connect(t, s, mcpserver.Options{})
	if found := other.recall(arguments{"text": "tea"}).Entries; len(found) != 1 || found[0].Memory != "drinks tea" {
		t.Errorf("memory_recall finds %+v, want the observation", found)
	}
}

func TestGraph_ofEachNamespace(t *testing.T) {
	s := newSource(t)
	for _, agent := range []string{"a", "b"} {
		c := connect(t, s, mcpserver.Options{Graph: true, Agent: agent})
		c.must("create_entities", arguments{"entities": []node{ada}}, nil)
		if diff := cmp.Diff(graph{[]node{ada}, []edge{}}, c.graph()); diff != "" {
			t.Errorf("the graph of %s (-want +got):\n%s", agent, diff)
		}
	}
}

func TestGraph_isCreatedOnceByAll(t *testing.T) {
	s := newSource(t)
	a, b := connect(t, s, mcpserver.Options{Graph: true}), connect(t, s, mcpserver.Options{Graph: true})
	in := arguments{"entities": []node{ada, ada, initech}}
	done := make(chan answer)
	for _, c := range []*client{a, b} {
		go func() { done <- c.call("create_entities", in) }()
	}
	for range 2 {
		if got := <-done; got.failed {
			t.Error(got.text)
		}
	}
	if diff := cmp.Diff(graph{[]node{ada, initech}, []edge{}}, a.graph()); diff != "" {
		t.Errorf("read_graph (-want +got):\n%s", diff)
	}
}

// content is the file of the official server with that graph.
const content = `{"type":"entity","name":"Ada","entityType":"person","observations":["drinks tea","says \"<b>\"\n"]}
{"type":"entity","name":"Initech","entityType":"company","observations":[]}
{"type":"relation","from":"Ada","to":"Initech","relationType":"works_at"}`

func writeGraph(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestGraph_bringsAFileOnce(t *testing.T) {
	for _, agent := range []string{"", "a"} {
		file := writeGraph(t)
		s := newSource(t)
		options := mcpserver.Options{Graph: true, GraphFile: file, Agent: agent}
		c := connect(t, s, options)
		if diff := cmp.Diff(graph{[]node{ada, initech}, []edge{works}}, c.graph()); diff != "" {
			t.Errorf("agent %q (-want +got):\n%s", agent, diff)
		}
		// What is deleted must not come back with the next start, also if
		// that is all there is, and what is new in the file stays there.
		c.must("delete_observations", arguments{"deletions": []any{arguments{"entityName": "Ada", "observations": ada.Observations}}}, nil)
		c = connect(t, s, options)
		want := graph{[]node{initech, {"Ada", "person", []string{}}}, []edge{works}}
		if diff := cmp.Diff(want, c.graph()); diff != "" {
			t.Errorf("agent %q, after a deletion and a restart (-want +got):\n%s", agent, diff)
		}
		c.must("delete_entities", arguments{"entityNames": []string{"Ada", "Initech"}}, nil)
		changed := content + `
{"type":"entity","name":"new","entityType":"test","observations":[]}`
		if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(graph{[]node{}, []edge{}}, connect(t, s, options).graph()); diff != "" {
			t.Errorf("agent %q, after all was deleted and the file changed (-want +got):\n%s", agent, diff)
		}
	}
}

// The note that a file was brought is no part of the graph.
func TestGraph_exportsWhatItBrought(t *testing.T) {
	s := newSource(t)
	connect(t, s, mcpserver.Options{Graph: true, GraphFile: writeGraph(t)}).graph()
	var exported strings.Builder
	report, err := jsonlimport.Export(t.Context(), s.Store, memory.Selection{}, jsonlimport.Graph{}, &exported)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(content+"\n", exported.String()); diff != "" {
		t.Errorf("the graph exported (-want +got):\n%s", diff)
	}
	for _, warning := range report.Warnings {
		if strings.Contains(warning, "another form") {
			t.Errorf("it warns: %s", warning)
		}
	}
}

func TestGraph_bringsAFileToWhatIsThere(t *testing.T) {
	file := writeGraph(t)
	s := newSource(t)
	connect(t, s, mcpserver.Options{Graph: true}).must("create_entities", arguments{"entities": []node{{"Bob", "person", []string{}}, initech}}, nil)
	if g := connect(t, s, mcpserver.Options{Graph: true, GraphFile: file, ReadOnly: true}).graph(); len(g.Entities) != 2 {
		t.Errorf("a server that may only read has brought %+v", g)
	}
	want := graph{[]node{{"Bob", "person", []string{}}, initech, ada}, []edge{works}}
	if diff := cmp.Diff(want, connect(t, s, mcpserver.Options{Graph: true, GraphFile: file}).graph()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Servers that start together agree who brings the file: what a client of the
// first deletes must not come with the second, however late that is.
func TestGraph_isBroughtByOneServer(t *testing.T) {
	s := newSource(t)
	options := mcpserver.Options{Graph: true, GraphFile: writeGraph(t)}
	first := connect(t, s, options)
	late := &lateSource{source: s, before: func() {
		first.must("delete_entities", arguments{"entityNames": []string{"Ada", "Initech"}}, nil)
	}}
	if diff := cmp.Diff(graph{[]node{}, []edge{}}, connect(t, late, options).graph()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// lateSource is a source whose server reads what is in the store, and then has
// to wait while another brings the file and uses it, before it stores.
type lateSource struct {
	*source
	before func()
}

func (s *lateSource) Open(ctx context.Context) (memory.Backend, error) {
	store, err := s.source.Open(ctx)
	return &lateBackend{store, s.before}, err
}

type lateBackend struct {
	memory.Backend
	before func()
}

func (b *lateBackend) In(scope memory.Scope) memory.Backend {
	return &lateBackend{b.Backend.In(scope), b.before}
}

// Get finds nothing, as if it had been called earlier, until the store is
// written to.
func (b *lateBackend) Get(ctx context.Context, id uuid.UUID) (memory.Record, error) {
	if b.before != nil {
		return memory.Record{}, memory.ErrNotFound
	}
	return b.Backend.Get(ctx, id)
}

func (b *lateBackend) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	if b.before != nil {
		b.before()
		b.before = nil
	}
	return b.Backend.StoreBatch(ctx, entries, onConflict)
}

func TestGraph_fileThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	options := mcpserver.Options{Graph: true, GraphFile: file}
	if g := connect(t, newSource(t), options).graph(); len(g.Entities) != 0 {
		t.Errorf("a missing file gives %+v", g)
	}
	if err := os.WriteFile(file, []byte("no graph\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text := connect(t, newSource(t), options).refused("read_graph", nil); !strings.Contains(text, file) {
		t.Errorf("the error does not name the file: %s", text)
	}
}
