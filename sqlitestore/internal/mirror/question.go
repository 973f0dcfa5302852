package mirror

import (
	"math/bits"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// MaxTerms is how many terms a question may have.
const MaxTerms = 64

// Question weighs a question that has no more than [MaxTerms] terms, and
// returns the rows of the highest scores, as many as its limit, with how they
// fit. The cosines are as for [Mirror.Composite].
func (m *Mirror) Question(question *memory.Question, query *memory.Query, cosines map[int64]float64, sees Sees, now time.Time) map[int64]memory.Fit {
	counts := m.counting()
	defer m.done(counts)
	a := asking{
		Mirror: m, question: question, query: query, like: m.likeness(query, cosines), now: now,
		sees: sees, seen: make([]verdict, len(m.agents.texts)*levels), passes: m.passing(query.Filter, sees, now), counts: counts,
	}
	a.weigh()
	pool := a.leading(max(question.Pool(), question.LendingPool()))
	lent, borrowers := a.lend(pool)
	vectors := false
	var slots []uint32
	if a.like != nil || len(question.Terms()) == 0 || query.Limit == 0 {
		slots, vectors = a.candidates()
	} else {
		for _, s := range pool {
			slots = append(slots, s.slot)
		}
	}
	return a.best(with(slots, borrowers), lent, vectors)
}

// asking is one run of Question.
type asking struct {
	*Mirror
	question *memory.Question
	query    *memory.Query
	like     *likeness // nil if there is nothing to compare
	now      time.Time
	sees     Sees
	seen     []verdict // of sees, by agent and level, as far as it was asked
	passes   func(slot uint32) bool
	counts   *scratch
	reading  reading
}

// weigh notes which terms the rows hold that may be seen, and weighs the
// question by how many do.
func (a *asking) weigh() {
	holders := make([]int, len(a.question.Terms()))
	for i, term := range a.question.Terms() {
		a.holders(term, func(slots []uint32) {
			for _, slot := range slots {
				if f := a.counts.at(slot); f.last != int32(i+1) {
					f.last = int32(i + 1)
					if a.visible(slot) {
						f.held |= 1 << i
						holders[i]++
					}
				}
			}
		})
	}
	entries := 0
	for agent := range a.agents.texts {
		entries += a.visibleOf(uint32(agent), memory.Restricted)
	}
	a.question.Weigh(entries, holders)
}

// verdict is what Sees said, if it was asked. It is asked about few agents and
// levels, but answers for every row that holds a word.
type verdict uint8

const (
	hidden verdict = iota + 1
	shown
)

// visible reports whether a row is there and may be seen.
func (a *asking) visible(slot uint32) bool {
	r := &a.rows[slot]
	return !r.gone && a.admits(r.agent, r.confidentiality)
}

func (a *asking) admits(agent uint32, level memory.Confidentiality) bool {
	known := &a.seen[int(agent)*levels+int(level)]
	if *known == 0 {
		if *known = hidden; a.sees(a.agents.texts[agent], level) {
			*known = shown
		}
	}
	return *known == shown
}

// visibleOf counts the rows of an agent up to a level that may be seen.
func (a *asking) visibleOf(agent uint32, most memory.Confidentiality) (n int) {
	for level, rows := range a.agents.about[agent].rows[:int(most)+1] {
		if rows > 0 && a.admits(agent, memory.Confidentiality(level)) {
			n += rows
		}
	}
	return n
}

// holders calls visit with the slots that hold a term, in several lists.
func (m *Mirror) holders(term string, visit func(slots []uint32)) {
	for _, piece := range m.words.terms[term] {
		visit(m.words.texts[piece])
		visit(m.words.keywords[piece])
	}
	for _, n := range m.speakers[term] {
		visit(m.agents.about[n].slots)
	}
}

// leading returns up to n rows that are the best by their text alone.
func (a *asking) leading(n int) []scored {
	best := topk.New(n, scored.before)
	for i := range a.counts.found {
		f := &a.counts.found[i]
		if f.held == 0 {
			continue
		}
		relevance := a.question.Relevance(a.weightsOf(f.held))
		if best.Full() && (n == 0 || relevance < best.Worst().score) || !a.passes(f.slot) {
			continue
		}
		best.Add(a.scored(f.slot, relevance))
	}
	return best.Ranked()
}

// weightsOf sums the weights of terms in their order, as memory.Question.Sum
// does.
func (a *asking) weightsOf(held uint64) (sum float64) {
	for ; held != 0; held &= held - 1 {
		sum += a.question.Weight(bits.TrailingZeros64(held))
	}
	return sum
}

func (a *asking) scored(slot uint32, relevance float64) scored {
	score := a.question.Score(a.reading.of(a.Mirror, slot), relevance, a.now)
	return scored{slot, a.rows[slot].Position, score, relevance}
}

// held returns which terms a slot holds.
func (a *asking) held(slot uint32) uint64 {
	if !a.counts.has(slot) {
		return 0
	}
	return a.counts.at(slot).held
}

// candidates returns all rows that match or have an embedding to compare, and
// whether there are such.
func (a *asking) candidates() (slots []uint32, vectors bool) {
	for i := range a.rows {
		slot := uint32(i)
		vector := a.like.has(slot)
		if (vector || a.held(slot) != 0 || len(a.question.Terms()) == 0) && a.passes(slot) {
			slots = append(slots, slot)
			vectors = vectors || vector
		}
	}
	return slots, vectors
}

// with appends those of more that are not among the slots yet.
func with(slots, more []uint32) []uint32 {
	if len(more) == 0 {
		return slots
	}
	known := make(map[uint32]bool, len(slots))
	for _, slot := range slots {
		known[slot] = true
	}
	for _, slot := range more {
		if !known[slot] {
			known[slot] = true
			slots = append(slots, slot)
		}
	}
	return slots
}

// best returns the best of the slots.
func (a *asking) best(slots []uint32, lent map[int64][]bool, vectors bool) map[int64]memory.Fit {
	limit := a.query.Limit
	if limit == 0 {
		limit = len(slots)
	}
	best := topk.New(limit, scored.before)
	for i, relevance := range a.judged(slots, lent, vectors) {
		best.Add(a.scored(slots[i], relevance))
	}
	answers := make(map[int64]memory.Fit)
	for _, s := range best.Ranked() {
		row := &a.rows[s.slot]
		answers[row.RowID] = memory.Fit{Relevance: s.relevance, Lent: lent[row.Position]}
	}
	return answers
}

// judged returns the relevance of each of the slots to the question.
func (a *asking) judged(slots []uint32, lent map[int64][]bool, vectors bool) []float64 {
	relevance := make([]float64, len(slots))
	for i, slot := range slots {
		relevance[i] = a.byText(slot, lent)
	}
	switch {
	case vectors:
		for i, cosine := range a.like.cosines(slots) {
			relevance[i] = a.question.Blend(relevance[i], cosine)
		}
	case len(a.question.Terms()) == 0:
		for i := range relevance {
			relevance[i] = 1
		}
	}
	return relevance
}

// byText is the relevance of a row as far as its text goes.
func (a *asking) byText(slot uint32, lent map[int64][]bool) float64 {
	if by := lent[a.rows[slot].Position]; by != nil {
		return a.question.Relevance(a.question.Sum(a.holds(slot), by))
	}
	return a.question.Relevance(a.weightsOf(a.held(slot)))
}

// holds returns which terms a slot holds, in the form of package memory.
func (a *asking) holds(slot uint32) []int {
	holds := make([]int, len(a.question.Terms()))
	for held := a.held(slot); held != 0; held &= held - 1 {
		holds[bits.TrailingZeros64(held)] = 1
	}
	return holds
}
