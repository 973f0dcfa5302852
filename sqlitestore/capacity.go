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
	var before int
	if err := w.get(&before, `SELECT entries FROM store`); err != nil {
		return err
	}
	for before+w.tally.entries >= capacity {
		weakest, err := w.weakest()
		if err != nil {
			return err
		}
		rows, err := w.rowsByID([]int64{weakest}, condition{})
		if err != nil {
			return err
		}
		if err := w.archive(departing(&rows[0], rows[0].damage(), ReasonEvicted, uuid.Nil)); err != nil {
			return err
		}
	}
	return nil
}

// errEnough ends a walk over rows before its end.
var errEnough = errors.New("enough")

// fading is what a row's turn to leave depends on.
type fading struct {
	RowID    int64   `db:"row_id"`
	Position int64   `db:"position"`
	Created  int64   `db:"created_at"`
	Base     int64   `db:"strength_base"`
	Fade     float64 `db:"fade"`
	Strength float64 `db:"strength"`
}

// entry returns one of nothing but what memory.WeakerThan looks at.
func (f *fading) entry() *memory.Entry {
	return &memory.Entry{Strength: f.Strength, CreatedAt: fromNanos(f.Created), LastAccessed: new(fromNanos(f.Base))}
}

const selectFading = `
	SELECT s.row_id, s.position, s.created_at, s.strength_base, s.fade, s.strength
	FROM entry_state AS s CROSS JOIN entry AS e USING (row_id) `

const inOrderOfFading = ` ORDER BY s.fade, s.strength_base, s.created_at, s.position`

// fadingAfter is the condition of the rows that the walk in this order has
// before it.
func fadingAfter(last fading) condition {
	return where("NOT e.pinned").and(where("(s.fade, s.strength_base) > (?, ?)", last.Fade, last.Base))
}

// weakest finds the unpinned entry that has to make room first. It walks the
// rows in the order in which they fade, and stops where no later one can be
// weaker than the weakest so far; rows that do not fade yet are looked at
// apart.
func (w *writeTx) weakest() (rowID int64, err error) {
	var best *fading
	consider := func(f *fading) {
		if best == nil || memory.WeakerThan(f.entry(), best.entry(), w.now) ||
			!memory.WeakerThan(best.entry(), f.entry(), w.now) && f.Position < best.Position {
			best = f
		}
	}
	// Rows of one fade and base, such as those of an import, are equally
	// strong: the first of them stands for all, and the walk begins anew
	// behind them.
	last := fading{Fade: math.Inf(-1)}
	for again := true; again; {
		again = false
		err := w.eachFading(func(f *fading) error {
			if f.Fade == last.Fade && f.Base == last.Base {
				again = true
				return errEnough
			}
			if best != nil && !w.mayBeWeaker(f, best) {
				return errEnough
			}
			last = *f
			consider(f)
			return nil
		}, fadingAfter(last), inOrderOfFading)
		if err != nil && err != errEnough {
			return 0, err
		}
	}
	unfading, err := w.unfading()
	if err != nil {
		return 0, err
	}
	err = w.eachFading(func(f *fading) error {
		consider(f)
		return nil
	}, where("NOT e.pinned").and(unfading), "")
	if err == nil && best == nil {
		err = memory.ErrFull
	}
	if err != nil {
		return 0, err
	}
	return best.RowID, nil
}

// mayBeWeaker reports whether a row that fades like f, or one behind it in
// that order, may have to make room before best.
func (w *writeTx) mayBeWeaker(f, best *fading) bool {
	const tiny = 1e-300 // below it, float64 loses its precision
	least := best.entry().EffectiveStrength(w.now)
	// Strengths are clamped to 1, where the order says nothing.
	return least >= 1 || f.Fade <= fadeThreshold(max(least, tiny), w.now)+fadeMargin
}

func (w *writeTx) eachFading(visit func(*fading) error, c condition, order string) error {
	return w.each(func(rows *sqlx.Rows) error {
		var f fading
		if err := rows.StructScan(&f); err != nil {
			return err
		}
		return visit(&f)
	}, selectFading+c.sql()+order, c.args...)
}
