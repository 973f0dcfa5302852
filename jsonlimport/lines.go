package jsonlimport

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// line is one line of a source. Its bytes are valid until the next is read.
type line struct {
	number     int    // from 1
	raw        []byte // as it stands in the source, line break included
	text       []byte // without the line break
	terminated bool
	tooLong    bool // raw is only its beginning
}

func (l *line) blank() bool { return len(bytes.Trim(l.text, " \t\r")) == 0 }

// lineReader splits a stream into lines, which bufio.Scanner would do but for
// the end of a line that is too long: it must still reach the file of
// rejected lines.
type lineReader struct {
	in    *bufio.Reader
	limit int // bytes of the longest line accepted
	line  line
	buf   []byte
}

func newLineReader(in *bufio.Reader, limit int) *lineReader {
	return &lineReader{in: in, limit: limit}
}

// next reads the next line; io.EOF means that there is none.
func (r *lineReader) next() (*line, error) {
	if err := r.copyRest(io.Discard); err != nil {
		return nil, err
	}
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		tooLong := len(bytes.TrimRight(r.buf, "\r\n")) > r.limit
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && !tooLong:
			continue
		case errors.Is(err, io.EOF) && len(r.buf) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
		text, terminated := bytes.CutSuffix(r.buf, []byte("\n"))
		if terminated {
			text = bytes.TrimSuffix(text, []byte("\r"))
		}
		r.line = line{
			number:     r.line.number + 1,
			raw:        r.buf,
			text:       text,
			terminated: terminated,
			tooLong:    tooLong,
		}
		return &r.line, nil
	}
}

// copyRest writes to w what is left of a line that is too long.
func (r *lineReader) copyRest(w io.Writer) error {
	if !r.line.tooLong || r.line.terminated {
		return nil
	}
	for {
		part, err := r.in.ReadSlice('\n')
		if _, err := w.Write(part); err != nil {
			return err
		}
		switch {
		case err == nil, errors.Is(err, io.EOF):
			r.line.tooLong = false
			return nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return err
		}
	}
}
