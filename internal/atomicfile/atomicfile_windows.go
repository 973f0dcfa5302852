package atomicfile

import (
	"os"
	"path/filepath"
)

// pendingFile stands in for renameio, which does not build on Windows because
// a rename is not atomic there in the sense of POSIX. It is the best there is:
// readers see one file or the other.
type pendingFile struct {
	*os.File
	path     string
	replaced bool
}

func create(path string) (File, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"*")
	if err != nil {
		return nil, err
	}
	return &pendingFile{File: file, path: path}, nil
}

func (f *pendingFile) CloseAtomicallyReplace() error {
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	err := os.Rename(f.Name(), f.path)
	f.replaced = err == nil
	return err
}

func (f *pendingFile) Cleanup() error {
	if f.replaced {
		return nil
	}
	f.Close()
	return os.Remove(f.Name())
}
