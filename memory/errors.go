package memory

import (
	"errors"
	"fmt"
)

// Errors that every store reports in the same way; match them with
// [errors.Is].
var (
	// ErrInvalid means that an entry, a query or an argument breaks a rule.
	// Nothing was changed.
	ErrInvalid = errors.New("invalid")
	// ErrNotFound means that there is no such entry within the scope of the
	// handle.
	ErrNotFound = errors.New("entry not found")
	// ErrConflict means that the entry has changed since the version that an
	// Update named, or that an id to be stored exists already. Read again and
	// decide anew.
	ErrConflict = errors.New("entry has changed")
	// ErrScope means that a handle was asked to write an entry that lies
	// outside its scope.
	ErrScope = errors.New("outside the scope of this handle")
	// ErrBusy means that the write lock was not to be had in time. Nothing
	// was changed; the call may be repeated.
	ErrBusy = errors.New("store is busy")
	// ErrFull means that a store of bounded capacity holds nothing but pinned
	// entries, so that none can make room.
	ErrFull = errors.New("store is full of pinned entries")
	// ErrClosed means that the store handle was closed.
	ErrClosed = errors.New("store is closed")
	// ErrModel means that an embedding comes from another model, or has
	// another dimension, than the ones the store holds.
	ErrModel = errors.New("embedding model differs from the store's")
)

// FieldError tells which field of an entry, a query or a configuration breaks
// a rule. It matches [ErrInvalid].
type FieldError struct {
	Field  string // the field's JSON name
	Reason string // what is wrong, and what is allowed
}

// Error returns the field and the reason.
func (e *FieldError) Error() string { return e.Field + " " + e.Reason }

// Unwrap returns [ErrInvalid].
func (e *FieldError) Unwrap() error { return ErrInvalid }

func invalid(field, reason string, args ...any) error {
	return &FieldError{Field: field, Reason: fmt.Sprintf(reason, args...)}
}
