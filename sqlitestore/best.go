package sqlitestore

import (
	"cmp"
	"container/heap"
	"slices"
)

// scored is a row on its way into the result of a Retrieve.
type scored struct {
	rowID    int64
	position int64
	score    float32
	matched  bool
}

// before orders results: by score, ties by insertion order.
func (a scored) before(b scored) bool {
	return a.score > b.score || a.score == b.score && a.position < b.position
}

// best keeps the best rows of any number offered, up to a limit.
type best struct {
	limit int
	rows  worstFirst
}

// add offers a row.
func (b *best) add(r scored) {
	switch {
	case len(b.rows) < b.limit:
		heap.Push(&b.rows, r)
	case b.limit > 0 && r.before(b.rows[0]):
		b.rows[0] = r
		heap.Fix(&b.rows, 0)
	}
}

// full reports whether a further row would have to push one out.
func (b *best) full() bool { return len(b.rows) >= b.limit }

// worst is the row that would be pushed out; there must be one.
func (b *best) worst() scored { return b.rows[0] }

// ranked returns the rows in the order of the result.
func (b *best) ranked() []scored {
	slices.SortFunc(b.rows, func(x, y scored) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.position, y.position))
	})
	return b.rows
}

// worstFirst is a heap with the row to push out first at the top.
type worstFirst []scored

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return h[j].before(h[i]) }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *worstFirst) Push(x any)        { *h = append(*h, x.(scored)) }
func (h *worstFirst) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	*h = (*h)[:last]
	return x
}
