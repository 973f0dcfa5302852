package filestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/memory"
)

// Open returns a handle on the file at path. If the process has none yet, it
// reads the file, or creates it, with mode 0600 and missing folders with 0700.
//
// Bytes after the last line end are a line whose write was cut short: it is
// kept if it is whole otherwise, else dropped with a warning to the logger,
// and either way the file is rewritten, as it is to drop a byte order mark. Any
// other line that is no entry is a [LineError], and nothing is changed. Blank
// lines are skipped; of two lines with one id the later counts.
func Open(path string, options ...memory.Option) (*Store, error) {
	return open(path, load, options)
}

// New returns a handle on the file at path like [Open], but if the process
// has none yet, the store begins empty, without reading or creating a file.
// What the file held is replaced by the first write.
func New(path string, options ...memory.Option) (*Store, error) {
	blank := func(path string, _ *slog.Logger) (*file, error) {
		mirror, err := memory.NewStore()
		return &file{path: path, mirror: mirror}, err
	}
	return open(path, blank, options)
}

func open(path string, load loader, options []memory.Option) (*Store, error) {
	settings := memory.NewSettings(options...)
	resolved, err := realpath.Resolve(path)
	if err != nil {
		return nil, err
	}
	f, err := acquire(resolved, load, settings.Logger)
	if err != nil {
		return nil, err
	}
	return newStore(f, func() error { return release(f) }, settings)
}

// OpenReadOnly reads the file at path as it stands and returns a handle of its
// own on that. Another program may have the file open and write to it: nothing
// is locked, repaired or written, and what is written meanwhile is not seen. A
// torn last line is ignored, with a warning to the logger.
//
// The operations that write are refused with [ErrReadOnly]; accesses are
// counted for as long as the handle is open.
func OpenReadOnly(path string, options ...memory.Option) (*Store, error) {
	settings := memory.NewSettings(options...)
	resolved, err := realpath.Resolve(path)
	if err != nil {
		return nil, err
	}
	in, err := os.Open(resolved)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f, torn, err := read(resolved, in)
	if err != nil {
		return nil, err
	}
	if torn.err != nil {
		settings.Logger.Warn("ignored a torn last line", "path", resolved, "bytes", torn.size, "reason", torn.err)
	}
	f.refusal = ErrReadOnly
	return newStore(f, func() error { return nil }, settings)
}

// newStore returns a handle on f, which release lets go, with the entries
// that the settings ask for.
func newStore(f *file, release func() error, settings memory.Settings) (*Store, error) {
	s := &Store{handle: &handle{file: f, release: release, settings: settings}}
	if len(settings.Entries) == 0 {
		return s, nil
	}
	if _, err := s.StoreBatch(context.Background(), settings.Entries, memory.Keep); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// load reads the file for writing, and repairs or creates it.
func load(path string, logger *slog.Logger) (*file, error) {
	in, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	start := make([]byte, len(byteOrderMark))
	n, _ := in.ReadAt(start, 0)
	marked := string(start[:n]) == byteOrderMark
	f, torn, err := read(path, in)
	// Closed before it is replaced, which Windows asks for.
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	sweep(path)
	if torn.size == 0 && !marked {
		return f, nil
	}
	if torn.err != nil {
		logger.Warn("dropped a torn last line", "path", path, "bytes", torn.size, "reason", torn.err)
	}
	return f, f.rewrite(f.mirror)
}

// read makes the mirror of an open file.
func read(path string, in *os.File) (*file, tail, error) {
	info, err := in.Stat()
	if err != nil {
		return nil, tail{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, tail{}, fmt.Errorf("%s is no regular file", path)
	}
	var content bytes.Buffer
	content.Grow(int(info.Size()) + bytes.MinRead)
	if _, err := content.ReadFrom(in); err != nil {
		return nil, tail{}, err
	}
	entries, torn, err := parse(path, content.Bytes())
	if err != nil {
		return nil, tail{}, err
	}
	mirror, err := memory.NewStore()
	if err != nil {
		return nil, tail{}, err
	}
	if _, err := mirror.StoreBatch(context.Background(), entries, memory.Replace); err != nil {
		return nil, tail{}, err
	}
	return &file{path: path, mirror: mirror, onDisk: info, size: int64(content.Len())}, torn, nil
}
