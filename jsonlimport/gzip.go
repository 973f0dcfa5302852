package jsonlimport

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
)

const gzipMagic = "\x1f\x8b"

// errTrailing means that something else stands after packed data.
var errTrailing = errors.New("something else follows the gzip data")

// gzipReader reads the members of a gzip file one after the other. What the
// library does by itself would take anything after the last one for a further
// member that is cut short.
type gzipReader struct {
	in     *bufio.Reader
	member *gzip.Reader
}

func newGzipReader(in *bufio.Reader) (*gzipReader, error) {
	member, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	member.Multistream(false)
	return &gzipReader{in: in, member: member}, nil
}

func (r *gzipReader) Read(p []byte) (int, error) {
	n, err := r.member.Read(p)
	if errors.Is(err, io.EOF) {
		err = r.next()
	}
	return n, err
}

// next begins the next member, or returns io.EOF if there is none.
func (r *gzipReader) next() error {
	start, err := r.in.Peek(len(gzipMagic))
	switch {
	case string(start) == gzipMagic:
		if err := r.member.Reset(r.in); err != nil {
			return err
		}
		r.member.Multistream(false)
		return nil
	case err != nil && !errors.Is(err, io.EOF):
		return err
	default:
		return r.padding()
	}
}

// padding reads to the end: zeros, as tapes and block devices leave them, are
// nothing, as for the program gzip.
func (r *gzipReader) padding() error {
	for {
		part, err := r.in.Peek(max(1, r.in.Buffered()))
		if len(bytes.Trim(part, "\x00")) > 0 {
			return errTrailing
		}
		if err != nil {
			return err
		}
		if _, err := r.in.Discard(len(part)); err != nil {
			return err
		}
	}
}
