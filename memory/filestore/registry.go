package filestore

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/gofrs/flock"
)

// registry knows the files that are open in this process. It has to be one
// for the whole process: two states of one file would undo each other's work.
var registry = struct {
	mu    sync.Mutex // guards files and what they point to
	files map[string]*opened
}{files: make(map[string]*opened)}

// opened is a file with its handles.
type opened struct {
	file    *file
	handles int
	lock    *flock.Flock
}

// loader makes the shared state of the file at a resolved path.
type loader func(path string, logger *slog.Logger) (*file, error)

// acquire returns the state of the file at the resolved path, which load makes
// if no handle has it yet. Each call needs a release.
func acquire(path string, load loader, logger *slog.Logger) (*file, error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if o := registry.files[path]; o != nil {
		o.handles++
		return o.file, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	lock, err := lockOut(path, logger)
	if err != nil {
		return nil, err
	}
	f, err := load(path, logger)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	registry.files[path] = &opened{file: f, handles: 1, lock: lock}
	return f, nil
}

// release gives back what acquire returned. With the last handle the state
// goes, and other processes may open the file.
func release(f *file) error {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	o := registry.files[f.path]
	if o.handles--; o.handles > 0 {
		return nil
	}
	delete(registry.files, f.path)
	return o.lock.Unlock()
}

// lockOut keeps other processes out. The lock lies on a file of its own,
// since one on the file itself would be gone with its first rewrite. That file
// stays: whoever removed it could do so while another process waits to lock
// it. The lock ends with the process, however that ends.
func lockOut(path string, logger *slog.Logger) (*flock.Flock, error) {
	lock := flock.New(path + ".lock")
	locked, err := lock.TryLock()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		logger.Warn("no file locks here: nothing keeps other processes away", "path", path)
		return lock, nil
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", path, err)
	case !locked:
		return nil, fmt.Errorf("open %s: %w", path, ErrInUse)
	}
	return lock, nil
}
