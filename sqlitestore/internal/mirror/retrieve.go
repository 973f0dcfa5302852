package mirror

import (
	"slices"
	"strings"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// Match is a row in the result of a Retrieve.
type Match struct {
	RowID    int64
	Position int64
	Score    float32
	Matched  bool
}

// Before orders matches by score, ties by insertion order.
func (a Match) Before(b Match) bool {
	return topk.Higher(a.Score, b.Score, a.Position, b.Position)
}

// oneSearch is how many postings are counted in the time in which one list of
// them is searched.
const oneSearch = 20

// limits are where Retrieve goes another way to the best rows: it counts the
// words of every row that has any, or it looks at the rows by relevance, and
// at which words they have, until no later one can be better.
type limits struct {
	countable int // postings that are counted before anything else is thought about
	longest   int // postings that are ever counted
	spread    int // pieces that a word may be a part of to be looked for in a row
}

func defaultLimits() limits { return limits{countable: 1 << 12, longest: 1 << 18, spread: 16} }

// Retrieve returns the best rows for the query, as memory.Store.Retrieve
// does; limit must be at least 1. It reports false if so many rows match, by so many pieces, that a walk
// by relevance with texts at hand is better.
func (m *Mirror) Retrieve(query *memory.RetrieveQuery, sees Sees, limit int) (matches []Match, ok bool) {
	r := retrieval{Mirror: m, query: query, sees: sees, best: topk.New(limit, Match.Before)}
	r.lookUp()
	if r.postings > m.limits.countable && !r.scattered {
		searches := max(r.pieces+len(r.tags), 1)
		if r.walk(r.postings / (oneSearch * searches)) {
			return r.best.Ranked(), true
		}
	}
	if r.postings > m.limits.longest {
		return nil, false
	}
	r.count()
	return r.best.Ranked(), true
}

// retrieval is one run of Retrieve.
type retrieval struct {
	*Mirror
	query *memory.RetrieveQuery
	sees  Sees
	best  *topk.Best[Match]

	words    []wanted
	tags     []uint32 // that contain the phrase
	pieces   int      // of all words
	postings int      // of all words and tags; more than limits.longest stands for any number
	// scattered is set if a word is a part of so many pieces that a row is
	// not searched for them.
	scattered bool
}

// wanted is a distinct word of the query that any row has.
type wanted struct {
	weight int // how often the query has it
	pieces []uint32
}

// lookUp finds the words of the query in the vocabulary, and its phrase among
// the tags.
func (r *retrieval) lookUp() {
	distinct := make(map[string]int)
	var order []string
	for _, word := range r.query.Words {
		if distinct[word]++; distinct[word] == 1 {
			order = append(order, word)
		}
	}
	for _, text := range order {
		w := wanted{weight: distinct[text]}
		r.Mirror.words.containing(text, func(piece uint32) bool {
			w.pieces = append(w.pieces, piece)
			r.postings += len(r.Mirror.words.texts[piece])
			return r.postings <= r.limits.longest || len(w.pieces) <= r.limits.spread
		})
		if len(w.pieces) > 0 {
			r.words = append(r.words, w)
			r.pieces += len(w.pieces)
			r.scattered = r.scattered || len(w.pieces) > r.limits.spread
		}
	}
	if r.query.Phrase == "" {
		return
	}
	for i := range r.Mirror.tags.about {
		if t := &r.Mirror.tags.about[i]; strings.Contains(t.lowered, r.query.Phrase) {
			r.tags = append(r.tags, uint32(i))
			r.postings += len(t.slots)
		}
	}
}

// overlap is the share of the query's words that have the weight.
func (r *retrieval) overlap(weight int) float32 {
	if weight == 0 {
		return 0
	}
	return float32(weight) / float32(len(r.query.Words))
}

// offer adds a row to the result if it may be seen and is good enough.
func (r *retrieval) offer(slot uint32, weight int, tag bool) {
	if r.Mirror.sees(slot, r.sees) {
		row := &r.rows[slot]
		score := r.query.Score(row.Relevance, r.overlap(weight), tag)
		r.best.Add(Match{row.RowID, row.Position, score, weight > 0 || tag})
	}
}

// count ranks all rows that match, and fills up with the most relevant of the
// others.
func (r *retrieval) count() {
	r.best.Clear()
	counts := r.counting()
	defer r.done(counts)
	for i, word := range r.words {
		for _, piece := range word.pieces {
			for _, slot := range r.Mirror.words.texts[piece] {
				if f := counts.at(slot); f.last != int32(i+1) {
					f.last = int32(i + 1)
					f.weight += int32(word.weight)
				}
			}
		}
	}
	for _, tag := range r.tags {
		for _, slot := range r.Mirror.tags.about[tag].slots {
			counts.at(slot).tag = true
		}
	}
	for i := range counts.found {
		f := &counts.found[i]
		r.offer(f.slot, int(f.weight), f.tag)
	}
	r.byRelevance(len(r.rows), 0, false, func(slot uint32) {
		if !counts.has(slot) {
			r.offer(slot, 0, false)
		}
	})
}

// walk ranks rows by relevance, searching for each among the postings. It
// reports whether it came to an end within that many rows.
func (r *retrieval) walk(budget int) bool {
	highest := 0
	for _, word := range r.words {
		highest += word.weight
	}
	return r.byRelevance(budget, r.overlap(highest), len(r.tags) > 0, func(slot uint32) {
		weight := 0
		for _, word := range r.words {
			if slices.ContainsFunc(word.pieces, func(piece uint32) bool { return lists(r.Mirror.words.texts[piece], slot) }) {
				weight += word.weight
			}
		}
		r.offer(slot, weight, slices.ContainsFunc(r.tags, func(tag uint32) bool { return lists(r.Mirror.tags.about[tag].slots, slot) }))
	})
}

// lists reports whether a list, which is in order, has the slot.
func lists(slots []uint32, slot uint32) bool {
	_, found := slices.BinarySearch(slots, slot)
	return found
}

// byRelevance visits rows, the most relevant first, until none of the rest can
// get into the result, if none can have more than the overlap and tag given.
// It reports false if the budget of rows came to its end before.
func (r *retrieval) byRelevance(budget int, overlap float32, tag bool, visit func(slot uint32)) bool {
	if budget < len(r.order.loose) {
		return false
	}
	for _, slot := range r.order.loose {
		if !r.rows[slot].inOrder {
			visit(slot)
		}
	}
	for i := 0; i < len(r.order.sorted); i++ {
		next := r.order.sorted[i]
		row := &r.rows[next.slot]
		if r.best.Full() {
			highest, worst := r.query.Score(next.relevance, overlap, tag), r.best.Worst()
			if highest < worst.Score {
				return true
			}
			if highest == worst.Score && row.inOrder && row.Position > worst.Position {
				// The others of this relevance can only tie, and come later.
				// Those of the next lower one could tie too, where the score
				// rounds the difference away.
				i = r.order.below(next.relevance) - 1
				continue
			}
		}
		if budget--; budget < 0 {
			return false
		}
		if row.inOrder {
			visit(next.slot)
		}
	}
	return true
}
