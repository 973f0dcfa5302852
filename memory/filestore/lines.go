package filestore

import (
	"bytes"

	"github.com/loopmem/loopmem/memory"
)

// appendLine appends the entry's line to dst.
func appendLine(dst []byte, entry *memory.Entry) []byte {
	return append(entry.AppendJSON(dst), '\n')
}

// byteOrderMark is what some editors put before UTF-8. Other readers of JSONL,
// the Rust store among them, take it for a fault.
const byteOrderMark = "\ufeff"

// tail is what follows the last newline of a file: a line whose write was cut
// short, or which was written without an end.
type tail struct {
	size int   // in bytes; 0 means the file is whole
	err  error // why it is no entry; nil if it is one, or blank
}

// parse reads the content of a file. The first complete line that is no entry
// ends it with a [LineError]. A tail that is an entry is one like any other.
func parse(path string, content []byte) ([]memory.Entry, tail, error) {
	content = bytes.TrimPrefix(content, []byte(byteOrderMark))
	var entries []memory.Entry
	for number := 1; ; number++ {
		line, rest, complete := bytes.Cut(content, []byte{'\n'})
		var err error
		if len(bytes.TrimSpace(line)) > 0 {
			var entry memory.Entry
			if entry, err = memory.DecodeJSON(line); err == nil {
				entries = append(entries, entry)
			}
		}
		if !complete {
			return entries, tail{size: len(line), err: err}, nil
		}
		if err != nil {
			return nil, tail{}, &LineError{Path: path, Line: number, Err: err}
		}
		content = rest
	}
}
