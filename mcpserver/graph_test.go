package mcpserver_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestGraph_bringsAFileOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	content := `{"type":"entity","name":"Ada","entityType":"person","observations":["drinks tea","says \"<b>\"\n"]}
{"type":"entity","name":"Initech","entityType":"company","observations":[]}
{"type":"relation","from":"Ada","to":"Initech","relationType":"works_at"}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"", "a"} {
		s := newSource(t)
		options := mcpserver.Options{Graph: true, GraphFile: file, Agent: agent}
		c := connect(t, s, options)
		if diff := cmp.Diff(graph{[]node{ada, initech}, []edge{works}}, c.graph()); diff != "" {
			t.Errorf("agent %q (-want +got):\n%s", agent, diff)
		}
		// What is deleted must not come back with the next start.
		c.must("delete_observations", arguments{"deletions": []any{arguments{"entityName": "Ada", "observations": ada.Observations}}}, nil)
		c = connect(t, s, options)
		want := graph{[]node{initech, {"Ada", "person", []string{}}}, []edge{works}}
		if diff := cmp.Diff(want, c.graph()); diff != "" {
			t.Errorf("agent %q, after a deletion and a restart (-want +got):\n%s", agent, diff)
		}
	}
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
