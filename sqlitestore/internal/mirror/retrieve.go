package mirror

import (
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
func (a *Match) Before(b *Match) bool {
	return a.Score > b.Score || a.Score == b.Score && a.Position < b.Position
}

// longest is how many postings Retrieve counts before it gives up: so many
// rows match that a walk by relevance is short.
const longest = 1 << 16

// Retrieve returns the best rows for the query, as memory.Store.Retrieve
// does. It reports false if there are too many to count.
func (m *Mirror) Retrieve(query *memory.RetrieveQuery, sees Sees, limit int) (matches []Match, ok bool) {
	counts := m.counting()
	defer m.done(counts)
	if !m.countWords(counts, query) {
		return nil, false
	}
	best := topk.New(limit, (*Match).Before)
	for i := range counts.found {
		f := &counts.found[i]
		if m.sees(f.slot, sees) {
			r := &m.rows[f.slot]
			overlap := float32(0)
			if len(query.Words) > 0 {
				overlap = float32(f.weight) / float32(len(query.Words))
			}
			best.Add(Match{r.RowID, r.Position, query.Score(r.Relevance, overlap, f.tag), true})
		}
	}
	m.fill(best, counts, query, sees)
	return best.Ranked(), true
}

// countWords counts, for every slot, the words of the query that it holds,
// and looks for the phrase among the tags.
func (m *Mirror) countWords(counts *scratch, query *memory.RetrieveQuery) bool {
	postings := 0
	for i, word := range query.Words {
		m.words.containing(word, func(piece uint32) bool {
			postings += len(m.words.texts[piece])
			if postings > longest {
				return false
			}
			for _, slot := range m.words.texts[piece] {
				if f := counts.at(slot); f.last != int32(i+1) {
					f.last = int32(i + 1)
					f.weight++
				}
			}
			return true
		})
	}
	if query.Phrase == "" {
		return true
	}
	for i := range m.tags.about {
		if t := &m.tags.about[i]; strings.Contains(t.lowered, query.Phrase) {
			postings += len(t.slots)
			if postings > longest {
				return false
			}
			for _, slot := range t.slots {
				counts.at(slot).tag = true
			}
		}
	}
	return postings <= longest
}

// fill offers the rows that do not match, the most relevant first, as far as
// they can get into the result.
func (m *Mirror) fill(best *topk.Best[Match], counts *scratch, query *memory.RetrieveQuery, sees Sees) {
	add := func(slot uint32) {
		if !counts.has(slot) && m.sees(slot, sees) {
			r := &m.rows[slot]
			best.Add(Match{r.RowID, r.Position, query.Score(r.Relevance, 0, false), false})
		}
	}
	for _, slot := range m.order.loose {
		if !m.rows[slot].inOrder {
			add(slot)
		}
	}
	for i := 0; i < len(m.order.sorted); i++ {
		next := m.order.sorted[i]
		if best.Full() {
			score, worst := query.Score(next.relevance, 0, false), best.Worst()
			if score < worst.Score {
				return
			}
			if score == worst.Score && m.rows[next.slot].inOrder && m.rows[next.slot].Position > worst.Position {
				// The others of this relevance can only tie, and come later.
				// Those of the next lower one could tie too, where the score
				// rounds the difference away.
				i = m.order.below(next.relevance) - 1
				continue
			}
		}
		if m.rows[next.slot].inOrder {
			add(next.slot)
		}
	}
}
