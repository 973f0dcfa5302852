package mirror

import (
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// scored is a row in the order of a ranking by float64.
type scored struct {
	slot     uint32
	position int64
	score    float64
}

func (a *scored) before(b *scored) bool {
	return a.score > b.score || a.score == b.score && a.position < b.position
}

// rowIDs names the rows of a result.
func (m *Mirror) rowIDs(best *topk.Best[scored]) []int64 {
	var ids []int64
	for _, s := range best.Ranked() {
		ids = append(ids, m.rows[s.slot].RowID)
	}
	return ids
}

// Composite weighs a composite query that has no embedding, and returns the
// rows of the highest scores, as many as its limit.
func (m *Mirror) Composite(composite *memory.Composite, query *memory.Query, sees Sees, now time.Time) []int64 {
	candidates, slots := m.candidates(composite, query, m.passing(query.Filter, sees, now))
	composite.Weigh(candidates)
	limit := query.Limit
	if limit == 0 {
		limit = len(candidates)
	}
	best := topk.New(limit, (*scored).before)
	var x reading
	for i := range candidates {
		slot := slots[i]
		best.Add(scored{slot, m.rows[slot].Position, composite.Score(x.of(m, slot), &candidates[i], now)})
	}
	return m.rowIDs(best)
}

// candidates returns what the rows say that match and pass, and their slots.
func (m *Mirror) candidates(composite *memory.Composite, query *memory.Query, passes func(uint32) bool) (readings []memory.Reading, slots []uint32) {
	tokens := composite.Tokens()
	if len(tokens) == 0 {
		for slot := range m.rows {
			if passes(uint32(slot)) {
				readings = append(readings, memory.Reading{Length: int(m.rows[slot].length)})
				slots = append(slots, uint32(slot))
			}
		}
		return readings, slots
	}
	counts := m.counting()
	defer m.done(counts)
	frequencies := m.frequencies(counts, tokens, query.ExactWords)
	for i := range counts.found {
		slot := counts.found[i].slot
		if passes(slot) {
			own := frequencies[i*len(tokens) : (i+1)*len(tokens)]
			readings = append(readings, memory.Reading{Frequency: own, Length: int(m.rows[slot].length)})
			slots = append(slots, slot)
		}
	}
	return readings, slots
}

// frequencies counts each token in each row that has any: those of the i-th
// row found begin at i times the number of tokens.
func (m *Mirror) frequencies(counts *scratch, tokens []string, exact bool) []int {
	var all []int
	of := func(slot uint32, token int) *int {
		place := int(counts.places[slot])
		if place == 0 {
			counts.at(slot)
			place = len(counts.found)
			all = append(all, make([]int, len(tokens))...)
		}
		return &all[(place-1)*len(tokens)+token]
	}
	for i, token := range tokens {
		pieces := m.words.lookUp(token, exact)
		for _, piece := range pieces {
			for _, slot := range m.words.texts[piece] {
				*of(slot, i)++
			}
		}
		if len(m.words.keywords) == 0 {
			continue
		}
		for _, piece := range pieces {
			for _, slot := range m.words.keywords[piece] {
				n := of(slot, i)
				// Two keywords with the word count like one.
				if f := counts.at(slot); f.last != int32(i+1) {
					f.last = int32(i + 1)
					*n += memory.KeywordBonus
				}
			}
		}
	}
	return all
}
