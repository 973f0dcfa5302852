// Package atomicfile writes files that appear whole or not at all.
package atomicfile

import (
	"errors"
	"io"
	"io/fs"
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
	if err := syncFile(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// PlaceNew is Place for a name that nothing must have: if something has it, it
// fails with [fs.ErrExist] and temp stays.
func PlaceNew(temp, path string) error {
	if err := syncFile(temp); err != nil {
		return err
	}
	err := os.Link(temp, path) // a rename would replace what is there
	switch {
	case err == nil:
		err = os.Remove(temp)
	case !errors.Is(err, fs.ErrExist):
		err = claimAndRename(temp, path) // not every file system has links
	}
	if err != nil {
		return err
	}
	return SyncDirectory(filepath.Dir(path))
}

// claimAndRename takes the name with an empty file, which a rename may then
// replace.
func claimAndRename(temp, path string) error {
	claim, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(claim.Close(), os.Rename(temp, path)); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0) // Windows syncs only what could be written
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
