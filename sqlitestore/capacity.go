package sqlitestore

import (
	"errors"
	"math"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// makeRoom archives entries until one more fits the capacity.
func (w *writeTx) makeRoom() error {
	capacity := w.settings.Capacity
	if capacity == 0 {
		return nil
	}
	var count int
	if err := w.get(&count, `SELECT count(*) FROM entry_state`); err != nil {
		return err
	}
	for ; count >= capacity; count-- {
		rowID, err := w.weakest()
		if err != nil {
			return err
		}
		rows, err := w.rowsByID([]int64{rowID}, condition{})
		if err != nil {
			return err
		}
		if err := w.archive(&rows[0], ReasonEvicted, uuid.Nil); err != nil {
			return err
		}
	}
	return nil
}

// errEnough ends a walk over rows before its end.
var errEnough = errors.New("enough")

// weakest finds the unpinned entry that has to make room first. It walks the
// rows in the order in which they fade, and stops where no later one can be
// weaker than the weakest so far; rows that do not fade yet are looked at
// apart.
func (w *writeTx) weakest() (rowID int64, err error) {
	const tiny = 1e-300 // below it, float64 loses its precision
	best := struct {
		memory.Entry
		position int64
	}{}
	consider := func(rows *sqlx.Rows) (more bool, err error) {
		var id, position, created, base int64
		var fade, strength float64
		if err := rows.Scan(&id, &position, &created, &base, &fade, &strength); err != nil {
			return false, err
		}
		// An entry made of nothing but what WeakerThan looks at.
		e := memory.Entry{Strength: strength, CreatedAt: fromNanos(created), LastAccessed: new(fromNanos(base))}
		least := math.Inf(1)
		if rowID != 0 {
			least = best.EffectiveStrength(w.now)
		}
		weaker := rowID == 0 || memory.WeakerThan(&e, &best.Entry, w.now) ||
			!memory.WeakerThan(&best.Entry, &e, w.now) && position < best.position
		if weaker {
			rowID, best.Entry, best.position = id, e, position
		}
		// Strengths are clamped at both ends, where the order says nothing.
		more = least >= 1 || fade <= fadeThreshold(max(least, tiny), w.now)+fadeMargin
		return more, nil
	}
	const columns = `
		SELECT s.row_id, s.position, e.created_at, s.strength_base, s.fade, s.strength
		FROM entry_state AS s JOIN entry AS e USING (row_id)
		WHERE NOT e.pinned `
	err = w.each(func(rows *sqlx.Rows) error {
		more, err := consider(rows)
		if err == nil && !more {
			err = errEnough
		}
		return err
	}, columns+`ORDER BY s.fade`)
	if err != nil && err != errEnough {
		return 0, err
	}
	err = w.each(func(rows *sqlx.Rows) error {
		_, err := consider(rows)
		return err
	}, columns+`AND s.strength_base > ?`, nanos(w.now))
	if err == nil && rowID == 0 {
		err = memory.ErrFull
	}
	return rowID, err
}
