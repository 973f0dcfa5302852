package jsonlimport_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// TestImport_malformedLine puts one bad line between two good ones. Whatever
// it is, the error names line 2, and skipping it stores the others and sets
// it aside unchanged.
func TestImport_malformedLine(t *testing.T) {
	lines := cleanLines(t)
	second := strings.TrimSuffix(lines[1], "\n")
	agentLine, _, _ := strings.Cut(mustRead(t, "testdata/agent.jsonl"), "\n")
	entityLine, _, _ := strings.Cut(mustRead(t, "testdata/graph.jsonl"), "\n")
	with := func(line, old, new string) string {
		if !strings.Contains(line, old) {
			t.Fatalf("%q is not in the line", old)
		}
		return strings.Replace(line, old, new, 1)
	}
	tests := []struct {
		name   string
		format jsonlimport.Format
		line   string
		field  string
		reason string
	}{
		{name: "null", line: `null`, reason: "no JSON object"},
		{name: "array", line: `[]`, reason: "JSON array"},
		{name: "number", line: `7`, reason: "no JSON object"},
		{name: "empty object", line: `{}`, field: "id", reason: "missing"},
		{name: "plain text", line: `hello`, reason: "no JSON object"},
		{name: "two objects", line: second + second, reason: "second JSON value"},
		{name: "trailing comma", line: second + ",", reason: "invalid character"},
		{name: "comment", line: second + " // note", reason: "invalid character"},
		{name: "conflict marker, ours", line: "<<<<<<< HEAD", reason: "git conflict marker"},
		{name: "conflict marker, middle", line: "=======", reason: "git conflict marker"},
		{name: "conflict marker, base", line: "||||||| 1a2b3c4", reason: "git conflict marker"},
		{name: "conflict marker, theirs", line: ">>>>>>> branch", reason: "git conflict marker"},
		{name: "NUL bytes", line: strings.Repeat("\x00", 40), reason: "40 NUL bytes"},
		{name: "NUL byte in a string", line: with(second, "Timeout", "Time\x00out"), reason: "1 NUL byte"},
		{name: "BOM in the middle of a file", line: "\uFEFF" + second, reason: "byte order mark"},
		{name: "invalid UTF-8", line: with(second, "Timeout", "Time\xffout"), field: "memory", reason: "the byte 0xff, which is no UTF-8"},
		{name: "Latin-1", line: with(second, "Timeout", "Z\xfcrich"), field: "memory", reason: "iconv -f WINDOWS-1252"},
		{name: "control character", line: with(second, "Timeout", "Time\x01out"), field: "memory", reason: "invalid character"},
		{name: "key twice", line: with(second, `"category"`, `"memory":"x","category"`), field: "memory", reason: "stands twice"},
		{name: "key twice in an object within", line: with(second, `,"relevance"`, `,"attributes":{"a":"1","b":"2","a":"3"},"relevance"`), field: "attributes", reason: `has the key "a" twice`},
		{name: "key in another case", line: with(second, `"memory"`, `"Memory"`), reason: "another case"},
		{name: "missing field", line: with(second, `"access_count":7,`, ``), field: "access_count", reason: "missing"},
		{name: "string for a number", line: with(second, `0.42`, `"0.42"`), field: "relevance", reason: "a string; expected a number"},
		{name: "infinite", line: with(second, `0.42`, `1e999`), field: "relevance", reason: "too large"},
		{name: "NaN", line: with(second, `0.42`, `NaN`), field: "relevance", reason: "invalid character"},
		{name: "fractional count", line: with(second, `"access_count":7`, `"access_count":7.5`), field: "access_count", reason: "whole number"},
		{name: "negative count", line: with(second, `"access_count":7`, `"access_count":-7`), field: "access_count", reason: "whole number"},
		{name: "float seconds", line: with(second, `1760001954`, `1.7e12`), field: "created_at", reason: "whole number"},
		{name: "milliseconds", line: with(second, `1760001954`, `1760001954000`), field: "created_at", reason: "milliseconds"},
		{name: "RFC 3339 time", line: with(second, `{"secs_since_epoch":1760001954,"nanos_since_epoch":246913578}`, `"2026-01-05T08:30:00Z"`), field: "created_at", reason: "expected a time"},
		{name: "nanoseconds out of range", line: with(second, `246913578`, `1000000000`), field: "created_at", reason: "999999999"},
		{name: "no UUID", line: with(second, `1dcf01fd-a5ab-550a-91ca-227677da4834`, `m1`), field: "id", reason: "no UUID"},
		{name: "zero UUID", line: with(second, `1dcf01fd-a5ab-550a-91ca-227677da4834`, `00000000-0000-0000-0000-000000000000`), field: "id", reason: "zero UUID"},
		{name: "empty category", line: with(second, `error_pattern`, ``), field: "category", reason: "empty"},
		{name: "an entry of another form", line: agentLine, field: "id", reason: "no UUID"},

		{name: "agent null content", format: jsonlimport.Agent{}, line: with(agentLine, `"The user prefers terse answers"`, `null`), field: "content", reason: "null; expected a string"},
		{name: "agent missing content", format: jsonlimport.Agent{}, line: with(agentLine, `"content":"The user prefers terse answers",`, ``), field: "content", reason: "missing"},
		{name: "agent key in another case", format: jsonlimport.Agent{}, line: with(agentLine, `"importance"`, `"Importance"`), field: "Importance", reason: "another case"},
		{name: "agent key twice", format: jsonlimport.Agent{}, line: with(agentLine, `"importance"`, `"content":"x","importance"`), field: "content", reason: "stands twice"},
		{name: "agent two objects", format: jsonlimport.Agent{}, line: agentLine + agentLine, reason: "second JSON value"},
		{name: "agent NUL character", format: jsonlimport.Agent{}, line: with(agentLine, `terse`, `te\u0000rse`), field: "content", reason: "NUL"},
		{name: "agent lone surrogate", format: jsonlimport.Agent{}, line: with(agentLine, `terse`, `\udc00`), field: "content", reason: `holds \udc00, one half of a surrogate pair`},
		{name: "agent null tag", format: jsonlimport.Agent{}, line: with(agentLine, `["style"]`, `["style",null]`), field: "tags", reason: "has an item that is null"},
		{name: "agent empty id", format: jsonlimport.Agent{}, line: with(agentLine, `"m1"`, `""`), field: "id", reason: "empty"},
		{name: "agent importance out of range", format: jsonlimport.Agent{}, line: with(agentLine, `"importance":8`, `"importance":256`), field: "importance", reason: "from 0 to 255"},
		{name: "agent null importance", format: jsonlimport.Agent{}, line: with(agentLine, `"importance":8`, `"importance":null`), field: "importance", reason: "null"},
		{name: "agent unknown memory type", format: jsonlimport.Agent{}, line: with(agentLine, `semantic`, `procedural`), field: "memory_type", reason: "episodic, semantic, reflection"},
		{name: "agent seconds", format: jsonlimport.Agent{}, line: with(agentLine, `"2026-01-05T08:30:00.123456Z"`, `1767601800`), field: "created_at", reason: "seconds or milliseconds"},
		{name: "agent time without an offset", format: jsonlimport.Agent{}, line: with(agentLine, `00.123456Z`, `00.123456`), field: "created_at", reason: "expected a time"},
		{name: "agent leap day that is none", format: jsonlimport.Agent{}, line: with(agentLine, `2026-01-05`, `2026-02-29`), field: "created_at", reason: "expected a time"},
		{name: "agent picoseconds", format: jsonlimport.Agent{}, line: with(agentLine, `.123456Z`, `.1234567891Z`), field: "created_at", reason: "nine digits"},
		{name: "agent time before 1970", format: jsonlimport.Agent{}, line: with(agentLine, `2026-01-05`, `1969-12-31`), field: "created_at", reason: "1970"},
		{name: "agent strength out of range", format: jsonlimport.Agent{}, line: with(agentLine, `0.85`, `1e400`), field: "strength", reason: "too large"},

		{name: "graph unknown type", format: jsonlimport.Graph{}, line: with(entityLine, `"entity"`, `"thing"`), field: "type", reason: `expected "entity" or "relation"`},
		{name: "graph missing type", format: jsonlimport.Graph{}, line: with(entityLine, `"type":"entity",`, ``), field: "type", reason: "missing"},
		{name: "graph null observation", format: jsonlimport.Graph{}, line: with(entityLine, `"Speaks fluent Spanish"`, `null`), field: "observations", reason: "null"},
		{name: "graph observations no list", format: jsonlimport.Graph{}, line: `{"type":"entity","name":"a","entityType":"b","observations":"c"}`, field: "observations", reason: "a string; expected an array"},
		{name: "graph relation without an end", format: jsonlimport.Graph{}, line: `{"type":"relation","from":"a","relationType":"b"}`, field: "to", reason: "missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before, after := lines[0], lines[2]
			switch tt.format.(type) {
			case jsonlimport.Agent:
				before, after = with(agentLine, "m1", "n1")+"\n", with(agentLine, "m1", "n2")+"\n"
			case jsonlimport.Graph:
				before, after = `{"type":"entity","name":"a","entityType":"b","observations":[]}`+"\n", `{"type":"relation","from":"a","to":"a","relationType":"b"}`+"\n"
			}
			path := mustWrite(t, "memory.jsonl", before+tt.line+"\n"+after)
			store := mustStore(t)
			_, err := jsonlimport.Import(t.Context(), store, files(path), jsonlimport.Options{})
			refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
			if !ok {
				t.Fatalf("error = %v; want a refusal", err)
			}
			fault := refused.Lines[0]
			if refused.Total != 1 || fault.Line != 2 || fault.Field != tt.field || !strings.Contains(fault.Reason, tt.reason) {
				t.Errorf("got %#v; want line 2, field %q, reason %q", fault, tt.field, tt.reason)
			}
			if got := strings.Count(err.Error(), "\n"); got != 1 || !strings.Contains(err.Error(), path+":2:") {
				t.Errorf("error = %q; want a line with the position and one how to go on", err)
			}
			if n := len(mustEntries(t, store)); n != 0 {
				t.Errorf("%d entries were stored", n)
			}

			report := mustImport(t, store, jsonlimport.Options{SkipMalformed: true}, path)
			if report.Imported != 2 || report.SkippedLines != 1 || *report.Skipped[0] != *fault {
				t.Errorf("report %+v; want 2 imported and the same line skipped", report)
			}
			mustEqual(t, "the rejected line", mustRead(t, path+".rejected.jsonl"), tt.line+"\n")
		})
	}
}

// TestLineError_position points at the value that is wrong, whichever reader
// found it and however the line ends.
func TestLineError_position(t *testing.T) {
	for _, tt := range []struct{ line, at string }{
		{`{"id": "x", "memory":"","relevance":1}`, `"x", `},
		{`{"id":"2adee6a3-a553-5015-bab8-1310d3984d51","relevance" :  null}`, `null}`},
		{strings.Replace(cleanLines(t)[1], `"retry"`, `7`, 1), `,7],"created`},
		{strings.Replace(cleanLines(t)[1], `error_pattern`, ``, 1), `"","memory"`},
		{`{"relevance":0.5}`, ``},
		{`{"relevance":0.5,}`, `,}`},
		{`{"id":"m1","content":"a", "agent": 7}`, `7}`},
		{`{"id":"m1","content":"a","agent":"","category":"","tags":["x", 8]}`, `8]}`},
		{`{"id":"m1","agent":"","content":"a\u0000"}`, `\u0000`},
		{`{"content":"a"}`, ``},
	} {
		line := strings.TrimSuffix(tt.line, "\n")
		for _, end := range []string{"\n", "\r\n"} {
			_, err := jsonlimport.Import(t.Context(), mustStore(t), stream(line+end), jsonlimport.Options{})
			refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
			if !ok {
				t.Fatalf("%s: error = %v", line, err)
			}
			fault := refused.Lines[0]
			if want := strings.Index(line, tt.at) + 1; tt.at != "" && fault.Column != want {
				t.Errorf("%v; want column %d", fault, want)
			}
			if tt.at == "" && (fault.Column != 0 || fault.Near != "") {
				t.Errorf("%v; want no column", fault)
			}
			if strings.Contains(fault.Near, "\r") || tt.at != "" && !strings.Contains(fault.Near, tt.at) {
				t.Errorf("%v; want %s in the text near it", fault, tt.at)
			}
		}
	}
}

func TestImport_noForm(t *testing.T) {
	for _, line := range []string{`{}`, `{"foo":1}`, `{"id":"m1","text":"x"}`} {
		_, err := jsonlimport.Import(t.Context(), mustStore(t), stream(line+"\n"), jsonlimport.Options{})
		if err == nil || !strings.Contains(err.Error(), "loopctl, agent, graph") {
			t.Errorf("%s: error = %v; want the forms named", line, err)
		}
	}
}

func TestImport_lineLimit(t *testing.T) {
	lines := cleanLines(t)
	limit := len(lines[2]) - 1
	padded := strings.Replace(lines[1], "Timeout", strings.Repeat("long ", 50_000), 1)
	for name, content := range map[string]string{
		"in the middle":    lines[0] + padded + lines[2],
		"last":             lines[0] + lines[2] + padded,
		"unterminated":     lines[0] + lines[2] + strings.TrimSuffix(padded, "\n"),
		"one byte over":    lines[0] + lines[2] + lines[2][:10] + " " + lines[2][10:],
		"CRLF, and in it":  strings.ReplaceAll(lines[0]+lines[2], "\n", "\r\n") + padded,
		"first, and again": padded + padded + lines[0] + lines[2],
	} {
		t.Run(name, func(t *testing.T) {
			path := mustWrite(t, "memory.jsonl", content)
			options := jsonlimport.Options{MaxLineBytes: limit}
			_, err := jsonlimport.Import(t.Context(), mustStore(t), files(path), options)
			if err == nil || !strings.Contains(err.Error(), "is longer than") {
				t.Fatalf("error = %v; want the limit named", err)
			}
			options.SkipMalformed = true
			report := mustImport(t, mustStore(t), options, path)
			if report.Imported != 2 {
				t.Errorf("%d imported; want 2", report.Imported)
			}
			rejected := mustRead(t, path+".rejected.jsonl")
			if !strings.Contains(content, rejected) || len(rejected) <= limit {
				t.Errorf("rejected %d bytes that are not those of the line", len(rejected))
			}
		})
	}
}

func TestImport_fileThatCannotBeRead(t *testing.T) {
	clean := mustRead(t, "testdata/clean.jsonl")
	utf16Bytes := func(text string, high int) string {
		var out []byte
		for _, unit := range utf16.Encode([]rune(text)) {
			pair := []byte{byte(unit), byte(unit >> 8)}
			out = append(out, pair[high], pair[1-high])
		}
		return string(out)
	}
	packed := pack(t, clean)
	damaged := []byte(packed)
	damaged[len(damaged)-6] ^= 0xff // in the checksum
	tests := []struct {
		name, content, reason string
	}{
		{"UTF-16LE with BOM", utf16Bytes("\uFEFF"+clean, 0), "iconv -f UTF-16 -t UTF-8"},
		{"UTF-16BE with BOM", utf16Bytes("\uFEFF"+clean, 1), "iconv -f UTF-16 -t UTF-8"},
		{"UTF-16LE without BOM", utf16Bytes(clean, 0), "iconv -f UTF-16LE -t UTF-8"},
		{"UTF-16BE without BOM", utf16Bytes(clean, 1), "iconv -f UTF-16BE -t UTF-8"},
		{"JSON array", "[\n" + strings.ReplaceAll(clean, "}\n", "},\n") + "]", "jq -c '.[]'"},
		{"JSON array on one line", " []", "jq -c '.[]'"},
		{"gzip cut short", packed[:len(packed)-20], "cut short"},
		{"gzip cut in its header", packed[:5], "cut short"},
		{"gzip damaged", string(damaged), "damaged"},
		{"gzip with something after it", packed + "something more", "something after the gzip data"},
		{"gzip with something after zeros", packed + strings.Repeat("\x00", 1<<17) + "x", "something after the gzip data"},
		{"gzip with half a magic number after it", packed + "\x1f", "something after the gzip data"},
		{"gzip with a second member cut short", packed + packed[:5], "cut short"},
		{"gzip of UTF-16", pack(t, utf16Bytes("\uFEFF"+clean, 0)), "iconv"},
		{"zip", "PK\x03\x04rest", "zip archive"},
		{"SQLite", "SQLite format 3\x00rest", "SQLite database"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := mustWrite(t, "memory.jsonl", tt.content)
			store := mustStore(t)
			for _, skip := range []bool{false, true} {
				_, err := jsonlimport.Import(t.Context(), store, append(files("testdata/clean.jsonl"), files(path)...), jsonlimport.Options{SkipMalformed: skip})
				fault, ok := errors.AsType[*jsonlimport.FileError](err)
				if !ok || fault.File != path || !strings.Contains(err.Error(), tt.reason) {
					t.Errorf("error = %v; want %q about the file", err, tt.reason)
				}
			}
			if n := len(mustEntries(t, store)); n != 0 {
				t.Errorf("%d entries were stored", n)
			}
		})
	}
}

func TestImport_fileThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	locked := mustWrite(t, "locked.jsonl", "")
	tests := []struct {
		name, path string
		is         error
		reason     string
	}{
		{"missing", filepath.Join(dir, "no such file.jsonl"), fs.ErrNotExist, "no such file"},
		{"empty name", "", fs.ErrNotExist, "empty"},
		{"directory", dir, memory.ErrInvalid, "is a directory"},
		{"unreadable", locked, fs.ErrPermission, "permission denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "unreadable" {
				if runtime.GOOS == "windows" || os.Geteuid() == 0 {
					t.Skip("nothing is unreadable for this user")
				}
				if err := os.Chmod(locked, 0); err != nil {
					t.Fatal(err)
				}
			}
			store := mustStore(t)
			_, err := jsonlimport.Import(t.Context(), store, append(files("testdata/clean.jsonl"), files(tt.path)...), jsonlimport.Options{})
			if !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.reason) || !strings.Contains(err.Error(), tt.path) {
				t.Errorf("error = %v; want the path and %q", err, tt.reason)
			}
			if n := len(mustEntries(t, store)); n != 0 {
				t.Errorf("%d entries were stored", n)
			}
		})
	}
}

// TestImport_commandsCanBeCopied gives a file a name that a shell would split.
func TestImport_commandsCanBeCopied(t *testing.T) {
	t.Chdir(t.TempDir())
	name := "it's $mine.jsonl"
	if err := os.WriteFile(name, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := jsonlimport.Import(t.Context(), mustStore(t), files(name), jsonlimport.Options{})
	if want := `jq -c '.[]' 'it'\''s $mine.jsonl' > 'it'\''s $mine.jsonl.jsonl'`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error = %v; want %s", err, want)
	}
	_, err = jsonlimport.Import(t.Context(), mustStore(t), stream("[]"), jsonlimport.Options{})
	if want := `jq -c '.[]' FILE > FILE.jsonl`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("error = %v; want %s", err, want)
	}
}

func TestImport_gzip(t *testing.T) {
	lines := cleanLines(t)
	clean := strings.Join(lines, "")
	for name, content := range map[string]string{
		"one member":                  pack(t, clean),
		"several members":             pack(t, lines[0]) + pack(t, strings.Join(lines[1:], "")),
		"members split inside a line": pack(t, clean[:500]) + pack(t, "") + pack(t, clean[500:]),
		"with a BOM":                  pack(t, "\uFEFF"+clean),
		"padded with zeros":           pack(t, clean) + strings.Repeat("\x00", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			store := mustStore(t)
			mustImport(t, store, jsonlimport.Options{}, mustWrite(t, "memory.jsonl.gz", content))
			text, _ := mustExport(t, store, jsonlimport.Loopctl{})
			mustEqual(t, "exports", text, clean)
		})
	}
}

func pack(t testing.TB, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestImport_listsAFewOfManyFaults(t *testing.T) {
	_, err := jsonlimport.Import(t.Context(), mustStore(t), stream(strings.Repeat("x\n", 50)), jsonlimport.Options{MaxErrors: 3})
	refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
	if !ok || refused.Total != 50 || len(refused.Lines) != 3 || !strings.Contains(err.Error(), "and 47 lines more") {
		t.Errorf("error = %v; want 3 of 50 lines", err)
	}
}
