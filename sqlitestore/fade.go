package sqlitestore

import (
	"math"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// Effective strength changes with every second, so it cannot be indexed. Its
// order can: strength*exp(-rate*(now-base)) is exp(fade - rate*now), where
//
//	fade = ln(strength) + rate*base
//
// does not depend on now. Only entries whose base lies in the future are out of
// this order: their strength does not fade yet, and is less than fade says.
const ratePerSecond = memory.DecayPerHour / 3600

// fadeMargin covers what the order leaves out: effective strength counts
// whole seconds, fade all of them, and both are rounded.
const fadeMargin = 2 * ratePerSecond

// fadeOfNothing is the fade of a strength of zero or less, below all others.
const fadeOfNothing = -math.MaxFloat64

func fadeOf(e *memory.Entry) float64 {
	if e.Strength <= 0 {
		return fadeOfNothing
	}
	return math.Log(e.Strength) + ratePerSecond*inSeconds(e.StrengthBase())
}

// fadeThreshold is the fade of a row whose effective strength is the given
// one at the time now.
func fadeThreshold(strength float64, now time.Time) float64 {
	return math.Log(strength) + ratePerSecond*inSeconds(now)
}

func inSeconds(t time.Time) float64 { return float64(t.UnixNano()) / float64(time.Second) }

// ahead reports whether the strength does not fade yet at the time of the write.
func (w *writeTx) ahead(e *memory.Entry) bool { return e.StrengthBase().After(w.now) }

// unfading is the condition of the rows whose strength does not fade yet. They
// are among those that were ahead when they were written, unless the clock is
// behind that of a write.
func (w *writeTx) unfading() (condition, error) {
	var writtenAt int64
	err := w.get(&writtenAt, `SELECT written_at FROM store`)
	c := where("s.strength_base > ?", nanos(w.now))
	if nanos(w.now) >= writtenAt {
		c = c.and(where("s.ahead"))
	}
	return c, err
}

// trustClock lets unfading rely on the clock again after a write by one that was
// ahead, which it otherwise could not until then: it says anew of all rows which
// are ahead.
func (w *writeTx) trustClock() error {
	now := nanos(w.now)
	result, err := w.exec(`UPDATE store SET written_at = ?1 WHERE written_at > ?1`, now)
	if err != nil {
		return err
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		return err
	}
	_, err = w.exec(`UPDATE entry_state SET ahead = (strength_base > ?1) WHERE ahead <> (strength_base > ?1)`, now)
	return err
}
