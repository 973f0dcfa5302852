// Package atomicfile writes files that appear whole or not at all.
package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// File is a file that takes the place of another once it is whole. Until then
// it lies beside it, with mode 0600.
type File interface {
	io.Writer
	// CloseAtomicallyReplace makes what was written durable and then visible
	// under the name.
	CloseAtomicallyReplace() error
	// Cleanup removes what was written, unless it has become visible.
	Cleanup() error
}

// New begins a file that is to take the place of the one at path, if any.
func New(path string) (File, error) { return create(path) }

// Place gives the file temp, which some other program has written, the name
// path beside it, in the place of what had that name. What it holds is made
// durable before, and the name after that.
func Place(temp, path string) error {
	file, err := os.OpenFile(temp, os.O_RDWR, 0) // Windows syncs only what could be written
	if err != nil {
		return err
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}
