package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// queue is the advisory lock on the file FILE.lock beside the database. All
// writers of all processes line up at it before they ask SQLite for the write
// lock: SQLite's own waiting is a series of sleeps, which starves writers
// under load. It also covers the making of a new file, which SQLite cannot.
// The kernel lets go of it when a process dies, so it never goes stale; the
// file is never removed, since two processes could then lock two files.
//
// Safety does not rest on it. Whoever gets past still needs SQLite's lock.
type queue struct {
	path string
	lock *flock.Flock
}

func newQueue(path string) *queue { return &queue{path: path, lock: newLock(path)} }

func newLock(path string) *flock.Flock { return flock.New(path, flock.SetPermissions(0o600)) }

// enter waits for the lock until ctx ends. Only one goroutine at a time may
// be in enter or inside; the store's single writer connection sees to that.
func (q *queue) enter(ctx context.Context) error {
	if got, err := q.lock.TryLock(); got || err != nil {
		return q.blame(err)
	}
	// The kernel wakes waiters in order, where polling would be a lottery.
	lock := q.lock
	done := make(chan error, 1)
	go func() { done <- lock.Lock() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		// The wait itself cannot be ended: leave it to itself, and let the
		// lock go as soon as it comes.
		q.lock = newLock(q.path)
		go func() {
			if <-done == nil {
				_ = lock.Unlock() // closes the descriptor in any case
			}
		}()
		return ctx.Err()
	}
}

// blame says of a lock that cannot be made that it is for the folder. Nobody
// has asked for the lock.
func (q *queue) blame(err error) error {
	failure, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		return err
	}
	if _, err := os.Lstat(q.path); !errors.Is(err, fs.ErrNotExist) {
		return failure
	}
	return &fs.PathError{Op: "make files in", Path: filepath.Dir(q.path), Err: failure.Err}
}

func (q *queue) leave() error { return q.lock.Unlock() }
