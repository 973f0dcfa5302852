package jsonlimport_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// FuzzImport feeds the importer arbitrary bytes. They never crash it, what it
// refuses leaves nothing behind, and what it accepts comes back the same from
// an export in any form that can hold it.
func FuzzImport(f *testing.F) {
	for _, name := range []string{"clean", "before-access-fields", "unknown-fields", "agent", "graph"} {
		f.Add([]byte(mustRead(f, "testdata/"+name+".jsonl")))
	}
	clean := mustRead(f, "testdata/clean.jsonl")
	f.Add([]byte(agentEntry("m1", "a", "one", `"m1","m2"`) + agentEntry("m2", "a", "two", `"m1"`) + agentEntry("m1", "b", "three", `"m2"`)))
	f.Add([]byte(clean + clean[:300]))
	f.Add([]byte(pack(f, clean)))
	f.Add([]byte("\uFEFF" + strings.ReplaceAll(clean, "\n", "\r\n\r\n")))
	f.Add([]byte("<<<<<<< HEAD\n" + clean + "\x00\n[]\n{}\nnull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<20 {
			t.Skip("longer inputs show nothing new")
		}
		store := mustStore(t)
		importAll := func(store jsonlimport.Store, content []byte, options jsonlimport.Options) (jsonlimport.Report, error) {
			options.TempDir = t.TempDir()
			options.MaxLineBytes = 1 << 16
			input := jsonlimport.Input{Name: "fuzz", Stream: bytes.NewReader(content), Rejected: filepath.Join(options.TempDir, "rejected")}
			return jsonlimport.Import(t.Context(), store, []jsonlimport.Input{input}, options)
		}
		_, err := importAll(store, data, jsonlimport.Options{})
		if err != nil {
			_, isFile := errors.AsType[*jsonlimport.FileError](err)
			_, isRefused := errors.AsType[*jsonlimport.RefusedError](err)
			if len(mustEntries(t, store)) > 0 || !isFile && !isRefused {
				t.Fatalf("error = %v, with %d entries stored", err, len(mustEntries(t, store)))
			}
			if isFile {
				return
			}
		}
		report, err := importAll(store, data, jsonlimport.Options{SkipMalformed: true})
		if err != nil {
			t.Fatal(err)
		}
		entries := mustEntries(t, store)
		if len(entries) != report.Read-report.Repeated {
			t.Errorf("%d entries; report %+v", len(entries), report)
		}
		mustComeBack := func(store *memory.Store, format jsonlimport.Format) {
			text, _ := mustExport(t, store, format)
			back := mustStore(t)
			if _, err := importAll(back, []byte(text), jsonlimport.Options{Format: format}); err != nil {
				t.Fatalf("%s: what was exported is refused: %v\n%s", format.Name(), err, text)
			}
			if diff := cmp.Diff(mustEntries(t, store), mustEntries(t, back), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s: entries differ (-exported +imported):\n%s", format.Name(), diff)
			}
		}
		mustComeBack(store, jsonlimport.Loopctl{})
		if report.Files[0].Format == "agent" {
			mustComeBack(store, jsonlimport.Agent{})
			ownIDs := jsonlimport.Agent{OwnIDs: true}
			store := mustStore(t)
			if _, err := importAll(store, data, jsonlimport.Options{SkipMalformed: true, Format: ownIDs}); err != nil {
				t.Fatal(err)
			}
			mustComeBack(store, ownIDs)
		} // graphs reorder entries; FuzzGraph compares them
	})
}

// FuzzGraph puts arbitrary texts into a graph. Its export describes the same
// graph.
func FuzzGraph(f *testing.F) {
	f.Add([]byte(mustRead(f, "testdata/graph.jsonl")))
	f.Add([]byte(`{"type":"entity","name":"a","entityType":"t","observations":["x","y","x"]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		store := mustStore(t)
		options := jsonlimport.Options{Format: jsonlimport.Graph{}, TempDir: t.TempDir()}
		if _, err := jsonlimport.Import(t.Context(), store, stream(string(data)), options); err != nil {
			t.Skip("no graph")
		}
		text, _ := mustExport(t, store, jsonlimport.Graph{})
		back := mustStore(t)
		if _, err := jsonlimport.Import(t.Context(), back, stream(text), options); err != nil {
			t.Fatalf("what was exported is refused: %v\n%s", err, text)
		}
		again, _ := mustExport(t, back, jsonlimport.Graph{})
		mustEqual(t, "graphs", again, text)
		byID := func(entries []memory.Entry) map[string]memory.Entry {
			out := make(map[string]memory.Entry)
			for _, e := range entries {
				out[e.ID.String()] = jsonlimport.Graph{}.Project(e)
			}
			return out
		}
		mustEqual(t, "entries", byID(mustEntries(t, back)), byID(mustEntries(t, store)))
	})
}
