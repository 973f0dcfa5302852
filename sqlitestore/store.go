package sqlitestore

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Store is a handle on a SQLite store, for as many goroutines and processes
// as like. Make one with [Open].
type Store struct {
	*database
	scope memory.Scope
}

var _ memory.Backend = (*Store)(nil)

// Open opens the store in the file at path, and creates the file, with the
// folders above it, where it is missing. Folders are made with mode 0700,
// files with 0600. Beside it SQLite keeps FILE-wal and FILE-shm, and loopmem
// the lock FILE.lock.
//
// What is not a loopmem database is refused with [ErrNotStore], one made by a
// newer version with [ErrNewerSchema]; neither is changed.
func Open(ctx context.Context, path string, options Options, common ...memory.Option) (*Store, error) {
	settings := memory.NewSettings(common...)
	d, err := open(ctx, path, options.withDefaults(), settings)
	if err != nil {
		return nil, err
	}
	return d.handle(ctx)
}

// OpenInMemory opens a new, private store that is gone when it is closed. It
// works on a single connection, so that calls take turns.
func OpenInMemory(ctx context.Context, common ...memory.Option) (*Store, error) {
	d, err := openInMemory(ctx, Options{}.withDefaults(), memory.NewSettings(common...))
	if err != nil {
		return nil, err
	}
	return d.handle(ctx)
}

// handle returns the first handle on a database that was just opened.
func (d *database) handle(ctx context.Context) (*Store, error) {
	s := &Store{database: d}
	entries := d.settings.Entries
	d.settings.Entries = nil
	if _, err := s.StoreBatch(ctx, entries, memory.Keep); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// In implements [memory.Backend].
func (s *Store) In(scope memory.Scope) memory.Backend {
	return &Store{database: s.database, scope: s.scope.In(scope)}
}

// Close writes what was put off and closes the file. Calls that are running
// are waited for, later ones fail with [memory.ErrClosed]. The error tells
// whether access book-keeping was lost; entries never are. Where another
// process holds the write lock, Close waits for it no longer than two seconds,
// nor than [Options.BusyTimeout]: a program that is told to end should.
func (s *Store) Close() error {
	d := s.database
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	d.mu.Unlock()
	d.mirroring.stop()
	d.running.Wait()

	var errs []error
	timeout := min(closePatience, d.options.BusyTimeout)
	if d.pending.close() {
		err := d.pass(context.Background(), timeout, func(*writeTx) error { return nil })
		if err != nil {
			errs = append(errs, fmt.Errorf("count the latest accesses: %w", err))
		}
	}
	errs = append(errs, d.readers.close())
	if d.writer != d.readers {
		if d.unscrubbed {
			d.emptyLog(context.Background(), timeout)
		}
		errs = append(errs, d.writer.close(), d.anchor.close())
	}
	return errors.Join(errs...)
}

// Len implements [memory.LoopMemory].
func (s *Store) Len(ctx context.Context) (n int, err error) {
	where := within(s.scope)
	err = s.view(ctx, func(t *tx) error {
		return t.get(&n, `SELECT count(*) FROM entry AS e `+where.sql(), where.args...)
	})
	return n, err
}

// Get implements [memory.Recaller].
func (s *Store) Get(ctx context.Context, id uuid.UUID) (record memory.Record, err error) {
	err = s.view(ctx, func(t *tx) error {
		r, err := s.load(t, id)
		record = r.record()
		return err
	})
	if err != nil {
		return memory.Record{}, fmt.Errorf("get %s: %w", id, err)
	}
	return record, nil
}

// load reads the entry of that id, or [memory.ErrNotFound] where there is
// none within the scope.
func (s *Store) load(t *tx, id uuid.UUID) (row, error) {
	rows, err := t.rows(where("e.id = ?", id[:]).and(within(s.scope)), "")
	if err != nil {
		return row{}, err
	}
	if len(rows) == 0 {
		return row{}, memory.ErrNotFound
	}
	return rows[0], nil
}

// Resolve implements [memory.Lister].
func (s *Store) Resolve(ctx context.Context, text string) (uuid.UUID, error) {
	prefix, err := memory.ParseIDPrefix(text)
	if err != nil {
		return uuid.Nil, err
	}
	first, last := idRange(prefix)
	inRange := where("e.id BETWEEN ? AND ?", first[:], last[:]).and(within(s.scope))
	var found []uuid.UUID
	err = s.view(ctx, func(t *tx) error {
		return t.collect(&found, `SELECT e.id FROM entry AS e `+inRange.sql()+` LIMIT 2`, inRange.args...)
	})
	if err != nil {
		return uuid.Nil, err
	}
	return memory.OnlyID(text, found)
}

// idRange returns the lowest and the highest id that begin with the digits.
func idRange(prefix string) (first, last uuid.UUID) {
	const lowest, highest = "00000000000000000000000000000000", "ffffffffffffffffffffffffffffffff"
	return uuid.MustParse(prefix + lowest[len(prefix):]), uuid.MustParse(prefix + highest[len(prefix):])
}
