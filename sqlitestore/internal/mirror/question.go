package mirror

import (
	"math/bits"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// MaxTerms is how many terms a question may have.
const MaxTerms = 64

// Question weighs a question that has from 1 to [MaxTerms] terms, a limit and
// no embedding, and returns the rows of the highest scores, as many as
// memory.Question.Rank needs.
func (m *Mirror) Question(question *memory.Question, query *memory.Query, sees Sees, whole bool, now time.Time) []int64 {
	counts := m.counting()
	defer m.done(counts)
	holders := make([]int, len(question.Terms()))
	for i, term := range question.Terms() {
		m.holders(term, func(slots []uint32) {
			for _, slot := range slots {
				if f := counts.at(slot); f.last != int32(i+1) {
					f.last = int32(i + 1)
					if m.sees(slot, sees) {
						f.held |= 1 << i
						holders[i]++
					}
				}
			}
		})
	}
	question.Weigh(m.seen(sees, whole), holders)

	passes := m.passing(query.Filter, sees, now)
	best := topk.New(question.Pool(), scored.before)
	var x reading
	for i := range counts.found {
		f := &counts.found[i]
		if f.held == 0 {
			continue
		}
		weights := weightsOf(question, f.held)
		if best.Full() && question.Bound(weights) < best.Worst().score || !passes(f.slot) {
			continue
		}
		score := question.Score(x.of(m, f.slot), weights, now)
		best.Add(scored{slot: f.slot, position: m.rows[f.slot].Position, score: score})
	}
	var rowIDs []int64
	for _, s := range best.Ranked() {
		rowIDs = append(rowIDs, m.rows[s.slot].RowID)
	}
	return rowIDs
}

// holders calls visit with the slots that hold a term, in several lists.
func (m *Mirror) holders(term string, visit func(slots []uint32)) {
	for _, piece := range m.words.terms[term] {
		visit(m.words.texts[piece])
		visit(m.words.keywords[piece])
	}
	for _, a := range m.speakers[term] {
		visit(m.agents.about[a].slots)
	}
}

// seen returns how many rows may be seen; whole says that all may be.
func (m *Mirror) seen(sees Sees, whole bool) (n int) {
	if whole {
		return m.Len()
	}
	for slot := range m.rows {
		if m.sees(uint32(slot), sees) {
			n++
		}
	}
	return n
}

// weightsOf sums the weights of terms in their order, as the ranking does.
func weightsOf(question *memory.Question, held uint64) (sum float64) {
	for ; held != 0; held &= held - 1 {
		sum += question.Weight(bits.TrailingZeros64(held))
	}
	return sum
}
