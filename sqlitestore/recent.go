package sqlitestore

import (
	"sync"

	"github.com/loopmem/loopmem/sqlitestore/internal/mirror"
)

// recent remembers rows that were returned, beside the mirror and in the same
// state as it. The most relevant entries fill every result of Retrieve, and
// reading a row takes longer than finding it.
type recent struct {
	mu   sync.Mutex // guards rows; the mirror's lock is held as well
	rows map[int64]row
}

// What is remembered takes some megabytes at most.
const (
	recentRows    = 2000
	recentRowSize = 4 << 10 // bytes of text and vector
)

func (r *recent) forget(rowID int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.rows, rowID)
}

func (r *recent) forgetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rows = nil
}

// known returns the rows that are remembered, and the ids of the others.
func (r *recent) known(rowIDs []int64) (rows []row, others []int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range rowIDs {
		known, ok := r.rows[id]
		if !ok {
			others = append(others, id)
			continue
		}
		known.entry = known.entry.Clone()
		rows = append(rows, known)
	}
	return rows, others
}

func (r *recent) remember(rows []row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range rows {
		e := &one.entry
		if len(e.Memory)+len(e.Summary)+componentSize*len(e.Embedding) > recentRowSize {
			continue
		}
		if r.rows == nil || len(r.rows) >= recentRows {
			r.rows = make(map[int64]row)
		}
		one.entry = e.Clone()
		r.rows[one.rowID] = one
	}
}

// touch does to a remembered row what a recall has done to the stored one.
func (r *recent) touch(now *touched) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, ok := r.rows[now.rowID]; ok {
		known.entry.Strength, known.entry.AccessCount = now.entry.Strength, now.entry.AccessCount
		known.entry.LastAccessed, known.stateSum = now.entry.LastAccessed, now.sum
		r.rows[now.rowID] = known
	}
}

// rowsOf reads rows as rowsByID does, those of an answer that the mirror gave
// as far as they are not remembered.
func (d *database) rowsOf(t *tx, m *mirror.Mirror, rowIDs []int64) ([]row, error) {
	if m == nil {
		return t.rowsByID(rowIDs, condition{})
	}
	rows, others := d.mirroring.recent.known(rowIDs)
	if len(others) == 0 {
		return rows, nil
	}
	read, err := t.rowsByID(others, condition{})
	if err != nil {
		return nil, err
	}
	d.mirroring.recent.remember(read)
	return append(rows, read...), nil
}
