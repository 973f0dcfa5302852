package jsonlimport_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// TestImport_samples takes one file of each kind that people have and tells
// what must become of it.
func TestImport_samples(t *testing.T) {
	clean := mustRead(t, "testdata/clean.jsonl")
	lines := cleanLines(t)
	first, second := lines[0], lines[1]
	long := `{"id":"743fc94f-4517-5147-9cdf-17c37f82f02e","category":"trajectory","memory":"` + strings.Repeat("x", 3_000_000) +
		`","tags":[],"created_at":{"secs_since_epoch":1760000977,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,"validated":false,"last_accessed":null,"last_decayed":null}` + "\n"
	tests := []struct {
		name     string
		content  string
		entries  int
		repeated int
		torn     int64
		line     int    // where it is refused; 0: it is not
		reason   string // part of the error
	}{
		{name: "clean", content: clean, entries: 6},
		{name: "before the access fields", content: mustRead(t, "testdata/before-access-fields.jsonl"), entries: 6},
		{name: "torn tail", content: clean + lines[3][:201], entries: 6, torn: 201},
		{name: "torn inside a character", content: clean + lines[3][:strings.Index(lines[3], "–")+1], entries: 6, torn: int64(strings.Index(lines[3], "–") + 1)},
		{name: "nothing but a torn tail", content: `{"i`, torn: 3},
		{name: "unterminated last line", content: strings.TrimSuffix(clean, "\n"), entries: 6},
		{name: "corrupt line", content: first + second + lines[2][:91] + "\n" + lines[3], line: 3, reason: "ends in the middle"},
		{name: "BOM and CRLF", content: "\uFEFF" + strings.ReplaceAll(clean, "\n", "\r\n"), entries: 6},
		{name: "same id twice", content: clean + strings.Replace(first, "when possible", "at most eight", 1), entries: 6, repeated: 1},
		{name: "null relevance", content: first + strings.Replace(second, "0.42", "null", 1), line: 2, reason: "relevance: is null"},
		{name: "long line", content: first + long + second, entries: 3},
		{name: "unknown fields and category", content: mustRead(t, "testdata/unknown-fields.jsonl"), entries: 1},
		{name: "agent", content: mustRead(t, "testdata/agent.jsonl"), entries: 3},
		{name: "graph", content: mustRead(t, "testdata/graph.jsonl"), entries: 7},
		{name: "blank lines", content: "\n" + first + "\n   \n" + second + "\n\t\r\n", entries: 2},
		{name: "empty", content: ""},
		{name: "nothing but a BOM", content: "\uFEFF"},
		{name: "lone surrogate", content: strings.Replace(first, "Prefer", `\ud83d Prefer`, 1) + second, line: 1, reason: "surrogate"},
		{name: "NUL character", content: first + strings.Replace(second, "Timeout", `Time\u0000out`, 1), line: 2, reason: "NUL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := mustStore(t)
			path := mustWrite(t, "memory.jsonl", tt.content)
			report, err := jsonlimport.Import(t.Context(), store, files(path), jsonlimport.Options{})
			if tt.line > 0 {
				refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
				if !ok || !errors.Is(err, memory.ErrInvalid) {
					t.Fatalf("error = %v; want a refusal", err)
				}
				if refused.Total != 1 || refused.Lines[0].Line != tt.line || !strings.Contains(err.Error(), tt.reason) {
					t.Errorf("error = %v; want line %d and %q", err, tt.line, tt.reason)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if n := len(mustEntries(t, store)); n != tt.entries || report.Imported != n {
				t.Errorf("%d entries, report %d; want %d", n, report.Imported, tt.entries)
			}
			if report.Repeated != tt.repeated || report.TornBytes != tt.torn {
				t.Errorf("repeated %d, torn %d; want %d and %d", report.Repeated, report.TornBytes, tt.repeated, tt.torn)
			}
			if tt.torn > 0 && len(report.Warnings) != 1 {
				t.Errorf("warnings = %v; want one about the torn line", report.Warnings)
			}
			mustEqual(t, "the source before and after", mustRead(t, path), tt.content)
		})
	}
}

func TestImport_cleanKeepsEveryField(t *testing.T) {
	var want []memory.Entry
	for _, line := range cleanLines(t) {
		entry, err := memory.DecodeJSON([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, entry)
	}
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, "testdata/clean.jsonl")
	mustEqual(t, "entries", mustEntries(t, store), want)
	text, _ := mustExport(t, store, jsonlimport.Loopctl{})
	mustEqual(t, "exports", text, mustRead(t, "testdata/clean.jsonl"))
}

func TestImport_laterLineWinsInItsPlace(t *testing.T) {
	lines := cleanLines(t)
	later := strings.Replace(lines[0], "when possible", "at most eight", 1)
	store := mustStore(t)
	// One entry a batch: the lines with the same id are in different ones.
	mustImport(t, store, jsonlimport.Options{BatchEntries: 1}, mustWrite(t, "memory.jsonl", strings.Join(lines, "")+later))
	text, _ := mustExport(t, store, jsonlimport.Loopctl{})
	mustEqual(t, "exports", text, strings.Join(lines[1:], "")+later)
}
