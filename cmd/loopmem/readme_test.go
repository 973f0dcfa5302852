package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/loopmem/loopmem/internal/mcpclients"
	"github.com/loopmem/loopmem/jsonlimport"
)

func readme(t *testing.T) string {
	t.Helper()
	return repositoryFile(t, "README.md")
}

func repositoryFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestReadmeExampleIsTheTestedOne(t *testing.T) {
	_, block, found := strings.Cut(readme(t), "```go\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("no example in the README")
	}
	if !strings.Contains(repositoryFile(t, "sqlitestore/example_test.go"), block) {
		t.Error("the example is not the one in sqlitestore/example_test.go")
	}
}

func TestReadmeNamesEveryCommand(t *testing.T) {
	text := readme(t)
	for _, command := range newApp(nil, nil, nil, nil).rootCommand().Commands() {
		if command.Hidden || command.Name() == "help" {
			continue
		}
		use, _, _ := strings.Cut(command.Use, " {") // a choice, of which the README shows one
		if !strings.Contains(text, "`loopmem "+use) {
			t.Errorf("the README has no line for %s", command.Use)
		}
	}
}

func TestReadmeTellsHowToConfigureEveryClient(t *testing.T) {
	text := readme(t)
	for _, client := range mcpclients.All() {
		if page := "**" + client.Title + "**\n\n    loopmem mcp install --client " + client.Name + " --write\n"; !strings.Contains(text, page) {
			t.Errorf("the README has no page for %s", client.Title)
		}
	}
	mcpCommand(newApp(nil, nil, nil, nil)).LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if !strings.Contains(text, "`--"+flag.Name+" ") && !strings.Contains(text, "`--"+flag.Name+"`") {
			t.Errorf("the README does not mention --%s of loopmem mcp", flag.Name)
		}
	})
}

func TestReadmeTestCommandIsWhatCIRuns(t *testing.T) {
	for _, command := range []string{"go run ./cmd/loopmem demo", "go test ./..."} {
		if !strings.Contains(readme(t), "\n    "+command) || !strings.Contains(repositoryFile(t, ".ci/run"), "\n"+command+"\n") {
			t.Errorf("%s is not both in the README and in .ci/run", command)
		}
	}
}

// TestPagesOnMovingOffJSONL does what the pages say, with the files they show.
func TestPagesOnMovingOffJSONL(t *testing.T) {
	pages := repositoryFile(t, "jsonlimport/README.md")
	formats := []string{"loopctl", "agent", "graph"}
	blocks := strings.Split(pages, "```json\n")[1:]
	if len(blocks) != len(formats) {
		t.Fatalf("%d files are shown, want one for each of %v", len(blocks), formats)
	}
	for i, format := range formats {
		w := newWorld(t)
		lines, _, _ := strings.Cut(blocks[i], "```")
		path := w.write("memory.jsonl", lines)
		if out := w.must("import", path, "--json"); decode[jsonlimport.Report](t, out).Files[0].Format != format {
			t.Errorf("%s: %s", format, out)
		}
		w.must("verify", path)
		w.must("export", "--format", format, w.path("back.jsonl"))
		w.must("verify", w.path("back.jsonl"))
		if format == "loopctl" && w.read("back.jsonl") != lines {
			t.Errorf("exported: %s", w.read("back.jsonl"))
		}
	}
}

// TestPagesUseFlagsThatExist parses every command in the README and the pages
// beside it.
func TestPagesUseFlagsThatExist(t *testing.T) {
	for _, name := range []string{"README.md", "jsonlimport/README.md"} {
		commands := 0
		for line := range strings.Lines(repositoryFile(t, name)) {
			text, found := strings.CutPrefix(line, "    loopmem ")
			if !found {
				continue
			}
			commands++
			text, _, _ = strings.Cut(text, "#")
			command, args, err := newApp(nil, nil, nil, nil).rootCommand().Find(strings.Fields(text))
			if err == nil {
				err = command.ParseFlags(args)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		if commands < 3 {
			t.Errorf("%s: only %d commands were found", name, commands)
		}
	}
}
