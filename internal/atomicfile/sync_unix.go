//go:build unix

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// SyncDirectory makes a rename in the directory survive a power failure.
func SyncDirectory(path string) error {
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
