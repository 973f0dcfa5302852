package mirror

import (
	"cmp"
	"math/bits"
	"slices"
	"sort"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// line is the slots of the agents with one root, in the order in which they
// stand around each other: by time of creation, then by position.
type line struct {
	slots []uint32 // those of rows that are gone too, until it is sorted
	loose bool     // it is not in order

	agents []uint32
}

func (m *Mirror) lineOf(slot uint32) *line {
	return &m.roots.about[m.agents.about[m.rows[slot].agent].root]
}

// follows reports whether a slot stands behind another in their line.
func (m *Mirror) follows(slot, other uint32) bool {
	a, b := &m.rows[slot], &m.rows[other]
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Position, b.Position)) > 0
}

// putInLine adds a new slot to its line.
func (m *Mirror) putInLine(slot uint32) {
	l := m.lineOf(slot)
	if n := len(l.slots); n > 0 && !m.follows(slot, l.slots[n-1]) {
		l.loose = true
	}
	l.slots = append(l.slots, slot)
	m.size += slotSize
}

// settleLines puts the lines in order.
func (m *Mirror) settleLines() {
	for i := range m.roots.about {
		l := &m.roots.about[i]
		if !l.loose {
			continue
		}
		l.loose = false
		l.slots = slices.DeleteFunc(l.slots, func(slot uint32) bool { return m.rows[slot].gone })
		slices.SortFunc(l.slots, func(a, b uint32) int {
			switch {
			case m.follows(a, b):
				return 1
			case m.follows(b, a):
				return -1
			}
			return 0
		})
	}
}

// lend returns what rows are lent by those around them, by position, and which
// rows that are.
func (a *asking) lend(pool []scored) (lent map[int64][]bool, borrowers []uint32) {
	pool = pool[:min(a.question.LendingPool(), len(pool))]
	if len(pool) == 0 {
		return nil, nil
	}
	among := a.among(pool)
	runs := make([]memory.Run, len(pool))
	slots := make(map[int64]uint32) // by position
	for i, s := range pool {
		around, at := a.around(s.slot, 2*a.query.Window)
		runs[i] = memory.Run{At: at, Among: among[a.lineOf(s.slot)]}
		for _, slot := range around {
			row := &a.rows[slot]
			slots[row.Position] = slot
			runs[i].Turns = append(runs[i].Turns, memory.Turn{
				Position: row.Position, CreatedAt: time.Unix(0, row.CreatedAt), Holds: a.holds(slot),
			})
		}
	}
	lent = a.question.Lend(runs)
	for position := range lent {
		if slot := slots[position]; a.passes(slot) && a.byText(slot, lent) > 0 {
			borrowers = append(borrowers, slot)
		}
	}
	return lent, borrowers
}

// lends reports whether a row can be one of those around others.
func (a *asking) lends(slot uint32) bool {
	return a.visible(slot) && a.rows[slot].confidentiality <= a.lendingLevel()
}

func (a *asking) lendingLevel() memory.Confidentiality {
	if level := a.query.MaxConfidentiality; level != nil {
		return min(*level, memory.Restricted)
	}
	return memory.Restricted
}

// around returns a slot with up to n that lend to it on each side, in order.
func (a *asking) around(slot uint32, n int) (slots []uint32, at int) {
	l := a.lineOf(slot)
	place := sort.Search(len(l.slots), func(i int) bool { return !a.follows(slot, l.slots[i]) })
	for i := place - 1; i >= 0 && len(slots) < n; i-- {
		if a.lends(l.slots[i]) {
			slots = append(slots, l.slots[i])
		}
	}
	slices.Reverse(slots)
	at = len(slots)
	slots = append(slots, slot)
	for i := place; i < len(l.slots) && len(slots) <= at+n; i++ {
		if l.slots[i] != slot && a.lends(l.slots[i]) {
			slots = append(slots, l.slots[i])
		}
	}
	return slots, at
}

// among returns how many rows of the lines of the pool hold each term.
func (a *asking) among(pool []scored) map[*line]*memory.Holders {
	among := make(map[*line]*memory.Holders)
	for _, s := range pool {
		if l := a.lineOf(s.slot); among[l] == nil {
			among[l] = &memory.Holders{Entries: a.lenders(l), Terms: make([]int, len(a.question.Terms()))}
		}
	}
	for i := range a.counts.found {
		f := &a.counts.found[i]
		if f.held == 0 {
			continue
		}
		if of := among[a.lineOf(f.slot)]; of != nil && a.lends(f.slot) {
			for held := f.held; held != 0; held &= held - 1 {
				of.Terms[bits.TrailingZeros64(held)]++
			}
		}
	}
	return among
}

// lenders counts the rows of a line that can be around others.
func (a *asking) lenders(l *line) (n int) {
	for _, agent := range l.agents {
		n += a.visibleOf(agent, a.lendingLevel())
	}
	return n
}
