package jsonlimport

import "time"

// pace chooses how many entries to store with one write, from how long the
// last one took: other writers wait meanwhile. The time includes waiting for
// those others, which makes room for them too.
type pace struct {
	entries int // to store next
	limit   int
}

// A write should take writeTime. Even fewer entries than fewest would not make
// others wait much less, only the import slower.
const (
	writeTime  = 200 * time.Millisecond
	firstWrite = 50
	fewest     = 10
)

func newPace(limit int) *pace { return &pace{entries: min(firstWrite, limit), limit: limit} }

// took learns from a write of so many entries. It grows at most twofold at a
// time, as one quick write may be followed by slow ones.
func (p *pace) took(entries int, duration time.Duration) {
	fitting := int(int64(entries) * int64(writeTime) / int64(max(1, duration)))
	p.entries = min(max(fitting, fewest), 2*p.entries, p.limit)
}
