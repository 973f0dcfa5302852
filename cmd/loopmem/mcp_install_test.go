package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// withHome gives the world a home directory.
func (w *world) withHome() *world {
	w.env["HOME"], w.env["USERPROFILE"], w.env["APPDATA"] = w.folder, w.folder, w.folder
	return w
}

func TestMCPInstall_printsUnlessToldToWrite(t *testing.T) {
	w := newWorld(t).withHome()
	for _, client := range []string{"claude-code", "claude-desktop", "codex", "cursor", "vscode"} {
		out := w.must("mcp", "install", "--client", client)
		if !strings.Contains(out, w.env["LOOPMEM_DB"]) && runtime.GOOS != "windows" {
			t.Errorf("%s: the database is not named:\n%s", client, out)
		}
		file := w.object("mcp", "install", "--client", client)["file"].(string)
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s was written", file)
		}
		w.must("mcp", "install", "--client", client, "--write")
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
	if out := w.must("mcp", "install"); strings.Contains(out, "not configured") {
		t.Errorf("after all clients were configured:\n%s", out)
	}
}

func TestMCPInstall_keepsTheRest(t *testing.T) {
	w := newWorld(t).withHome()
	if err := os.Mkdir(w.path(".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	const before = "{\n  // mine\n  \"mcpServers\": {\"x\": {\"command\": \"y\"}}\n}\n"
	file := w.write(filepath.Join(".cursor", "mcp.json"), before)
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	w.must("mcp", "install", "--client", "cursor", "--write")
	after := w.read(filepath.Join(".cursor", "mcp.json"))
	for _, kept := range []string{"// mine", `"x": {"command": "y"}`, `"loopmem"`} {
		if !strings.Contains(after, kept) {
			t.Errorf("%s is missing:\n%s", kept, after)
		}
	}
	if got := w.read(filepath.Join(".cursor", "mcp.json"+backupSuffix)); got != before {
		t.Errorf("the backup has %q", got)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v; want it unchanged", info.Mode(), err)
	}
	if did := w.object("mcp", "install", "--client", "cursor", "--write"); did["written"] != false {
		t.Errorf("the same again: %v", did)
	}
	again := w.must("mcp", "install", "--client", "cursor", "--write", "--", "--read-only")
	if want := backupSuffix + "-2"; !strings.Contains(again, "replaced") || !strings.Contains(again, want) {
		t.Errorf("with other flags it says %q, want a backup with %s", again, want)
	}
	if got := w.read(filepath.Join(".cursor", "mcp.json"+backupSuffix)); got != before {
		t.Errorf("afterwards the first backup has %q", got)
	}
	if got := w.read(filepath.Join(".cursor", "mcp.json"+backupSuffix+"-2")); got != after {
		t.Errorf("the second backup has %q", got)
	}
	w.write(filepath.Join(".cursor", "mcp.json"), "no JSON")
	if o := w.run("mcp", "install", "--client", "cursor", "--write"); o.status != exitError || !strings.Contains(o.errors, file) {
		t.Errorf("a file that is no JSON: %+v", o)
	}
	if got := w.read(filepath.Join(".cursor", "mcp.json")); got != "no JSON" {
		t.Errorf("it became %q", got)
	}
}

func TestMCPInstall_tellsWhichClientsAreConfigured(t *testing.T) {
	w := newWorld(t).withHome()
	w.add("so that there is a database")
	w.must("mcp", "install", "--client", "codex", "--write")
	if err := os.Mkdir(w.path(".cursor"), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := w.write(filepath.Join(".cursor", "mcp.json"), "no JSON")
	for _, command := range [][]string{{"mcp", "install"}, {"doctor"}} {
		told := decode[clientStates](t, w.must(append(command, "--json")...))
		if len(told.Clients) != 5 {
			t.Errorf("%s tells about %d clients, want 5", command, len(told.Clients))
		}
		for _, c := range told.Clients {
			if c.Configured != (c.Client == "codex") || (c.Error != "") != (c.Client == "cursor") {
				t.Errorf("%s says %+v", command, c)
			}
		}
		text := w.must(command...)
		for _, want := range []string{"codex            configured,", "vscode           not configured,", "cursor           unknown: ", broken} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", command, want, text)
			}
		}
	}
	if o := w.run("doctor", "--db", w.path("missing")); o.status != exitError || !strings.Contains(o.errors, "does not exist") {
		t.Errorf("doctor of no file: %+v", o)
	}
}

// A system without a home directory has no clients, but it has a doctor.
func TestMCPInstall_withoutAHome(t *testing.T) {
	w := newWorld(t)
	w.add("so that there is a database")
	if out := w.must("doctor"); !strings.Contains(out, "healthy") || !strings.Contains(out, "home directory") {
		t.Errorf("doctor says:\n%s", out)
	}
}

// What is installed is started here, as a client would do it.
func TestMCPInstall_works(t *testing.T) {
	w := newWorld(t).withHome()
	answer := w.must("mcp", "install", "--client", "cursor", "--json", "--", "--agent", "team:a", "--synchronous", "full", "--cache", "256MiB")
	added := decode[map[string]any](t, answer)["add"].(string)
	var file struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(added), &file); err != nil {
		t.Fatal(err)
	}
	server := file.Servers["loopmem"]
	cmd := exec.Command(server.Command, server.Args...)
	cmd.Dir = t.TempDir()
	c, err := startMCP(t, cmd)
	if err != nil {
		t.Fatal(err)
	}
	c.mustStore("by the installed server")
	if got := w.texts("list", "--agent", "team:a"); !slices.Equal(got, []string{"by the installed server"}) {
		t.Errorf("stored %q", got)
	}
}

// What is said before and behind -- reaches the server, with paths that mean
// the same in the folder that it starts in.
func TestMCPInstall_passesFlagsOn(t *testing.T) {
	w := newWorld(t).withHome()
	t.Chdir(w.folder)
	answer := w.must("--synchronous", "full", "--busy-timeout", "3s", "--db", "x.db", "mcp", "install", "--client", "codex", "--json",
		"--", "--tools=graph", "--graph-file", "memory.jsonl", "--read-only")
	added := decode[map[string]any](t, answer)["add"].(string)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Servers map[string]struct{ Args []string } `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal([]byte(added), &file); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"mcp", "--db", filepath.Join(here, "x.db"), "--synchronous", "full", "--busy-timeout", "3s",
		"--tools", "graph", "--graph-file", filepath.Join(here, "memory.jsonl"), "--read-only",
	}
	if got := file.Servers["loopmem"].Args; !slices.Equal(got, want) {
		t.Errorf("it starts with\n%q, want\n%q", got, want)
	}
	home := w.must("mcp", "install", "--client", "cursor", "--", "--tools", "graph", "--graph-file=~/memory.jsonl")
	if want := filepath.Join(w.folder, "memory.jsonl"); !strings.Contains(home, want) && runtime.GOOS != "windows" {
		t.Errorf("~ is not %s:\n%s", want, home)
	}
}

func TestMCPInstall_usage(t *testing.T) {
	w := newWorld(t).withHome()
	for _, args := range [][]string{
		{"--client", "emacs"},
		{"--write"},
		{"--client", "codex", "--", "--no-such-flag"},
		{"--client", "codex", "--", "extra"},
		{"--client", "codex", "--", "--db", "elsewhere.db"},
		{"--client", "codex", "--", "--agent", "a", "--share", "b"},
		{"--client", "codex", "--namespace", "a"},
		{"--client", "codex", "--clearance", "internal"},
	} {
		if o := w.run(append([]string{"mcp", "install"}, args...)...); o.status == exitOK || o.out != "" {
			t.Errorf("%q: %+v; want an error", args, o)
		}
	}
}

func TestMCPInstallKnowsWhatGoRunBuilt(t *testing.T) {
	for path, want := range map[string]bool{
		"/home/u/.cache/go-build/ee/ee52-d/loopmem": true,
		"/tmp/go-build2890386911/b001/exe/loopmem":  true,
		"/home/u/go/bin/loopmem":                    false,
		"/home/u/my-go-build/loopmem":               false,
		"/tmp/go-build2890386911/b450/loopmem.test": false, // a test of this package
	} {
		if got := builtToRunOnce(path); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
}
