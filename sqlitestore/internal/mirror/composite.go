package mirror

import (
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// scored is a row in the order of a ranking by float64.
type scored struct {
	slot      uint32
	position  int64
	score     float64
	relevance float64
}

func (a scored) before(b scored) bool {
	return topk.Higher(a.score, b.score, a.position, b.position)
}

// Composite weighs a composite query and returns the rows of the highest
// scores, as many as its limit, with their relevance. Where the query has an
// embedding and the mirror does not keep those of the rows, the cosines are
// given, by row id.
func (m *Mirror) Composite(composite *memory.Composite, query *memory.Query, cosines map[int64]float64, sees Sees, now time.Time) map[int64]float64 {
	candidates, slots := m.candidates(composite, query, cosines, m.passing(query.Filter, sees, now))
	relevance := composite.Weigh(candidates)
	limit := query.Limit
	if limit == 0 {
		limit = len(candidates)
	}
	best := topk.New(limit, scored.before)
	var x reading
	for i, slot := range slots {
		score := composite.Score(x.of(m, slot), relevance[i], now)
		best.Add(scored{slot, candidates[i].Position, score, relevance[i]})
	}
	leaders := make(map[int64]float64)
	for _, s := range best.Ranked() {
		leaders[m.rows[s.slot].RowID] = s.relevance
	}
	return leaders
}

// candidates returns what the rows say that match and pass, and their slots.
func (m *Mirror) candidates(composite *memory.Composite, query *memory.Query, cosines map[int64]float64, passes func(uint32) bool) (readings []memory.Reading, slots []uint32) {
	tokens := composite.Tokens()
	counts := m.counting()
	defer m.done(counts)
	frequencies := m.frequencies(counts, tokens, query.ExactWords)
	like := m.likeness(query, cosines)
	matching := len(counts.found)
	if len(tokens) == 0 || like != nil {
		matching = len(m.rows)
	}
	readings, slots = make([]memory.Reading, 0, matching), make([]uint32, 0, matching)
	add := func(slot uint32, frequency []int) {
		if !passes(slot) {
			return
		}
		r := &m.rows[slot]
		readings = append(readings, memory.Reading{
			Position: r.Position, Frequency: frequency, Length: int(r.length), Vector: like.has(slot),
		})
		slots = append(slots, slot)
	}
	for i := range counts.found {
		add(counts.found[i].slot, frequencies[i*len(tokens):(i+1)*len(tokens)])
	}
	if len(tokens) > 0 && like == nil {
		return readings, slots
	}
	for slot := range uint32(len(m.rows)) {
		if len(tokens) == 0 || like.has(slot) && !counts.has(slot) {
			add(slot, nil)
		}
	}
	if like != nil {
		for i, cosine := range like.cosines(slots) {
			readings[i].Cosine = cosine
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
