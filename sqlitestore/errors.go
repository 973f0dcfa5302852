package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/loopmem/loopmem/memory"
)

// Errors that only a SQLite file can give; match them with [errors.Is].
var (
	// ErrNotStore means that a file is no loopmem database: no database at
	// all, or one of another program. It was not touched.
	ErrNotStore = errors.New("not a loopmem database")
	// ErrNewerSchema means that a newer version of loopmem has made the file.
	// It was not touched.
	ErrNewerSchema = errors.New("made by a newer version of loopmem")
	// ErrCorrupt means that the file is damaged.
	ErrCorrupt = errors.New("database is damaged")
	// ErrReplaced means that the file was deleted, moved or replaced while
	// the store was open. The write that noticed it is not in the file that
	// now has the name.
	ErrReplaced = errors.New("database file was deleted or replaced while in use")
	// ErrInUse means that processes have a file open that is to be replaced. It
	// is a [memory.ErrBusy] for which waiting is not likely to help.
	ErrInUse = fmt.Errorf("other processes have the database open: %w", memory.ErrBusy)
	// ErrReadOnly means that the file or its folder does not allow writing.
	ErrReadOnly = errors.New("database cannot be written")
	// ErrDiskFull means that there was no room for the write.
	ErrDiskFull = errors.New("disk is full")
)

// hints say what to do about an error, by its class.
var hints = map[error]string{
	memory.ErrBusy: "another process holds the write lock; try again",
	ErrNotStore:    "name another file",
	ErrNewerSchema: "update loopmem",
	ErrCorrupt:     "restore a backup, or salvage what can still be read with loopmem doctor --repair",
	ErrReplaced:    "open it again",
	ErrInUse:       "end the programs that use it first",
	ErrReadOnly:    "let this user write to the file and to its folder, or name another file",
	ErrDiskFull:    "nothing was changed; free some space and repeat",
}

// fileError is an error of a class, with the file and the cause.
func fileError(class error, path string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%s: %w; %s", path, class, hints[class])
	}
	return fmt.Errorf("%s: %w (%w); %s", path, class, cause, hints[class])
}

// explain translates an error of the driver or of the file system, by its
// code, and names the file. Errors that are ours already pass unchanged.
func explain(path string, err error) error {
	if _, ok := errors.AsType[*unreadable](err); ok && !errors.Is(err, ErrCorrupt) {
		return fileError(ErrCorrupt, path, err)
	}
	failure, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return explainSystem(path, err)
	}
	switch failure.Code() & 0xff { // the primary code of an extended one
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fileError(memory.ErrBusy, path, err)
	case sqlite3.SQLITE_NOTADB:
		return fileError(ErrNotStore, path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fileError(ErrCorrupt, path, err)
	case sqlite3.SQLITE_FULL:
		return fileError(ErrDiskFull, path, err)
	case sqlite3.SQLITE_IOERR:
		if failure.Code() == sqlite3.SQLITE_IOERR_SHMSIZE { // no room for the memory that processes share
			return fileError(ErrDiskFull, path, err)
		}
		return fmt.Errorf("%s: %w", path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN:
		return fileError(ErrReadOnly, path, err)
	default:
		return fmt.Errorf("%s: %w", path, err)
	}
}

func explainSystem(path string, err error) error {
	switch {
	case errors.Is(err, ErrReadOnly) || errors.Is(err, ErrDiskFull):
		return err
	case errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS):
		return fileError(ErrReadOnly, path, err)
	case errors.Is(err, syscall.ENOSPC):
		return fileError(ErrDiskFull, path, err)
	default:
		return err
	}
}

// busy tells apart why a wait for the write lock ended: the caller's own
// context, or the busy timeout.
func busy(ctx context.Context, path string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fileError(memory.ErrBusy, path, nil)
	}
	return explain(path, err)
}
