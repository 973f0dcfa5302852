package sqlitestore

import (
	"slices"
	"strings"

	"github.com/loopmem/loopmem/memory"
)

// decay is what a pass changes of a row that it neither moves nor merges, and
// of nearly every row.
type decay struct {
	row         *row
	checksum    int64
	relevance   float64
	zeroSigns   int
	lastDecayed *int64
}

// decayOf returns what the pass changes of a survivor, if it is that and no
// more.
func (p *passPlan) decayOf(survivor *memory.Survivor) (d decay, only bool) {
	old, e := &p.rows[survivor.Index], &survivor.Entry
	if _, stamped := p.stamps[e.ID]; stamped || survivor.Rewritten || survivor.Slot != survivor.Index {
		return d, false
	}
	sum := stateSum(old.rowID, old.position, e) ^ old.stateDamage()
	d = decay{old, sum, float64(e.Relevance), zeroSigns(e), optionalNanos(e.LastDecayed)}
	return d, sum != old.stateSum
}

// decaysAtOnce is how many rows decay with one statement. A statement a row
// takes a third longer, and more than this are not faster.
const decaysAtOnce = 100

// writeDecay writes what a pass changes of every row, and nothing else: SQLite
// would write the indexes of the other columns anew too.
var writeDecay = `
	UPDATE entry_state
	SET checksum = new.column2, relevance = new.column3, zero_signs = new.column4, last_decayed = new.column5
	FROM (VALUES (?, ?, ?, ?, ?)` + strings.Repeat(`, (?, ?, ?, ?, ?)`, decaysAtOnce-1) + `) AS new
	WHERE row_id = new.column1`

func (w *writeTx) decay(decays []decay) error {
	for some := range slices.Chunk(decays, decaysAtOnce) {
		args := make([]any, 0, 5*decaysAtOnce)
		for _, d := range some {
			if _, err := w.bump(d.row.rowID); err != nil {
				return err
			}
			args = append(args, d.row.rowID, d.checksum, d.relevance, d.zeroSigns, d.lastDecayed)
		}
		// What is left over is NULL, which is the id of no row.
		if _, err := w.exec(writeDecay, args[:cap(args)]...); err != nil {
			return err
		}
	}
	return nil
}

// withoutOrder makes a change of the relevance of many of all rows without
// their index by relevance, and then that anew: sorting all rows takes less
// time than moving a quarter of them one by one. It is part of the transaction,
// so that nobody sees the store without the index.
func (w *writeTx) withoutOrder(many bool, change func() error) error {
	if !many {
		return change()
	}
	var create string
	found, err := w.find(&create, `SELECT sql FROM sqlite_schema WHERE name = 'entry_state_by_relevance'`)
	if err != nil {
		return err
	}
	if !found { // the doctor's business
		return change()
	}
	if _, err := w.exec(`DROP INDEX entry_state_by_relevance`); err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	_, err = w.exec(create)
	return err
}
