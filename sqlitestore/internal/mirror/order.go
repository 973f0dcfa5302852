package mirror

import (
	"cmp"
	"slices"
	"sort"
)

// order is the slots by relevance as Retrieve counts it, the highest first,
// equal ones by position. Rows whose place has changed are loose until there
// are so many that sorting anew is worth it.
type order struct {
	sorted []placed
	loose  []uint32
	few    int // loose slots that never matter
}

// placed is a slot with the relevance by which it was sorted.
type placed struct {
	relevance float32
	slot      uint32
}

// counted is the relevance as Retrieve counts it.
func counted(relevance float32) float32 {
	if relevance >= 0 && relevance <= 1 {
		return relevance
	}
	return 0
}

// add takes in a new slot.
func (o *order) add(slot uint32) { o.loose = append(o.loose, slot) }

// loosen takes a slot out of its place.
func (o *order) loosen(rows []row, slot uint32) {
	if rows[slot].inOrder {
		rows[slot].inOrder = false
		o.loose = append(o.loose, slot)
	}
}

// settle sorts anew if many rows are loose.
func (o *order) settle(rows []row) {
	if len(o.loose) <= max(o.few, len(o.sorted)/128) {
		return
	}
	o.sorted, o.loose = o.sorted[:0], o.loose[:0]
	for slot := range rows {
		r := &rows[slot]
		if !r.gone {
			r.inOrder = true
			o.sorted = append(o.sorted, placed{counted(r.Relevance), uint32(slot)})
		}
	}
	slices.SortFunc(o.sorted, func(a, b placed) int {
		return cmp.Or(cmp.Compare(b.relevance, a.relevance), cmp.Compare(rows[a.slot].Position, rows[b.slot].Position))
	})
}

// below returns the first place of a relevance lower than the given one.
func (o *order) below(relevance float32) int {
	return sort.Search(len(o.sorted), func(i int) bool { return o.sorted[i].relevance < relevance })
}
