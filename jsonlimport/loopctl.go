package jsonlimport

import (
	"io"
	"iter"

	"github.com/loopmem/loopmem/memory"
)

// Loopctl is the form that the Rust LoopMemory file store writes and that
// loopmem itself exports, one entry a line:
//
//	{"id":"2adee6a3-…","category":"insight","memory":"…","tags":["…"],
//	 "created_at":{"secs_since_epoch":1760000977,"nanos_since_epoch":0},
//	 "relevance":1.0,"access_count":0,"validated":false,
//	 "last_accessed":null,"last_decayed":null}
//
// The further fields of an entry are there only where they differ from their
// default; it is the one form that holds them all. See [memory.DecodeJSON] for
// what is accepted. Other fields are ignored with a warning.
type Loopctl struct{}

// Name implements [Format].
func (Loopctl) Name() string { return "loopctl" }

// Detect implements [Format].
func (Loopctl) Detect(keys []string) bool {
	return hasKey(keys, "memory") || hasKey(keys, "relevance")
}

// Reader implements [Format].
func (Loopctl) Reader(FileInfo) Reader { return &loopctlReader{} }

type loopctlReader struct{ ignored []string }

func (r *loopctlReader) Entries(line []byte) ([]memory.Entry, error) {
	entry, ignored, err := memory.DecodeJSONUnknown(line)
	if err != nil {
		return nil, err
	}
	r.ignored = ignored
	return []memory.Entry{entry}, nil
}

func (r *loopctlReader) Ignored() []string { return r.ignored }

func (r *loopctlReader) End() []string { return nil }

// Project implements [Format].
func (Loopctl) Project(entry memory.Entry) memory.Entry { return entry }

// Write implements [Format].
func (Loopctl) Write(w io.Writer, entries iter.Seq2[memory.Entry, error]) error {
	var line []byte
	for entry, err := range entries {
		if err != nil {
			return err
		}
		line = append(entry.AppendJSON(line[:0]), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
