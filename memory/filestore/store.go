package filestore

import (
	"context"
	"errors"

	"github.com/loopmem/loopmem/memory"
)

// Store is a handle on a file of memories. It is safe for concurrent use and
// must be closed.
//
// What consolidation, Prune and the capacity bound remove is gone at once:
// this store has no archive.
type Store struct {
	*handle
	scope memory.Scope
}

var _ memory.Backend = (*Store)(nil)

// handle is what Open returned, whatever scopes it was narrowed to since.
type handle struct {
	file     *file
	release  func() error
	settings memory.Settings
	closed   bool // guarded by file.mu
}

// Path returns the path of the file, absolute and without links.
func (s *Store) Path() string { return s.file.path }

// In implements [memory.Backend].
func (s *Store) In(scope memory.Scope) memory.Backend {
	return &Store{handle: s.handle, scope: s.scope.In(scope)}
}

// Close writes the accesses that Recall has counted since the last rewrite and
// lets the file go, which it does even if that fails. Every later call on the
// handle is [memory.ErrClosed].
func (s *Store) Close() error {
	f := s.file
	f.mu.Lock()
	if s.closed {
		f.mu.Unlock()
		return nil
	}
	s.closed = true
	var err error
	if f.behind && !errors.Is(f.refusal, ErrReadOnly) {
		if err = f.check(); err == nil {
			err = f.rewrite(f.mirror)
		}
	}
	f.mu.Unlock()
	return errors.Join(err, s.release())
}

// Flush writes everything to the disk, the accesses that Recall has counted
// included, and returns when it is safe from a power failure.
func (s *Store) Flush(ctx context.Context) error {
	if err := s.lockToWrite(); err != nil {
		return err
	}
	defer s.file.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.file.rewrite(s.file.mirror)
}

// lock begins a call; the caller must unlock s.file.mu if it succeeds.
func (s *Store) lock() error {
	s.file.mu.Lock()
	if s.closed {
		s.file.mu.Unlock()
		return memory.ErrClosed
	}
	return nil
}

// lockToWrite is lock for a call that changes the file.
func (s *Store) lockToWrite() error {
	if err := s.lock(); err != nil {
		return err
	}
	if err := s.file.check(); err != nil {
		s.file.mu.Unlock()
		return err
	}
	return nil
}

// view is the mirror as this handle sees it.
func (s *Store) view(mirror *memory.Store) *memory.Store {
	return mirror.View(s.settings, s.scope)
}

// ask lets the mirror answer.
func ask[T any](s *Store, question func(*memory.Store) (T, error)) (answer T, err error) {
	if err := s.lock(); err != nil {
		return answer, err
	}
	defer s.file.mu.Unlock()
	return question(s.view(s.file.mirror))
}

// change makes a change that needs the file to be rewritten: it tries it on a
// copy of the mirror and writes that down, unless the attempt fails or finds
// nothing to change.
func change[T any](s *Store, try func(*memory.Store) (result T, changed bool, err error)) (T, error) {
	if err := s.lockToWrite(); err != nil {
		var none T
		return none, err
	}
	defer s.file.mu.Unlock()
	return changeLocked(s, try)
}

// changeLocked is change for a caller that has locked to write.
func changeLocked[T any](s *Store, try func(*memory.Store) (result T, changed bool, err error)) (T, error) {
	next := s.file.mirror.Fork()
	result, changed, err := try(s.view(next))
	if err != nil || !changed {
		return result, err
	}
	err = s.file.rewrite(next)
	if err != nil && !errors.Is(err, ErrNotSynced) {
		var none T
		return none, err
	}
	return result, err
}
