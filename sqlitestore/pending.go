package sqlitestore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// pending is access book-keeping that this process owes to the store: stamps
// of Retrieve, which always come a moment later, and touches of Recall that
// found the lock taken. The next write of the process takes it along.
type pending struct {
	mu        sync.Mutex // guards everything below
	work      backlog
	scheduled *time.Timer // the next write for its own sake, or nil
	closed    bool
	writing   sync.WaitGroup // such a write that has begun

	// stopped ends the wait of such a write: Close waits in its own way.
	stopped context.Context
	stop    context.CancelFunc
}

// backlog is a portion of book-keeping.
type backlog struct {
	stamps  map[int64]time.Time // the latest access by row
	touches []touch
}

// touch is what Recall does to a row it has returned.
type touch struct {
	rowID     int64
	at        time.Time
	reinforce bool
}

// apply does the touches of a row to an entry that was read from it.
func (b *backlog) apply(rowID int64, e *memory.Entry) {
	for _, t := range b.touches {
		if t.rowID == rowID {
			e.Touch(t.at, t.reinforce)
		}
	}
}

func (b *backlog) empty() bool { return len(b.stamps) == 0 && len(b.touches) == 0 }

func newPending() *pending {
	p := &pending{work: backlog{stamps: make(map[int64]time.Time)}}
	p.stopped, p.stop = context.WithCancel(context.Background())
	return p
}

// take hands the backlog over to a write.
func (p *pending) take() backlog {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scheduled != nil && p.scheduled.Stop() {
		p.scheduled = nil // nothing is left for it to write
		p.writing.Done()
	}
	work := p.work
	p.work = backlog{stamps: make(map[int64]time.Time)}
	return work
}

// peek returns a copy of the backlog, which stays.
func (p *pending) peek() backlog {
	p.mu.Lock()
	defer p.mu.Unlock()
	return backlog{stamps: maps.Clone(p.work.stamps), touches: slices.Clone(p.work.touches)}
}

// restore puts work back before what has come since: it could not be done.
func (p *pending) restore(work backlog) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.work.touches = append(work.touches, p.work.touches...)
	for rowID, at := range work.stamps {
		p.work.stamps[rowID] = latest(p.work.stamps[rowID], at)
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// add puts book-keeping on the backlog, and arranges that it is written soon,
// by a call of flush, even if the process writes nothing else.
func (p *pending) add(work backlog, flush func()) {
	if work.empty() {
		return
	}
	p.restore(work)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.scheduled != nil || p.closed {
		return
	}
	p.writing.Add(1)
	p.scheduled = time.AfterFunc(stampDelay, func() {
		defer p.writing.Done()
		p.mu.Lock()
		p.scheduled = nil
		p.mu.Unlock()
		flush()
	})
}

// close stops the writes for their own sake, waits for one that runs, and
// reports whether anything is left to write.
func (p *pending) close() bool {
	p.stop()
	p.mu.Lock()
	p.closed = true
	if p.scheduled != nil && p.scheduled.Stop() {
		p.writing.Done()
	}
	p.mu.Unlock()
	p.writing.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.work.empty()
}

// putOff adds to the backlog of this process.
func (d *database) putOff(work backlog) {
	d.pending.add(work, func() {
		err := d.pass(d.pending.stopped, d.options.BusyTimeout, func(*writeTx) error { return nil })
		if err != nil && d.pending.stopped.Err() == nil {
			d.settings.Logger.Warn("accesses are not counted yet", "database", d.path, "error", err)
		}
	})
}

// settleUp writes what this process has put off, if it has.
func (d *database) settleUp(ctx context.Context) error {
	if owed := d.pending.peek(); owed.empty() {
		return nil
	}
	return d.write(ctx, func(*writeTx) error { return nil })
}

// applyPending does what was put off, relative to the rows as they are now.
// Rows that have gone in the meantime, replaced ones among them, are passed
// over: row ids are never used again.
func (w *writeTx) applyPending(work backlog) error {
	for rowID, at := range work.stamps {
		_, err := w.exec(`
			INSERT INTO access_stamp (row_id, accessed_at)
			SELECT row_id, ?2 FROM entry WHERE row_id = ?1
			ON CONFLICT (row_id) DO UPDATE SET accessed_at = max(accessed_at, excluded.accessed_at)`,
			rowID, nanos(at))
		if err != nil {
			return err
		}
	}
	return w.touchRows(work.touches)
}

// touchRows counts the accesses by Recall of the rows that are there. A row
// that several recalls have returned is written once.
func (w *writeTx) touchRows(touches []touch) error {
	if len(touches) == 0 {
		return nil
	}
	byRow := make(map[int64][]touch)
	for _, t := range touches {
		byRow[t.rowID] = append(byRow[t.rowID], t)
	}
	rows, err := w.touchable(slices.Sorted(maps.Keys(byRow)))
	if err != nil {
		return err
	}
	for i := range rows {
		if err := w.touchRow(&rows[i], byRow[rows[i].rowID]); err != nil {
			return err
		}
	}
	return nil
}

// touchable reads the states of those of the rows that are there.
func (t *tx) touchable(rowIDs []int64) (found []touched, err error) {
	list, err := json.Marshal(rowIDs)
	if err != nil {
		return nil, err
	}
	err = t.each(func(rows *sqlx.Rows) error {
		var r touched
		var now state
		err := rows.Scan(&r.rowID, &r.position, &r.sum,
			&now.CreatedAt, &now.Relevance, &now.Strength, &now.ZeroSigns, &now.AccessCount, &now.LastAccessed, &now.LastDecayed)
		now.fill(&r.entry)
		found = append(found, r)
		return err
	}, `
		SELECT row_id, position, checksum, created_at, relevance, strength, zero_signs, access_count, last_accessed, last_decayed
		FROM entry_state WHERE row_id IN (SELECT value FROM json_each(?))`, string(list))
	return found, err
}

// touchRow counts the accesses of one row.
func (w *writeTx) touchRow(r *touched, touches []touch) error {
	e := &r.entry
	damage := r.sum ^ stateSum(r.rowID, r.position, e)
	for _, t := range touches {
		e.Touch(t.at, t.reinforce)
	}
	if _, err := w.bump(r.rowID); err != nil {
		return err
	}
	r.sum = stateSum(r.rowID, r.position, e) ^ damage
	w.touched = append(w.touched, *r)
	// What stays as it is, is not named: SQLite would write its indexes anew.
	_, err := w.exec(`
		UPDATE entry_state
		SET checksum = ?, strength = ?, zero_signs = ?, access_count = ?,
		    last_accessed = ?, strength_base = ?, fade = ?, ahead = ?
		WHERE row_id = ?`,
		r.sum, e.Strength, zeroSigns(e), int64(e.AccessCount),
		optionalNanos(e.LastAccessed), nanos(e.StrengthBase()), fadeOf(e), w.ahead(e), r.rowID)
	return err
}
