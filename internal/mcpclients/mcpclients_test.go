package mcpclients

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

var server = Server{Name: "loopmem", Command: "/opt/<x>/loopmem", Args: []string{"mcp", "--db", `a "b" \c.db`}}

const entry = `{
      "command": "/opt/<x>/loopmem",
      "args": [
        "mcp",
        "--db",
        "a \"b\" \\c.db"
      ]
    }`

func TestJSON(t *testing.T) {
	cursor, err := Parse("cursor")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ content, want string }{
		"no file":         {"", "{\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  }\n}\n"},
		"empty object":    {"{}", "{\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  }\n}"},
		"other settings":  {"{\n  \"b\": 1.0,\n  \"a\": [ 1,2 ]\n}\n", "{\n  \"b\": 1.0,\n  \"a\": [ 1,2 ],\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  }\n}\n"},
		"other servers":   {"{\n  \"mcpServers\": {\n    \"x\": {\"command\":\"y\"}\n  }\n}", "{\n  \"mcpServers\": {\n    \"x\": {\"command\":\"y\"},\n    \"loopmem\": ENTRY\n  }\n}"},
		"replaced":        {"{\"mcpServers\": {\"loopmem\": {\n      \"command\": \"old\"\n    }, \"x\": 1}}", "{\"mcpServers\": {\"loopmem\": ENTRY, \"x\": 1}}"},
		"no object":       {"{\"mcpServers\": {\"loopmem\": 7}}", "{\"mcpServers\": {\"loopmem\": ENTRY}}"},
		"byte order mark": {"\ufeff{}", "\ufeff{\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  }\n}"},
		"comments":        {"// first\n{\n  \"a\": 1 // one\n}\n", "// first\n{\n  \"a\": 1, // one\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  }\n}\n"},
		"trailing commas": {"{\n  \"a\": 1, // one\n}\n", "{\n  \"a\": 1, // one\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  },\n}\n"},
		"only a comment":  {"{\n  // nothing yet\n}\n", "{\n  // nothing yet\n  \"mcpServers\": {\n    \"loopmem\": ENTRY\n  }\n}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cursor.Add([]byte(test.content), server)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(test.want, "ENTRY", entry); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if !has(t, &cursor, got, "loopmem") || has(t, &cursor, []byte(test.content), "other") {
				t.Error("the server is not found in what was written, or another one is")
			}
			again, err := cursor.Add(got, server)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time, %v, it changes to\n%s", err, again)
			}
		})
	}
	for _, content := range []string{"[]", "{", `{"mcpServers": []}`, "no JSON"} {
		if got, err := cursor.Add([]byte(content), server); err == nil {
			t.Errorf("%q became %q, want an error", content, got)
		}
	}
}

// A command beside an address would be one or the other, as the client likes.
func TestAdd_refusesTheNameOfAServerElsewhere(t *testing.T) {
	for client, content := range map[string]string{
		"cursor": `{"mcpServers": {"loopmem": {"url": "https://memory.example/mcp"}}}`,
		"codex":  "[mcp_servers.loopmem]\nurl = \"https://memory.example/mcp\"\n",
	} {
		c, err := Parse(client)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Add([]byte(content), server)
		if err == nil || !strings.Contains(err.Error(), "loopmem") || !strings.Contains(err.Error(), "url") {
			t.Errorf("%s: %v, and\n%s\nwant an error that names the server and its key", client, err, got)
		}
	}
}

// What a user has set for the server outlives the next install.
func TestJSON_keepsWhatElseTheServerHas(t *testing.T) {
	code, err := Parse("vscode")
	if err != nil {
		t.Fatal(err)
	}
	const before = `{"servers": {"loopmem": {"args": ["old"], /* mine */ "env": {"A": "b"}, "disabled": true}}}`
	got, err := code.Add([]byte(before), Server{Name: "loopmem", Command: "new", Args: []string{"mcp"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`/* mine */ "env": {"A": "b"}, "disabled": true`, `"command": "new"`, `"type": "stdio"`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%s is missing:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Errorf("the old arguments are there:\n%s", got)
	}
}

func TestJSON_typed(t *testing.T) {
	code, err := Parse("vscode")
	if err != nil {
		t.Fatal(err)
	}
	got, err := code.Add(nil, server)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Servers map[string]struct{ Type, Command string }
	}
	if err := json.Unmarshal(got, &file); err != nil || file.Servers["loopmem"].Type != "stdio" || file.Servers["loopmem"].Command != server.Command {
		t.Errorf("%v: %s", err, got)
	}
}

func TestTOML(t *testing.T) {
	codex, err := Parse("codex")
	if err != nil {
		t.Fatal(err)
	}
	added, err := codex.Add(nil, server)
	if err != nil {
		t.Fatal(err)
	}
	table := string(added)
	if !strings.HasPrefix(table, "[mcp_servers.loopmem]\n") {
		t.Fatalf("in an empty file:\n%s", table)
	}
	for name, test := range map[string]struct{ content, want string }{
		"other settings": {"model = \"x\" # best\n\n[a]\nb = 1\n", "model = \"x\" # best\n\n[a]\nb = 1\n\nTABLE"},
		"no line break":  {"a = 1", "a = 1\n\nTABLE"},
		"replaced":       {"a = 1\n[mcp_servers.loopmem]\ncommand = \"old\"\n\n[mcp_servers.x]\ncommand = \"y\"\n", "a = 1\nTABLE\n[mcp_servers.x]\ncommand = \"y\"\n"},
		"replaced, last": {"[mcp_servers.loopmem]\ncommand = \"old\"\n", "TABLE"},
		"nothing in it":  {"[mcp_servers.loopmem]", "TABLE"},
		"more in it": {
			"[mcp_servers.loopmem]\nargs = [\n  \"old\", # ]\n]\n# mine\nstartup_timeout_sec = 20\n\n[mcp_servers.loopmem.env]\nA = \"b\"\n",
			"TABLE# mine\nstartup_timeout_sec = 20\n\n[mcp_servers.loopmem.env]\nA = \"b\"\n",
		},
		"byte order mark": {"\ufeffa = 1\n", "\ufeffa = 1\n\nTABLE"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := codex.Add([]byte(test.content), server)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.ReplaceAll(test.want, "TABLE", table); string(got) != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if !has(t, &codex, got, "loopmem") || has(t, &codex, got, "other") {
				t.Error("the server is not found in what was written, or another one is")
			}
			again, err := codex.Add(got, server)
			if err != nil || string(again) != string(got) {
				t.Errorf("a second time, %v, it changes to\n%s", err, again)
			}
		})
	}
	for name, content := range map[string]string{
		"not TOML":        "a = = 1",
		"inline table":    "mcp_servers = {x = {command = \"y\"}}\n",
		"in a table":      "[mcp_servers]\nloopmem = {command = \"old\"}\n",
		"header in text":  "a = \"\"\"\n[mcp_servers.loopmem]\n\"\"\"\n",
		"subtable follow": "[mcp_servers.loopmem]\ncommand = \"old\"\n[mcp_servers.loopmem.command]\nx = 1\n",
	} {
		if got, err := codex.Add([]byte(content), server); err == nil {
			t.Errorf("%s: became\n%s\nwant an error", name, got)
		}
	}
}

func TestFile(t *testing.T) {
	env := map[string]string{"HOME": "/home/u", "APPDATA": "/roaming", "USERPROFILE": "/users/u"}
	for _, test := range []struct{ client, system, want string }{
		{"claude-code", "linux", "/home/u/.claude.json"},
		{"claude-code", "windows", "/users/u/.claude.json"},
		{"claude-desktop", "darwin", "/home/u/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", "/roaming/Claude/claude_desktop_config.json"},
		{"codex", "linux", "/home/u/.codex/config.toml"},
		{"cursor", "darwin", "/home/u/.cursor/mcp.json"},
		{"vscode", "linux", "/home/u/.config/Code/User/mcp.json"},
		{"vscode", "darwin", "/home/u/Library/Application Support/Code/User/mcp.json"},
	} {
		c, err := Parse(test.client)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.File(test.system, func(name string) string { return env[name] })
		if err != nil || filepath.ToSlash(got) != test.want {
			t.Errorf("%s on %s: %s, %v; want %s", test.client, test.system, got, err, test.want)
		}
		if _, err := c.File(test.system, func(string) string { return "" }); err == nil {
			t.Errorf("%s on %s: a file without a home directory", test.client, test.system)
		}
	}
	if _, err := Parse("emacs"); err == nil {
		t.Error("a client that is not known was found")
	}
}

func has(t *testing.T, c *Client, content []byte, name string) bool {
	t.Helper()
	found, err := c.Has(content, name)
	if err != nil {
		t.Errorf("looking for %s in %q: %v", name, content, err)
	}
	return found
}

func TestHas_refusesWhatItCannotUnderstand(t *testing.T) {
	for _, name := range []string{"cursor", "codex"} {
		client, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{"nonsense at all", "[]", `{"mcpServers": 7}`} {
			if found, err := client.Has([]byte(content), "loopmem"); found || err == nil {
				t.Errorf("%s: %q has the server %t, %v; want an error", name, content, found, err)
			}
		}
		if has(t, &client, nil, "loopmem") {
			t.Errorf("%s: an empty file has the server", name)
		}
	}
}
