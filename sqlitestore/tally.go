package sqlitestore

// tally is the change that a transaction makes to the account of all entries:
// how many there are, and the exclusive or of their content checksums. A
// checksum beside each row tells that the row has changed, but not that a row
// is missing, whether with a page that was lost or by the hand of another
// program. The account in the table store does; Check compares the two.
type tally struct {
	entries int
	sum     int64
}

func (t *tally) add(sum int64) {
	t.entries++
	t.sum ^= sum
}

func (t *tally) remove(sum int64) {
	t.entries--
	t.sum ^= sum
}

func (t *tally) change(old, changed int64) { t.sum ^= old ^ changed }

// enterTally brings the account in the store up to date, as the last change
// of a transaction.
func (w *writeTx) enterTally() error {
	if w.tally == (tally{}) {
		return nil
	}
	// SQL has no exclusive or; this is the same, and never overflows.
	_, err := w.exec(`
		UPDATE store
		SET entries = entries + ?1, content_sum = (content_sum | ?2) - (content_sum & ?2)`,
		w.tally.entries, w.tally.sum)
	return err
}
