package jsonlimport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/loopmem/loopmem/internal/atomicfile"
)

// rejectedFile takes the lines of one source that are skipped, byte for byte.
// It appears under its name only when it is complete, and not at all if there
// are none. It replaces no file: what a former import set aside may be the
// only copy.
type rejectedFile struct {
	path string   // where it is to be
	out  *os.File // beside that; nil as long as no line was rejected
}

func (f *rejectedFile) add(l *line, rest func(io.Writer) error) error {
	if f.out == nil {
		out, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".*")
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

// commit makes the file appear and returns under which name; "" means that
// there is none. Where a former import has left the same lines, that is it.
func (f *rejectedFile) commit() (path string, err error) {
	if f.out == nil {
		return "", nil
	}
	if err := f.out.Close(); err != nil {
		return "", f.failed(err)
	}
	for n := 1; ; n++ {
		path := f.name(n)
		err := atomicfile.PlaceNew(f.out.Name(), path)
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, fs.ErrExist):
			return "", f.failed(err)
		case sameContent(f.out.Name(), path):
			return path, nil // discard removes the copy
		}
	}
}

// name returns the n-th name to try: x.rejected.jsonl, x.rejected-2.jsonl, ...
func (f *rejectedFile) name(n int) string {
	if n == 1 {
		return f.path
	}
	extension := filepath.Ext(f.path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.path, extension), n, extension)
}

// discard removes what was not committed.
func (f *rejectedFile) discard() {
	if f.out != nil {
		f.out.Close()
		os.Remove(f.out.Name())
	}
}

func (f *rejectedFile) failed(err error) error {
	return &FileError{File: f.path, Reason: "nothing was stored, since the skipped lines cannot be written beside the file (" + cause(err).Error() +
		"); read it from standard input, and they go to the current folder", Err: err}
}

// sameContent reports whether two files are equal. What cannot be read equals
// nothing.
func sameContent(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	if errA != nil || errB != nil || infoA.Size() != infoB.Size() || !infoB.Mode().IsRegular() {
		return false
	}
	contentA, errA := os.ReadFile(a)
	contentB, errB := os.ReadFile(b)
	return errA == nil && errB == nil && bytes.Equal(contentA, contentB)
}
