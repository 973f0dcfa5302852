package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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

func TestReadmeTestCommandIsWhatCIRuns(t *testing.T) {
	for _, command := range []string{"go run ./cmd/loopmem demo", "go test ./..."} {
		if !strings.Contains(readme(t), "\n    "+command) || !strings.Contains(repositoryFile(t, ".ci/run"), "\n"+command+"\n") {
			t.Errorf("%s is not both in the README and in .ci/run", command)
		}
	}
}
