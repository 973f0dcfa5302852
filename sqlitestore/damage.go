package sqlitestore

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc64"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// SQLite's pages carry no checksum, so that a flipped bit in a text would go
// unnoticed. Each row has its own, over all that is stored of the entry.
//
// Rows are rewritten without anybody looking at them: Recall counts accesses,
// consolidation lets relevance decay. A checksum computed from what was read
// would fit again, and hide the damage for good. So what a checksum was off by
// before a change, it is off by afterwards; only an entry that is stored anew as
// a whole begins with a checksum that fits.

var crcTable = crc64.MakeTable(crc64.ECMA)

func checksum(blob []byte) int64 { return int64(crc64.Checksum(blob, crcTable)) }

// contentSum is the checksum of what the tables entry and embedding hold: the
// entry's JSONL form without its state.
func contentSum(e *memory.Entry) int64 {
	content := *e
	content.Relevance, content.Strength, content.AccessCount = 0, 0, 0
	content.CreatedAt, content.LastAccessed, content.LastDecayed = time.Unix(0, 0), nil, nil
	return checksum(content.AppendJSON(nil))
}

// stateSum is the checksum of what entry_state holds.
func stateSum(rowID, position int64, e *memory.Entry) int64 {
	blob := make([]byte, 0, 8*8)
	for _, n := range []uint64{
		uint64(rowID), uint64(position), uint64(nanos(e.CreatedAt)),
		math.Float64bits(float64(e.Relevance)), math.Float64bits(e.Strength), e.AccessCount,
	} {
		blob = binary.LittleEndian.AppendUint64(blob, n)
	}
	for _, t := range []*time.Time{e.LastAccessed, e.LastDecayed} {
		if t != nil {
			blob = binary.LittleEndian.AppendUint64(blob, uint64(t.UnixNano()))
		} else {
			blob = append(blob, 0)
		}
	}
	return checksum(blob)
}

// contentDamage is what the checksum of the content is off by, 0 if nothing.
func (r *row) contentDamage() int64 { return r.contentSum ^ contentSum(&r.entry) }

// stateDamage is what the checksum of the state is off by, 0 if nothing.
func (r *row) stateDamage() int64 {
	return r.stateSum ^ stateSum(r.rowID, r.position, &r.entry)
}

// damage is not 0 if anything of the row is damaged.
func (r *row) damage() int64 {
	if content := r.contentDamage(); content != 0 {
		return content
	}
	return r.stateDamage()
}

// unreadable is what a row is that holds something no entry can have. It is an
// [ErrCorrupt] once explain has named the file.
type unreadable struct {
	what string
	err  error
}

func (u *unreadable) Error() string { return u.what + " cannot be read: " + u.err.Error() }
func (u *unreadable) Unwrap() error { return u.err }

// cannotRead tells of a row that is unreadable, unless the reading was broken
// off.
func cannotRead(what string, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &unreadable{what, err}
}

// distrust puts the checksum of an entry's content off, because something that
// is damaged has come into it.
func (w *writeTx) distrust(id uuid.UUID, damage int64) error {
	if damage == 0 {
		return nil
	}
	var sum int64
	if err := w.get(&sum, `SELECT checksum FROM entry WHERE id = ?`, id[:]); err != nil {
		return err
	}
	w.tally.change(sum, sum^damage)
	_, err := w.exec(`UPDATE entry SET checksum = ? WHERE id = ?`, sum^damage, id[:])
	return err
}
