package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// What is removed is overwritten (the pragma secure_delete) in the pages that
// hold it. Two places are left in which its text can still be read by looking
// at the bytes: the write-ahead log, which holds older states of the pages
// until it is emptied, and the unused parts of pages, where copies stay behind
// when SQLite moves rows from page to page. Forget sees to the first, Compact
// to both.

// patience is how long the emptying of the log waits for readers.
const patience = 100 * time.Millisecond

// emptyLog takes the write-ahead log into the file and cuts it to nothing,
// unless a reader holds an old state open. Then the next writes of this
// process try it again, and at last Close. It is for calls that have entered.
func (d *database) emptyLog(ctx context.Context, timeout time.Duration) {
	if d.identity == nil {
		return // in memory
	}
	// What was forgotten is gone, whether the caller still waits or not.
	ctx = context.WithoutCancel(ctx)
	err := d.lineUp(ctx, timeout, func(_ context.Context, conn *connection) (bool, error) {
		wait := patience
		if d.unscrubbed {
			wait = 0 // the reader that was in the way may well be a loop around this call
		}
		d.unscrubbed = true
		d.scrub(ctx, conn, wait)
		return false, nil
	})
	if err != nil {
		d.settings.Logger.Warn("the log still holds what was forgotten", "database", d.path, "error", err)
	}
}

// scrub is emptyLog with the writer's connection in hand.
func (d *database) scrub(ctx context.Context, conn *connection, wait time.Duration) {
	emptied, err := conn.emptyLog(ctx, wait, d.options.BusyTimeout)
	if err != nil {
		d.settings.Logger.Warn("the log cannot be emptied", "database", d.path, "error", err)
	}
	d.unscrubbed = !emptied
}

// emptyLog reports whether it succeeded. Afterwards, the connection waits for
// locks as before.
func (c *connection) emptyLog(ctx context.Context, wait, afterwards time.Duration) (emptied bool, err error) {
	setWait := func(d time.Duration) error {
		_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", d.Milliseconds()))
		return err
	}
	if err := setWait(wait); err != nil {
		return false, err
	}
	var result struct {
		Busy         int `db:"busy"`
		Log          int `db:"log"`
		Checkpointed int `db:"checkpointed"`
	}
	err = c.GetContext(ctx, &result, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return err == nil && result.Busy == 0, errors.Join(err, setWait(afterwards))
}

// Compact rewrites the file, so that the space of what was removed goes back
// to the system and no byte of it stays in unused parts of pages, and empties
// the log. Others cannot write meanwhile, for about as long as it takes to
// copy the file, and there must be room on the disk for a second one. It fails
// with [memory.ErrBusy] while a reader holds an old state open. It changes no
// entry, so that a handle of any scope may do it.
func (s *Store) Compact(ctx context.Context) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()
	err := s.lineUp(ctx, s.options.BusyTimeout, func(_ context.Context, conn *connection) (bool, error) {
		for _, statement := range []string{
			// Words of which nothing is left are only marked in there.
			`INSERT INTO piece_trigram (piece_trigram) VALUES ('optimize')`,
			`INSERT INTO posting (posting) VALUES ('optimize')`,
			`VACUUM`,
		} {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return ctx.Err() != nil, busy(ctx, s.path, err)
			}
		}
		if s.identity == nil {
			return false, nil
		}
		emptied, err := conn.emptyLog(context.WithoutCancel(ctx), s.options.BusyTimeout, s.options.BusyTimeout)
		if err == nil && !emptied {
			err = fileError(memory.ErrBusy, s.path, errors.New("a reader holds an old state of the database open"))
		}
		if err == nil {
			s.unscrubbed = false
			err = s.sameFile()
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	return nil
}
