package sqlitestore

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
)

// rememberedChanges is about how many changed rows the store keeps account of.
// Who has not caught up for longer reads all rows anew.
const rememberedChanges = 20_000

// giveNotice tells processes that remember rows which ones have changed, at the
// end of a transaction. With as many as no mirror would catch up with, it need
// not say which.
func (w *writeTx) giveNotice() error {
	if w.allChange || len(w.changed) > latestChanges {
		return w.beginAnew()
	}
	if len(w.changed) == 0 {
		return nil
	}
	list, err := json.Marshal(slices.Compact(slices.Sorted(slices.Values(w.changed))))
	if err != nil {
		return err
	}
	_, err = w.exec(`INSERT INTO change (version, row_id) SELECT ?, value FROM json_each(?)`, w.version, string(list))
	if err != nil {
		return err
	}
	return w.boundChanges()
}

// changedSince returns the rows that have changed, come or gone since a version,
// which must not be before that of which the store keeps account.
func (t *tx) changedSince(version int64) (rowIDs []int64, err error) {
	err = t.collect(&rowIDs, `SELECT DISTINCT row_id FROM change WHERE version > ?`, version)
	return rowIDs, err
}

// beginAnew has every process that remembers rows read them anew, as nearly
// all may have changed.
func (w *writeTx) beginAnew() error {
	if _, err := w.exec(`UPDATE store SET changes_since = version`); err != nil {
		return err
	}
	_, err := w.exec(`DELETE FROM change`)
	return err
}

// boundChanges drops the oldest changes now and then. Counting them takes about
// a millisecond, so that not every write should; and no process need know of
// the writes of others if it is left to chance.
func (w *writeTx) boundChanges() error {
	const changes = rememberedChanges / 10 // from one time to the next, on average
	if len(w.changed) <= rand.IntN(changes) {
		return nil
	}
	_, err := w.exec(`
		UPDATE store SET changes_since = max(changes_since, coalesce(
			(SELECT version FROM change ORDER BY version DESC LIMIT 1 OFFSET ?), 0))`,
		rememberedChanges)
	if err != nil {
		return err
	}
	_, err = w.exec(`DELETE FROM change WHERE version <= (SELECT changes_since FROM store)`)
	return err
}
