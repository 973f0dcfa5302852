package jsonlimport

import (
	"bufio"
	"errors"
	"io"
	"iter"
	"math"
	"os"

	"github.com/loopmem/loopmem/memory"
)

// spool keeps entries in a temporary file, for a form that must have seen all
// of them before it can write the first. To range over the store again would
// be to see another state of it.
type spool struct {
	file *os.File
	out  *bufio.Writer
	line []byte
}

func newSpool() (*spool, error) {
	file, err := newTemporary("", "loopmem-export-*.jsonl")
	if err != nil {
		return nil, err
	}
	return &spool{file: file, out: bufio.NewWriterSize(file, bufferSize)}, nil
}

func (s *spool) close() { closeTemporary(s.file) }

func (s *spool) add(e *memory.Entry) error {
	s.line = append(e.AppendJSON(s.line[:0]), '\n')
	_, err := s.out.Write(s.line)
	return err
}

// entries are those that were added, in their order.
func (s *spool) entries() iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		err := s.out.Flush()
		if err == nil {
			_, err = s.file.Seek(0, io.SeekStart)
		}
		lines := newLineReader(bufio.NewReaderSize(s.file, bufferSize), math.MaxInt)
		for err == nil {
			var l *line
			var e memory.Entry
			if l, err = lines.next(); err != nil {
				break
			}
			if e, err = memory.DecodeJSON(l.text); err == nil && !yield(e, nil) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			yield(memory.Entry{}, err)
		}
	}
}
