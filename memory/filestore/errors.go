package filestore

import (
	"errors"
	"fmt"
)

// Errors of the file store; match them with [errors.Is]. With any but
// ErrNotSynced, the entries are what they were before.
var (
	// ErrInUse means that another process has the file open.
	ErrInUse = errors.New("the file is open in another process, and the file store serves only one; " +
		"for several, use the SQLite store: loopmem import moves a file there")
	// ErrChanged means that another program has changed, replaced or removed
	// the file since it was opened. Every write is refused, lest it undo
	// theirs, until all handles are closed and the file is opened again.
	ErrChanged = errors.New("another program has changed the file; close it and open it again")
	// ErrDamaged means that an append was cut short and could not be taken
	// back. Every write is refused until all handles are closed and the file
	// is opened again, which removes the torn line.
	ErrDamaged = errors.New("the file ends in a torn line that could not be removed; close it everywhere and open it again")
	// ErrReadOnly means that the handle comes from [OpenReadOnly].
	ErrReadOnly = errors.New("the file was opened read-only")
	// ErrNotSynced means that a change was made, in the file and in memory,
	// but that the directory could not be synced: a power failure may still
	// bring back the file as it was before.
	ErrNotSynced = errors.New("written, but not safe from a power failure yet")
)

// LineError tells which line of a file is no entry, and why. It matches
// [memory.ErrInvalid].
type LineError struct {
	Path string
	Line int   // from 1, blank lines counted
	Err  error // a [memory.DecodeError]
}

// Error returns the path, the line and the reason.
func (e *LineError) Error() string { return fmt.Sprintf("%s: line %d: %v", e.Path, e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }
