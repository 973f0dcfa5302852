package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// identity tells which files a database consists of while it is in use, by the
// end of their names.
type identity map[string]os.FileInfo

// identify looks at the files of a database that a connection has read from.
// They stay the same for as long as that connection is open.
func identify(path string) (identity, error) {
	id := make(identity)
	for _, side := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + side)
		if err != nil {
			return nil, err
		}
		id[side] = info
	}
	return id, nil
}

// sameFile makes sure that the names of the database and of its side files
// still lead to the files that are open. A deleted file goes on taking writes
// that nobody will see; so does a deleted log until it is closed, and without
// the common shared memory, processes do not see each other's locks.
func (d *database) sameFile() error {
	for side, open := range d.identity {
		now, err := os.Stat(d.path + side)
		switch {
		case err == nil && os.SameFile(open, now):
		case err == nil:
			return fileError(ErrReplaced, d.path, fmt.Errorf("%s is another file now", d.path+side))
		case errors.Is(err, fs.ErrNotExist):
			return fileError(ErrReplaced, d.path, err)
		default:
			return fmt.Errorf("check the database file: %w", err)
		}
	}
	return nil
}
