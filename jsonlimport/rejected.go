package jsonlimport

import (
	"io"

	"github.com/loopmem/loopmem/internal/atomicfile"
)

// rejectedFile takes the lines of one source that are skipped, byte for byte.
// It appears under its name only when it is complete, and not at all if there
// are none. What a former import left there is replaced.
type rejectedFile struct {
	path string
	out  atomicfile.File // nil as long as no line was rejected
}

func (f *rejectedFile) add(l *line, rest func(io.Writer) error) error {
	if f.out == nil {
		out, err := atomicfile.New(f.path)
		if err != nil {
			return f.failed(err)
		}
		f.out = out
	}
	if _, err := f.out.Write(l.raw); err != nil {
		return f.failed(err)
	}
	return rest(f.out)
}

// commit makes the file appear.
func (f *rejectedFile) commit() error {
	if f.out == nil {
		return nil
	}
	if err := f.out.CloseAtomicallyReplace(); err != nil {
		return f.failed(err)
	}
	return nil
}

// discard removes what was not committed.
func (f *rejectedFile) discard() {
	if f.out != nil {
		f.out.Cleanup()
	}
}

func (f *rejectedFile) failed(err error) error {
	return &FileError{File: f.path, Reason: "skipped lines cannot be written: " + cause(err).Error(), Err: err}
}
