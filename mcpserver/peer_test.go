package mcpserver_test

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/mcpserver"
)

// peerPackage is the server that the graph tools stand in for.
const peerPackage = "@modelcontextprotocol/server-memory@2026.8.31"

// connectPeer starts that server on a file of its own.
func connectPeer(t *testing.T, file string) *client {
	t.Helper()
	npx, err := exec.LookPath("npx")
	if err != nil {
		t.Skip("comparing with the official server needs node and npx")
	}
	cmd := exec.Command(npx, "--offline", "--yes", peerPackage)
	cmd.Env = append(os.Environ(), "MEMORY_FILE_PATH="+file)
	cmd.Stderr = io.Discard
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Skipf("the official server is not at hand (%v); get it once with: npx --yes %s </dev/null", err, peerPackage)
	}
	t.Cleanup(func() { session.Close() })
	return &client{session, t}
}

func TestGraph_answersAsThePeer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "memory.jsonl")
	peer := connectPeer(t, file)
	ours := connect(t, newSource(t), mcpserver.Options{Graph: true})
	bob := node{"Bob", "person", []string{"ärgert sich", "twice", "twice"}}
	observed := func(name string, contents ...string) arguments {
		return arguments{"observations": []any{arguments{"entityName": name, "contents": append([]string{}, contents...)}}}
	}
	deletion := func(name string, observations ...string) arguments {
		return arguments{"deletions": []any{arguments{"entityName": name, "observations": observations}}}
	}
	for i, call := range []struct {
		tool string
		in   arguments
	}{
		{"read_graph", arguments{}},
		{"create_entities", arguments{"entities": []node{ada, initech}}},
		{"create_entities", arguments{"entities": []node{{"Ada", "robot", []string{"new"}}, bob}}},
		{"create_entities", arguments{"entities": []node{}}},
		{"create_relations", arguments{"relations": []edge{works, {"Bob", "Nobody", "knows"}, {"Initech", "Bob", "employs"}}}},
		{"create_relations", arguments{"relations": []edge{works}}},
		{"read_graph", arguments{}},
		{"add_observations", observed("Ada", "drinks tea", "plays chess", "plays chess")},
		{"add_observations", observed("Initech", "is in Austin")},
		{"add_observations", observed("Nobody", "is not there")},
		{"add_observations", observed("Bob")},
		{"search_nodes", arguments{"query": "TEA"}},
		{"search_nodes", arguments{"query": "ÄRGERT S"}},
		{"search_nodes", arguments{"query": "company"}},
		{"search_nodes", arguments{"query": "nothing like this"}},
		{"search_nodes", arguments{"query": ""}},
		{"open_nodes", arguments{"names": []string{"Ada", "Nobody"}}},
		{"open_nodes", arguments{"names": []string{"Bob"}}},
		{"open_nodes", arguments{"names": []string{}}},
		{"delete_observations", deletion("Ada", "drinks tea", "plays chess", "never said")},
		{"delete_observations", deletion("Bob", bob.Observations...)},
		{"delete_observations", deletion("Nobody", "x")},
		{"read_graph", arguments{}},
		{"add_observations", observed("Ada", "drinks tea")},
		{"delete_relations", arguments{"relations": []edge{works, {"no", "such", "relation"}}}},
		{"read_graph", arguments{}},
		{"delete_entities", arguments{"entityNames": []string{"Initech", "Nobody"}}},
		{"read_graph", arguments{}},
		{"create_entities", arguments{"entities": []node{initech}}},
		{"read_graph", arguments{}},
		{"add_observations", observed("Gödel <b>", "x")},
		{"create_entities", arguments{"entities": []node{{"<b>&", "", []string{""}}, {"", "empty name", []string{"a\tb"}}}}},
		{"search_nodes", arguments{"query": "<B>&"}},
		{"open_nodes", arguments{"names": []string{""}}},
		{"read_graph", arguments{}},
	} {
		want, got := peer.call(call.tool, call.in), ours.call(call.tool, call.in)
		if want.failed != got.failed || want.text != got.text {
			t.Errorf("call %d, %s %v:\nthe peer says %t %s\nwe say        %t %s", i, call.tool, call.in, want.failed, want.text, got.failed, got.text)
		}
		if diff := cmp.Diff(decoded(t, want.structured), decoded(t, got.structured)); diff != "" {
			t.Errorf("call %d, %s %v (-peer +ours):\n%s", i, call.tool, call.in, diff)
		}
	}

	// What is wrong with a call is said in other words.
	for _, call := range []struct {
		tool string
		in   arguments
	}{
		{"create_entities", arguments{}},
		{"create_entities", arguments{"entities": "Ada"}},
		{"create_entities", arguments{"entities": []any{arguments{"name": "Ada"}}}},
		{"create_relations", arguments{"relations": []any{arguments{"from": 1, "to": "b", "relationType": "c"}}}},
		{"add_observations", arguments{"observations": []any{arguments{"entityName": "Ada"}}}},
		{"delete_entities", arguments{"entityNames": []any{7}}},
		{"delete_observations", arguments{"deletions": arguments{}}},
		{"delete_relations", arguments{"relations": []any{"x"}}},
		{"search_nodes", arguments{}},
		{"open_nodes", arguments{"names": "Ada"}},
	} {
		want, got := peer.call(call.tool, call.in), ours.call(call.tool, call.in)
		if !want.failed || !got.failed {
			t.Errorf("%s %v: the peer fails %t, we fail %t; want both", call.tool, call.in, want.failed, got.failed)
		}
	}
	resource := func(c *client) string {
		text, err := c.read("memory://knowledge-graph")
		if err != nil {
			t.Error(err)
		}
		return text
	}
	if diff := cmp.Diff(resource(peer), resource(ours)); diff != "" {
		t.Errorf("the resource (-peer +ours):\n%s", diff)
	}

	// The file that it leaves gives us the same graph.
	moved := connect(t, newSource(t), mcpserver.Options{Graph: true, GraphFile: file})
	if diff := cmp.Diff(peer.graph(), moved.graph()); diff != "" {
		t.Errorf("the graph brought from its file (-peer +ours):\n%s", diff)
	}
}

func TestGraph_describesToolsAsThePeer(t *testing.T) {
	peer := connectPeer(t, filepath.Join(t.TempDir(), "memory.jsonl"))
	ours := connect(t, newSource(t), mcpserver.Options{Graph: true})
	if diff := cmp.Diff(peer.shapes(), ours.shapes()); diff != "" {
		t.Errorf("tools (-peer +ours):\n%s", diff)
	}
}

// shapes returns what a program can tell of the tools: their annotations,
// arguments and results, without the words for the model.
func (c *client) shapes() map[string]any {
	c.t.Helper()
	tools, err := c.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	shapes := make(map[string]any)
	for _, tool := range tools.Tools {
		a := tool.Annotations
		shapes[tool.Name] = []any{
			tool.Title, a.ReadOnlyHint, a.DestructiveHint, a.IdempotentHint, a.OpenWorldHint,
			shape(tool.InputSchema), shape(tool.OutputSchema),
		}
	}
	return shapes
}

// shape leaves out of a schema what is said in words, and what the peer
// leaves open where we refuse the unknown.
func shape(schema any) any {
	switch schema := schema.(type) {
	case map[string]any:
		out := make(map[string]any)
		for key, value := range maps.All(schema) {
			switch key {
			case "description", "$schema", "additionalProperties":
			default:
				out[key] = shape(value)
			}
		}
		return out
	default:
		return schema
	}
}

func decoded(t *testing.T, raw json.RawMessage) (value any) {
	t.Helper()
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
