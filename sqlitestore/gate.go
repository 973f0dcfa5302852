package sqlitestore

import (
	"context"
	"errors"
	"time"
)

// view runs a read in a transaction of its own, so that everything it reads
// belongs to one state of the store.
func (d *database) view(ctx context.Context, read func(*tx) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.viewOn(ctx, d.readers, read)
}

// viewFresh is view on a connection of its own that has read nothing before.
func (d *database) viewFresh(ctx context.Context, read func(*tx) error) error {
	if d.readers.keep {
		return d.view(ctx, read)
	}
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.viewAlone(ctx, read)
}

// viewApart is viewFresh for reads that call back into the program: the
// program may then close the store, or wait for other reads, without waiting
// for itself.
func (d *database) viewApart(ctx context.Context, read func(*tx) error) error {
	if d.readers.keep {
		return d.view(ctx, read)
	}
	if err := d.enter(); err != nil {
		return err
	}
	d.leave()
	return d.viewAlone(ctx, read)
}

func (d *database) viewAlone(ctx context.Context, read func(*tx) error) (err error) {
	fresh, err := d.connect("rw", 1, "_query_only=1")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fresh.close()) }()
	return d.viewOn(ctx, fresh, read)
}

func (d *database) viewOn(ctx context.Context, readers *pool, read func(*tx) error) (err error) {
	conn, err := readers.acquire(ctx)
	if err != nil {
		return explain(d.path, err)
	}
	doubtful := true
	defer func() { readers.release(conn, doubtful || ctx.Err() != nil) }()

	// Reads may be interrupted where they stand: nothing can be left half
	// done. Only the in-memory database must not lose its connection. What
	// begins and ends them waits for nothing, and is not interrupted: the
	// driver may report the end of a context for a BEGIN that took effect.
	detached := context.WithoutCancel(ctx)
	run := ctx
	if readers.keep {
		run = detached
	}
	if err := conn.run(detached, "BEGIN"); err != nil {
		return explain(d.path, err)
	}
	defer func() {
		end := conn.run(detached, "ROLLBACK")
		doubtful = end != nil
		if err == nil && ctx.Err() == nil {
			err = explain(d.path, end)
		}
	}()
	return explain(d.path, read(&tx{ctx: run, caller: ctx, conn: conn, fault: d.fault.get()}))
}

// writeTx is the transaction of a write.
type writeTx struct {
	*tx
	*database
	now     time.Time // one for the whole transaction
	version int64     // of the store after it; 0 until bump
	tally   tally     // what it has added to the store so far
	loose   looseWords
	// changed are the rows of which anything changes, and allChange is set where
	// that may be nearly all.
	changed   []int64
	allChange bool
	touched   []touched // those of changed of which accesses are counted
	// epochBegun is set once the vocabulary has got a new epoch.
	epochBegun bool
	// lastPosition is the end of insertion order; 0 until endOfOrder.
	lastPosition int64
}

// write is the one gate through which every change of every process passes.
// It lines up for the lock, begins the transaction with the write lock in
// hand, does what this process has put off, runs change, and commits all of
// it or nothing. It waits for the lock up to the busy timeout.
func (d *database) write(ctx context.Context, change func(*writeTx) error) error {
	return d.writeWithin(ctx, d.options.BusyTimeout, change)
}

func (d *database) writeWithin(ctx context.Context, timeout time.Duration, change func(*writeTx) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	return d.pass(ctx, timeout, change)
}

// pass is the gate itself, also for the last write of a store that is closing.
func (d *database) pass(ctx context.Context, timeout time.Duration, change func(*writeTx) error) error {
	return d.lineUp(ctx, timeout, func(wait context.Context, conn *connection) (interrupted bool, err error) {
		return d.passWith(ctx, wait, conn, change)
	})
}

// passWith is pass with the writer's connection in hand, as lineUp wants it.
func (d *database) passWith(ctx, wait context.Context, conn *connection, change func(*writeTx) error) (interrupted bool, err error) {
	if err := conn.run(wait, "BEGIN IMMEDIATE"); err != nil {
		// The wait may have ended in the moment in which the transaction began.
		_ = conn.run(context.WithoutCancel(ctx), "ROLLBACK")
		return wait.Err() != nil, busy(ctx, d.path, err)
	}
	if err := d.transact(ctx, conn, change); err != nil {
		return false, err
	}
	if d.unscrubbed {
		d.scrub(ctx, conn, 0)
	}
	return false, d.sameFile()
}

// writeMuch is write for a change that makes the log grow a lot. The commit
// would then take the log into the file with the lock in hand, for a third of
// the time of the whole change; so that is done after it, while others write.
func (d *database) writeMuch(ctx context.Context, change func(*writeTx) error) error {
	if err := d.enter(); err != nil {
		return err
	}
	defer d.leave()
	err := d.lineUp(ctx, d.options.BusyTimeout, func(wait context.Context, conn *connection) (interrupted bool, err error) {
		if err := conn.checkpointAt(ctx, 0); err != nil {
			return true, explain(d.path, err)
		}
		interrupted, err = d.passWith(ctx, wait, conn, change)
		again := conn.checkpointAt(context.WithoutCancel(ctx), usualLog)
		return interrupted || again != nil, err
	})
	if err == nil && d.identity != nil {
		d.takeInLog(ctx)
	}
	return err
}

// takeInLog takes the log into the file as far as readers let it. If it fails,
// a later commit does it.
func (d *database) takeInLog(ctx context.Context) {
	conn, err := d.readers.acquire(ctx)
	if err != nil {
		return
	}
	err = conn.run(context.WithoutCancel(ctx), "PRAGMA wal_checkpoint(PASSIVE)")
	d.readers.release(conn, err != nil)
	if err != nil {
		d.settings.Logger.Warn("the log cannot be taken into the file", "database", d.path, "error", err)
	}
}

// lineUp waits for the turn of this process to write and has do use the
// writer's connection, while no other process that keeps to the rules writes.
// If do reports that the connection was interrupted, it is not used again.
func (d *database) lineUp(ctx context.Context, timeout time.Duration, do func(wait context.Context, conn *connection) (interrupted bool, err error)) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := d.writer.acquire(wait)
	if err != nil {
		return busy(ctx, d.path, err)
	}
	interrupted := false
	defer func() { d.writer.release(conn, interrupted) }()
	if d.queue != nil {
		if err := d.queue.enter(wait); err != nil {
			return busy(ctx, d.path, err)
		}
		defer d.queue.leave()
	}
	if err := d.sameFile(); err != nil {
		return err
	}
	interrupted, err = do(wait, conn)
	return err
}

// transact runs the change within the transaction that has just begun.
func (d *database) transact(ctx context.Context, conn *connection, change func(*writeTx) error) (err error) {
	detached := context.WithoutCancel(ctx)
	w := &writeTx{
		tx:       &tx{ctx: detached, caller: ctx, conn: conn, fault: d.fault.get()},
		database: d,
		now:      d.settings.Now().UTC().Round(0),
	}
	putOff := d.pending.take()
	committed := false
	defer func() {
		if committed {
			return
		}
		// Also on the way of a panic. SQLite may have rolled back by itself
		// (a full disk does that); then this fails and means nothing.
		_ = conn.run(detached, "ROLLBACK")
		d.vocabulary.forgetAll()
		d.putOff(putOff)
	}()
	if err := w.applyPending(putOff); err != nil {
		return explain(d.path, err)
	}
	if err := change(w); err != nil {
		return explain(d.path, err)
	}
	if err := w.dropLoose(); err != nil {
		return explain(d.path, err)
	}
	if err := w.giveNotice(); err != nil {
		return explain(d.path, err)
	}
	if err := w.enterTally(); err != nil {
		return explain(d.path, err)
	}
	if err := w.check("COMMIT"); err != nil {
		return explain(d.path, err)
	}
	if err := conn.run(detached, "COMMIT"); err != nil {
		return explain(d.path, err)
	}
	committed = true
	if len(w.touched) > 0 && len(w.touched) == len(w.changed) && !w.allChange {
		d.mirroring.takeOver(w.version, w.touched)
	}
	return nil
}

// bump gives the store a new version, once a transaction, and returns it.
// Every statement that changes an entry is preceded by it, with the rows that
// change.
func (w *writeTx) bump(changed ...int64) (int64, error) {
	w.changed = append(w.changed, changed...)
	if w.version != 0 {
		return w.version, nil
	}
	var row struct {
		Version int64 `db:"version"`
		Epoch   int64 `db:"vocabulary_epoch"`
	}
	err := w.get(&row, `
		UPDATE store SET version = version + 1, written_at = max(written_at, ?) WHERE only_row = 1
		RETURNING version, vocabulary_epoch`, nanos(w.now))
	if err != nil {
		return 0, err
	}
	w.version = row.Version
	w.vocabulary.sync(row.Epoch)
	return w.version, nil
}
