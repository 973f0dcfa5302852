package jsonlimport_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func mustStore(t testing.TB, entries ...memory.Entry) *memory.Store {
	t.Helper()
	store, err := memory.NewStore(memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// mustEntries returns everything in the store, in insertion order.
func mustEntries(t testing.TB, store memory.Lister) []memory.Entry {
	t.Helper()
	var entries []memory.Entry
	for entry, err := range store.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	return entries
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// mustWrite writes a file of that content into a fresh directory.
func mustWrite(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func mustImport(t testing.TB, store jsonlimport.Store, options jsonlimport.Options, paths ...string) jsonlimport.Report {
	t.Helper()
	report, err := jsonlimport.Import(t.Context(), store, files(paths...), options)
	if err != nil {
		t.Fatalf("Import(%s): %v", strings.Join(paths, ", "), err)
	}
	return report
}

func mustExport(t testing.TB, store memory.Lister, format jsonlimport.Format) (string, jsonlimport.ExportReport) {
	t.Helper()
	var out bytes.Buffer
	report, err := jsonlimport.Export(t.Context(), store, memory.Selection{}, format, &out)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), report
}

func files(paths ...string) []jsonlimport.Input {
	var inputs []jsonlimport.Input
	for _, path := range paths {
		inputs = append(inputs, jsonlimport.Input{Name: path})
	}
	return inputs
}

func stream(content string) []jsonlimport.Input {
	return []jsonlimport.Input{{Name: "stream", Stream: strings.NewReader(content)}}
}

// cleanLines are the lines of the clean sample, each with its line break.
func cleanLines(t testing.TB) []string {
	t.Helper()
	lines := strings.SplitAfter(mustRead(t, "testdata/clean.jsonl"), "\n")
	return lines[:len(lines)-1]
}

func mustEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s differ (-want +got):\n%s", what, diff)
	}
}
