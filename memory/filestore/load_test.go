package filestore_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
)

// A file cut at any byte opens with every entry that is whole, loses only the
// torn one, is whole afterwards, and takes an append as a line of its own.
func TestOpen_FileCutAtEveryByte(t *testing.T) {
	all := three()
	whole := jsonl(all...)
	var ends []int // after each closing brace
	for i := range all {
		ends = append(ends, len(jsonl(all[:i+1]...))-1)
	}
	next := numbered(9, "appended after the repair")
	for cut := range len(whole) + 1 {
		kept := 0
		for kept < len(ends) && ends[kept] <= cut {
			kept++
		}
		content := whole[:cut]
		dropped := content[len(strings.TrimSuffix(jsonl(all[:kept]...), "\n")):]
		dropped = strings.TrimPrefix(dropped, "\n")

		path := mustWrite(t, content)
		var log bytes.Buffer
		s, err := filestore.Open(path, memory.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		if err != nil {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
		if warned := strings.Contains(log.String(), "level=WARN"); warned != (dropped != "") {
			t.Errorf("cut at byte %d, %d bytes of a torn line: the log says %q", cut, len(dropped), &log)
		}
		wantEntries(t, s, all[:kept]...)
		wantContent(t, path, jsonl(all[:kept]...))
		mustStore(t, s, next)
		wantContent(t, path, jsonl(append(all[:kept:kept], next)...))
		wantFiles(t, path, "memory.jsonl")
		mustClose(t, s)
		if t.Failed() {
			t.Fatalf("cut at byte %d", cut)
		}
	}
}

func TestOpen_MalformedLineChangesNothing(t *testing.T) {
	good := strings.TrimSuffix(jsonl(three()[0]), "\n")
	for name, line := range map[string]string{
		"cut short":            good[:40],
		"bad UTF-8":            strings.Replace(good, "deploy", "d\xffploy", 1),
		"NULs":                 "\x00\x00\x00\x00",
		"null relevance":       strings.Replace(good, `"relevance":1.0`, `"relevance":null`, 1),
		"missing field":        strings.Replace(good, `"validated":false,`, ``, 1),
		"key twice":            strings.Replace(good, `"validated":false`, `"validated":false,"validated":true`, 1),
		"other case":           strings.Replace(good, `"memory"`, `"Memory"`, 1),
		"two objects":          good + good,
		"merge conflict":       "<<<<<<< HEAD",
		"array":                "[" + good + "]",
		"null":                 "null",
		"lone surrogate":       strings.Replace(good, "deploy", `\ud800`, 1),
		"milliseconds":         strings.Replace(good, `"secs_since_epoch":1`, `"secs_since_epoch":1000000000`, 1),
		"byte order mark late": "\ufeff" + good,
	} {
		t.Run(name, func(t *testing.T) {
			if line == good {
				t.Fatal("the line is not malformed")
			}
			content := jsonl(three()[1]) + "\n" + line + "\n" + jsonl(three()[2]) + "{torn"
			path := mustWrite(t, content)
			_, err := filestore.Open(path)
			var bad *filestore.LineError
			if !errors.As(err, &bad) || bad.Line != 3 || !errors.Is(err, memory.ErrInvalid) {
				t.Errorf("got %v, want a LineError about line 3", err)
			}
			if err != nil && !strings.Contains(err.Error(), "line 3") {
				t.Errorf("the error %q does not name the line", err)
			}
			if _, err := filestore.OpenReadOnly(path); !errors.As(err, &bad) {
				t.Errorf("read-only: got %v, want a LineError", err)
			}
			wantContent(t, path, content)

			// What was refused is not left half open.
			if err := overwrite(path, jsonl(three()...)); err != nil {
				t.Fatal(err)
			}
			wantEntries(t, mustOpen(t, path), three()...)
		})
	}
}

func TestOpen_ToleratedForms(t *testing.T) {
	all := three()
	for name, content := range map[string]string{
		"blank lines":            "\n \t\r\n" + jsonl(all[0]) + "\n\n" + jsonl(all[1:]...) + "\n",
		"blank tail":             jsonl(all...) + "  \t",
		"byte order mark, CRLF":  "\ufeff" + strings.ReplaceAll(jsonl(all...), "\n", "\r\n"),
		"without a last newline": strings.TrimSuffix(jsonl(all...), "\n"),
		"id as a URN":            strings.ReplaceAll(jsonl(all...), `"id":"`, `"id":"urn:uuid:`),
		"unknown field":          strings.ReplaceAll(jsonl(all...), `,"relevance"`, `,"source":{"id":[1]},"relevance"`),
		"one id twice":           jsonl(all[2], all[0], all[1], all[2]),
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := mustOpen(t, mustWrite(t, content), memory.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			wantEntries(t, s, all...)
			if log.Len() > 0 {
				t.Errorf("nothing is lost, but the log says %q", &log)
			}
		})
	}
}

// Only a store that is opened for writing drops the mark.
func TestOpen_ByteOrderMark(t *testing.T) {
	all := three()
	path := mustWrite(t, "\ufeff"+jsonl(all...))
	s, err := filestore.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	wantContent(t, path, "\ufeff"+jsonl(all...))
	w := mustOpen(t, path)
	wantContent(t, path, jsonl(all...))
	next := numbered(9, "appended")
	mustStore(t, w, next)
	wantContent(t, path, jsonl(append(all[:len(all):len(all)], next)...))
}

func TestOpen_LaterLineOfOneIDWinsAndTakesTheLaterPlace(t *testing.T) {
	all := three()
	newer := all[0]
	newer.Memory = "said again, otherwise"
	newer.AccessCount = 7
	wantEntries(t, mustOpen(t, mustWrite(t, jsonl(all[0], all[1], newer))), all[1], newer)
}

func TestOpen_LongLine(t *testing.T) {
	long := numbered(2, strings.Repeat("a very long text ", 3<<20/17))
	path := mustWrite(t, jsonl(three()[0], long, three()[2]))
	wantEntries(t, mustOpen(t, path), three()[0], long, three()[2])
}

// Lines as the Rust store writes them come back from a rewrite byte for byte.
func TestFlush_WritesTheBytesOfTheRustStore(t *testing.T) {
	const content = `{"id":"2adee6a3-a553-5015-bab8-1310d3984d51","category":"insight","memory":"Prefer concurrent requests when possible","tags":["performance"],"created_at":{"secs_since_epoch":1760000977,"nanos_since_epoch":123456789},"relevance":1.0,"access_count":0,"validated":false,"last_accessed":null,"last_decayed":null}
{"id":"1dcf01fd-a5ab-550a-91ca-227677da4834","category":"error_pattern","memory":"Timeout: \"retry\" \\ back-off\n\ttwice\u0001 < > & \u2028 é 日本 🎉","tags":["api","retry","api"],"created_at":{"secs_since_epoch":1760001954,"nanos_since_epoch":0},"relevance":0.42,"access_count":7,"validated":true,"last_accessed":{"secs_since_epoch":1760002954,"nanos_since_epoch":5},"last_decayed":{"secs_since_epoch":1760002955,"nanos_since_epoch":999999999}}
{"id":"3ccf01fd-a5ab-450a-91ca-227677da4834","category":"preference","memory":"","tags":[],"created_at":{"secs_since_epoch":0,"nanos_since_epoch":0},"relevance":1e-7,"access_count":9223372036854775807,"validated":false,"last_accessed":null,"last_decayed":null}
`
	want := strings.ReplaceAll(content, `\u2028`, "\u2028") // escaped above to be seen
	path := mustWrite(t, want)
	s := mustOpen(t, path)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, want)
}
