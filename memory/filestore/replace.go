package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/internal/atomicfile"
	"github.com/loopmem/loopmem/memory/filestore/internal/fault"
)

// replace puts a new file with that content in the place of the one at path,
// if any, or leaves that one as it is. It returns what it put there; an error
// besides is then an [ErrNotSynced].
func replace(path string, content []byte) (fs.FileInfo, error) {
	temp := path + "." + uuid.NewString() + tempSuffix
	written, err := writeTemp(path, temp, content)
	if err != nil {
		return nil, err
	}
	err = fault.At(path, fault.Rename)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(temp))
	}
	err = fault.At(path, fault.DirectorySync)
	if err == nil {
		err = atomicfile.SyncDirectory(filepath.Dir(path))
	}
	if err != nil {
		return written, fmt.Errorf("%w: %w", ErrNotSynced, err)
	}
	return written, nil
}

// writeTemp writes and syncs the file that is to replace the one at path. It
// is created exclusively, under a name that cannot be foreseen, so that nobody
// can have it lead elsewhere.
func writeTemp(path, temp string, content []byte) (written fs.FileInfo, err error) {
	if err := fault.At(path, fault.TempCreate); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		err = errors.Join(err, file.Close())
		if err != nil {
			err = errors.Join(err, os.Remove(temp))
		}
	}()
	if old, err := os.Stat(path); err == nil {
		// File systems without permissions refuse this; the file then
		// remains readable to its owner only.
		_ = file.Chmod(old.Mode().Perm())
	}
	if err := fault.WriteTo(path, fault.Write, file, content); err != nil {
		return nil, err
	}
	if err := fault.At(path, fault.Sync); err != nil {
		return nil, err
	}
	if err := file.Sync(); err != nil {
		return nil, err
	}
	return file.Stat()
}

const tempSuffix = ".tmp"

// sweep removes the temporary files that crashed rewrites of the file at path
// left beside it. It is only called with the lock held, so none is in use.
// What cannot be removed does no harm.
func sweep(path string) {
	siblings, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, sibling := range siblings {
		if sibling.Type().IsRegular() && isTemp(sibling.Name(), filepath.Base(path)) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), sibling.Name()))
		}
	}
}

// isTemp reports whether name is one that replace, or the Rust store, gives to
// temporary files for the file named base: exactly those, since other people's
// end in .tmp too.
func isTemp(name, base string) bool {
	middle, ok := strings.CutPrefix(name, base+".")
	if !ok {
		return false
	}
	middle, ok = strings.CutSuffix(middle, tempSuffix)
	id, err := uuid.Parse(middle)
	return ok && err == nil && id.String() == middle
}
