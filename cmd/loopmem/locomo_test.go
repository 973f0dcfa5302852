package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// locomo returns the folder with the five conversations of LoCoMo (Maharana
// et al., 2024) as memories, and questions about them.
func locomo(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("LOOPMEM_LOCOMO_DIR")
	if folder == "" {
		folder = filepath.Join("..", "..", "..", "shared", "data", "locomo") // beside the module's root
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no conversations: set LOOPMEM_LOCOMO_DIR to the folder with *.memories.jsonl (%v)", err)
	}
	return folder
}

func questions(t *testing.T, folder string, most int) (texts []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.questions.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no questions in %s: %v", folder, err)
	}
	perFile := (most + len(files) - 1) / len(files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		count := 0
		for line := range bytes.Lines(content) {
			var q struct{ Question string }
			if err := json.Unmarshal(line, &q); err != nil {
				t.Fatal(err)
			}
			if count++; count <= perFile && len(texts) < most {
				texts = append(texts, q.Question)
			}
		}
	}
	if len(texts) < most {
		t.Fatalf("%d questions, want %d", len(texts), most)
	}
	return texts
}

// TestLoCoMo imports real conversations from two processes at once while two
// others retrieve, and looks whether everything is there, found as the
// in-memory store finds it, and exported as it was imported.
func TestLoCoMo(t *testing.T) {
	folder := locomo(t)
	w := newWorld(t)
	ctx := t.Context()
	asked := questions(t, folder, 200)

	store, err := sqlitestore.Open(ctx, w.path("memory.db"), sqlitestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()

	var imports []*exec.Cmd
	for range 2 {
		imports = append(imports, w.process("import", "--json", filepath.Join(folder, "*.memories.jsonl")))
	}
	imported := make(chan struct{})
	readers := make(chan error, 2)
	for i := range cap(readers) {
		go func() { readers <- w.keepRetrieving(asked[i], imported) }()
	}
	outputs := make([]bytes.Buffer, len(imports))
	for i, p := range imports {
		p.Stdout, p.Stderr = &outputs[i], os.Stderr
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	total := 0
	for i, p := range imports {
		if err := p.Wait(); err != nil {
			t.Fatalf("import: %v", err)
		}
		total += int(decode[map[string]any](t, outputs[i].String())["imported"].(float64))
	}
	close(imported)
	for range cap(readers) {
		if err := <-readers; err != nil {
			t.Errorf("retrieve during the import: %v", err)
		}
	}

	const all = 2760
	if n, err := store.Len(ctx); err != nil || n != all || total != all {
		t.Fatalf("%d entries, %d of them said to be imported, %v; want %d", n, total, err, all)
	}
	sameAsInMemory(t, store, asked)

	first := w.must("export")
	w.env["LOOPMEM_DB"] = w.path("elsewhere.db")
	w.must("import", w.write("first.jsonl", first))
	if second := w.must("export"); second != first {
		t.Errorf("an export that was imported is exported otherwise (%d and %d bytes)", len(first), len(second))
	}
}

// keepRetrieving starts the program again and again until the import is done.
func (w *world) keepRetrieving(question string, done <-chan struct{}) error {
	for {
		p := w.process("retrieve", question)
		var errs strings.Builder
		p.Stderr = &errs
		if err := p.Run(); err != nil {
			w.t.Log(errs.String())
			return err
		}
		select {
		case <-done:
			return nil
		default:
		}
	}
}

// sameAsInMemory compares the answers with those of the in-memory store.
func sameAsInMemory(t *testing.T, store memory.Backend, asked []string) {
	t.Helper()
	var entries []memory.Entry
	for entry, err := range store.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry)
	}
	reference, err := memory.NewStore(memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	for _, question := range asked {
		got, err := store.Retrieve(t.Context(), question, 10)
		if err != nil {
			t.Fatal(err)
		}
		want, err := reference.Retrieve(t.Context(), question, 10)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%q: in memory (-) against the database (+):\n%s", question, diff)
		}
	}
}
