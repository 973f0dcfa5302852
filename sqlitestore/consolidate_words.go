package sqlitestore

import (
	"encoding/json"
	"maps"
	"slices"
)

// What a pass takes out leaves words behind. Whether any other entry holds them
// takes as long to look up as all the rest, so a pass counts beforehand, and has
// little left to look up while others wait for the lock.

// countHolders counts the entries that stay and hold what goes.
func (p *passPlan) countHolders() {
	p.holders = make(map[string]int)
	for _, removal := range p.plan.Removed {
		for _, piece := range piecesOf(&p.rows[removal.Index].entry) {
			p.holders[piece] = 0
		}
	}
	if len(p.holders) == 0 {
		return
	}
	for i := range p.plan.Survivors {
		p.countHolder(p.plan.Survivors[i].Index, 1)
	}
}

// countHolder adds to the counts of the pieces that an entry holds. No pass
// changes the texts of an entry that stays.
func (p *passPlan) countHolder(index, n int) {
	for _, piece := range sortedSet(piecesOf(&p.rows[index].entry)) {
		if count, counted := p.holders[piece]; counted {
			p.holders[piece] = count + n
		}
	}
}

// findUnheld finds those pieces of the entries that go which no other row of
// the store holds. The plan is of all rows, or of some.
func (p *passPlan) findUnheld(t *tx, all bool) error {
	p.unheld = make(map[string]int64)
	var pieces []string
	for piece, n := range p.holders {
		if n == 0 {
			pieces = append(pieces, piece)
		}
	}
	list, err := json.Marshal(pieces)
	if err != nil {
		return err
	}
	var found []struct {
		ID    int64  `db:"piece_id"`
		Piece string `db:"piece"`
	}
	err = t.collect(&found, `SELECT piece_id, piece FROM piece WHERE piece IN (SELECT value FROM json_each(?))`, string(list))
	if err != nil {
		return err
	}
	goes := make(map[int64]bool, len(p.departures))
	for _, d := range p.departures {
		goes[d.row.rowID] = true
	}
	// The postings of a damaged text are those that it had before.
	all = all && len(p.aside) == 0 && (len(found) == 0 || !slices.ContainsFunc(p.rows, func(r row) bool { return r.contentDamage() != 0 }))
	for _, piece := range found {
		held := false
		if !all {
			err := t.eachHolder(anyOf(inAnyText, piece.ID), func(rowID int64) error {
				if held = !goes[rowID]; held {
					return errEnough
				}
				return nil
			})
			if ifNotEnough(err) != nil {
				return err
			}
		}
		if !held {
			p.unheld[piece.Piece] = piece.ID
		}
	}
	return nil
}

// stillUnheld takes from pieces that nobody held those that a changed row holds,
// as it is before the pass changes it: such a piece may have been dropped in the
// meantime, and be back with another id.
func (w *writeTx) stillUnheld(unheld map[string]int64, changed []int64) (map[string]int64, error) {
	rows, err := w.rowsByID(changed, condition{})
	if err != nil {
		return nil, err
	}
	unheld = maps.Clone(unheld)
	for i := range rows {
		for _, piece := range piecesOf(&rows[i].entry) {
			delete(unheld, piece)
		}
	}
	return unheld, nil
}
