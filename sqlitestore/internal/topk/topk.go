// Package topk keeps the best of many values, without sorting all of them.
package topk

import (
	"container/heap"
	"slices"
)

// Higher is how rankings order their rows: the higher score comes first, and of
// two that are equal the one that is before the other in insertion order.
func Higher[S float32 | float64](a, b S, positionA, positionB int64) bool {
	return a > b || a == b && positionA < positionB
}

// Best keeps the best values of any number offered, up to a limit. Make one
// with [New].
type Best[T any] struct {
	limit int
	heap  worstFirst[T]
}

// New returns a Best of up to limit values; before reports whether a comes
// before b in the result, and must tell any two of them apart.
func New[T any](limit int, before func(a, b T) bool) *Best[T] {
	return &Best[T]{limit: limit, heap: worstFirst[T]{before: before}}
}

// Add offers a value.
func (b *Best[T]) Add(value T) {
	switch {
	case len(b.heap.values) < b.limit:
		heap.Push(&b.heap, value)
	case b.limit > 0 && b.heap.before(value, b.heap.values[0]):
		b.heap.values[0] = value
		heap.Fix(&b.heap, 0)
	}
}

// Full reports whether a further value would have to push one out.
func (b *Best[T]) Full() bool { return len(b.heap.values) >= b.limit }

// Worst returns the value that would be pushed out; there must be one.
func (b *Best[T]) Worst() T { return b.heap.values[0] }

// Clear takes all values out.
func (b *Best[T]) Clear() { b.heap.values = b.heap.values[:0] }

// Ranked returns the values, best first. Nothing may be added afterwards.
func (b *Best[T]) Ranked() []T {
	slices.SortFunc(b.heap.values, func(x, y T) int {
		switch {
		case b.heap.before(x, y):
			return -1
		case b.heap.before(y, x):
			return 1
		}
		return 0
	})
	return b.heap.values
}

// worstFirst is a heap with the value to push out first at the top.
type worstFirst[T any] struct {
	values []T
	before func(a, b T) bool
}

func (h *worstFirst[T]) Len() int           { return len(h.values) }
func (h *worstFirst[T]) Less(i, j int) bool { return h.before(h.values[j], h.values[i]) }
func (h *worstFirst[T]) Swap(i, j int)      { h.values[i], h.values[j] = h.values[j], h.values[i] }
func (h *worstFirst[T]) Push(x any)         { h.values = append(h.values, x.(T)) }
func (h *worstFirst[T]) Pop() any {
	last := len(h.values) - 1
	x := h.values[last]
	h.values = h.values[:last]
	return x
}
