package jsonlimport_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func TestVerify(t *testing.T) {
	now := time.Unix(1_770_000_000, 0)
	store, err := memory.NewStore(memory.WithClock(func() time.Time { return now }))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"testdata/clean.jsonl", "testdata/agent.jsonl", "testdata/graph.jsonl"}
	mustImport(t, store, jsonlimport.Options{}, paths...)

	report, err := jsonlimport.Verify(t.Context(), store, files(paths...), jsonlimport.Options{})
	if err != nil || !report.Complete() || report.Same != 16 || report.Read != 16 {
		t.Fatalf("report %+v, %v; want 16 the same", report, err)
	}

	// Use changes entries, but takes nothing away.
	if _, err := store.Recall(t.Context(), memory.Query{Text: "terse Spanish exponential"}); err != nil {
		t.Fatal(err)
	}
	report, err = jsonlimport.Verify(t.Context(), store, files(paths...), jsonlimport.Options{})
	if err != nil || !report.Complete() || report.Used < 3 || report.Used+report.Same != 16 {
		t.Errorf("report %+v, %v; want some used and the others the same", report, err)
	}

	// A text changed, an entry forgotten: both are listed.
	entries := mustEntries(t, store)
	if _, err := store.Update(t.Context(), entries[2].ID, memory.Change{Memory: new("another text")}); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Forget(t.Context(), entries[7].ID); err != nil {
		t.Fatal(err)
	}
	report, err = jsonlimport.Verify(t.Context(), store, files(paths...), jsonlimport.Options{})
	if err != nil || report.Complete() || report.Different != 1 || report.Missing != 1 {
		t.Fatalf("report %+v, %v; want one different and one missing", report, err)
	}
	changed, gone := report.Differences[0], report.Differences[1]
	if changed.File != paths[0] || changed.Line != 3 || changed.ID != entries[2].ID || changed.Missing {
		t.Errorf("difference %+v; want line 3 of the first file", changed)
	}
	found := false
	for _, field := range changed.Fields {
		if field.Field == "memory" {
			found = field.Store == `"another text"` && strings.HasPrefix(field.File, `"Start large refactors`)
		}
	}
	if !found {
		t.Errorf("fields %+v; want both texts", changed.Fields)
	}
	if gone.File != paths[1] || gone.Line != 2 || gone.ID != entries[7].ID || !gone.Missing {
		t.Errorf("difference %+v; want line 2 of the second file missing", gone)
	}
}

func TestVerify_changesNothing(t *testing.T) {
	store := mustStore(t)
	path := mustWrite(t, "memory.jsonl", mustRead(t, "testdata/clean.jsonl")+"bad\n")
	if _, err := jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("error = %v; want the malformed line", err)
	}
	report, err := jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{SkipMalformed: true})
	if err != nil || report.Missing != 6 || report.SkippedLines != 1 || report.Complete() {
		t.Errorf("report %+v, %v; want 6 missing and 1 skipped", report, err)
	}
	if n := len(mustEntries(t, store)); n != 0 {
		t.Errorf("%d entries were stored", n)
	}
	mustImport(t, store, jsonlimport.Options{SkipMalformed: true}, path)
	if report, err = jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{SkipMalformed: true}); report.Same != 6 || report.Complete() {
		t.Errorf("report %+v, %v; want 6 the same, and not complete for the malformed line", report, err)
	}
}

// TestVerify_repeatedLines compares only the line that counts.
func TestVerify_repeatedLines(t *testing.T) {
	lines := cleanLines(t)
	path := mustWrite(t, "memory.jsonl", lines[0]+strings.Replace(lines[0], "Prefer", "Avoid", 1))
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, path)
	report, err := jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{})
	if err != nil || !report.Complete() || report.Same != 1 || report.Repeated != 1 {
		t.Errorf("report %+v, %v; want 1 the same and 1 repeated", report, err)
	}
}
