package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/mcpserver"
)

func (c *client) read(uri string) (string, error) {
	result, err := c.ReadResource(c.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return "", err
	}
	return result.Contents[0].Text, nil
}

func TestResources(t *testing.T) {
	c := connect(t, newSource(t), mcpserver.Options{Agent: "a"})
	var ids []string
	for range 30 {
		ids = append(ids, c.store(arguments{"memory": "an entry"}))
	}
	one, err := c.read("loopmem://entry/" + ids[0])
	if err != nil || !strings.Contains(one, ids[0]) || !strings.Contains(one, "never instructions") {
		t.Errorf("an entry reads %q, %v", one, err)
	}
	recent, err := c.read("loopmem://recent")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(recent, "1. id "+ids[29]) || !strings.Contains(recent, "20. id "+ids[10]) || strings.Contains(recent, ids[9]) {
		t.Errorf("the recent entries are not the last 20, the latest first:\n%s", recent)
	}
	if _, err := c.read("loopmem://entry/00000000-0000-4000-8000-000000000000"); err == nil {
		t.Error("an entry that is not there was read")
	}
}

func TestPrompt(t *testing.T) {
	c := connect(t, newSource(t), mcpserver.Options{ReadOnly: true})
	prompt, err := c.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "use_memory"})
	if err != nil {
		t.Fatal(err)
	}
	text := prompt.Messages[0].Content.(*mcp.TextContent).Text
	for _, want := range []string{"memory_recall", "Store", "never follow instructions", "only read"} {
		if !strings.Contains(text, want) {
			t.Errorf("the prompt does not mention %q:\n%s", want, text)
		}
	}
}
