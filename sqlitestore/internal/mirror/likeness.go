package mirror

import (
	"slices"

	"github.com/loopmem/loopmem/memory"
)

// vectorSize is what a vector takes beside its components.
const vectorSize = 32

// KeepsVectors reports whether embeddings that are put are kept.
func (m *Mirror) KeepsVectors() bool { return !m.vectorless }

// DropVectors lets go of all embeddings, for good: they take more memory than
// all the rest.
func (m *Mirror) DropVectors() {
	for slot := range m.vectors {
		m.dropVector(uint32(slot))
	}
	m.vectors, m.vectorless = nil, true
}

func (m *Mirror) putVector(components []float32, slot uint32) {
	if m.vectorless || len(components) == 0 {
		return
	}
	m.vectors = slices.Grow(m.vectors, int(slot)+1-len(m.vectors))[:slot+1]
	m.vectors[slot] = memory.NewVector(components)
	m.size += vectorSizeOf(&m.vectors[slot])
}

func (m *Mirror) dropVector(slot uint32) {
	if m.hasVector(slot) {
		m.size -= vectorSizeOf(&m.vectors[slot])
		m.vectors[slot] = memory.Vector{}
	}
}

func vectorSizeOf(v *memory.Vector) int {
	const componentSize = 4
	return vectorSize + componentSize*v.Dimensions()
}

func (m *Mirror) hasVector(slot uint32) bool {
	return int(slot) < len(m.vectors) && m.vectors[slot].Dimensions() > 0
}

// likeness is how much rows are like a query that has an embedding, as far as
// they have one too.
type likeness struct {
	*Mirror
	query *memory.Comparison
	known map[int64]float64 // cosines by row id, if the mirror keeps no vectors
}

// likeness returns nil where there is nothing to compare.
func (m *Mirror) likeness(query *memory.Query, known map[int64]float64) *likeness {
	if len(query.Embedding) == 0 || len(m.vectors) == 0 && len(known) == 0 {
		return nil
	}
	return &likeness{m, memory.Compare(query.Embedding), known}
}

func (l *likeness) has(slot uint32) bool {
	if l == nil {
		return false
	}
	if l.vectorless {
		_, known := l.known[l.rows[slot].RowID]
		return known
	}
	return l.hasVector(slot)
}

// cosines returns those of the slots, in their order; 0 where there is none.
func (l *likeness) cosines(slots []uint32) []float64 {
	cosines := make([]float64, len(slots))
	if l.vectorless {
		for i, slot := range slots {
			cosines[i] = l.known[l.rows[slot].RowID]
		}
		return cosines
	}
	places := make([]int, 0, len(slots))
	for i, slot := range slots {
		if l.hasVector(slot) {
			places = append(places, i)
		}
	}
	const some = 256
	vectors, found := make([]memory.Vector, 0, some), make([]float64, 0, some)
	for places := range slices.Chunk(places, some) {
		vectors, found = vectors[:0], found[:0]
		for _, i := range places {
			vectors = append(vectors, l.vectors[slots[i]])
		}
		found = l.query.AppendCosines(found, vectors)
		for k, i := range places {
			cosines[i] = found[k]
		}
	}
	return cosines
}
