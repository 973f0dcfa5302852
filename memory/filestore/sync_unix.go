//go:build unix

package filestore

import (
	"errors"
	"os"
	"syscall"
)

// syncDirectory makes a rename in the directory survive a power failure.
func syncDirectory(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		err = nil // some network and FUSE file systems have no such thing
	}
	return errors.Join(err, dir.Close())
}
