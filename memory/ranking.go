package memory

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Ranking is a way to find and order what Recall returns.
type Ranking uint8

const (
	// RankingComposite is heartbit's score over words or parts of words; see
	// [Composite].
	RankingComposite Ranking = iota
	// RankingQuestion is for questions in plain language; see [Question].
	RankingQuestion
)

var rankingNames = []string{"composite", "question"}

// String returns the name of the ranking.
func (r Ranking) String() string {
	if int(r) < len(rankingNames) {
		return rankingNames[r]
	}
	return "unknown"
}

// ParseRanking is the inverse of [Ranking.String].
func ParseRanking(name string) (Ranking, error) {
	if i := slices.Index(rankingNames, name); i >= 0 {
		return Ranking(i), nil
	}
	return 0, invalid("ranking", "is %q; use composite or question", name)
}

// Answer ranks by the ranking of the query, for a store that has all entries in
// hand that its handle sees. The book-keeping of the returned entries is done in
// the result, not in the store.
func (q *Query) Answer(now time.Time, all []Candidate, follow Follow) ([]Hit, error) {
	if q.Ranking == RankingComposite {
		return q.Rank(now, all, follow)
	}
	question := q.Question()
	question.weighAmong(all)
	return question.RankAmong(now, all, question.surroundingsAmong(all), follow)
}

// ranking is what one run of either ranking has in hand.
type ranking struct {
	query      *Query
	now        time.Time
	tokens     []string // of the query, as it compares them
	candidates []scored
}

// scored is a candidate with what it says about the query.
type scored struct {
	Candidate
	Reading
	lent      []bool  // which tokens the entries around it have, or nil
	matched   bool    // any token occurs in the entry itself
	relevance float64 // to a question
}

// ranked is a result with the order that decides ties.
type ranked struct {
	Hit
	position  int64
	frequency []int
	lent      []bool
}

// admit keeps the candidates that pass every filter and match by text or may
// match by embedding, in insertion order.
func (r *ranking) admit(candidates []Candidate, read func(Candidate) scored) {
	for _, c := range candidates {
		if !r.query.Filter.Matches(&c.Entry, r.now) {
			continue
		}
		s := read(c)
		if len(r.tokens) == 0 || s.matched || r.hasVector(&c.Entry) {
			r.candidates = append(r.candidates, s)
		}
	}
	r.inOrder()
}

func (r *ranking) inOrder() {
	slices.SortFunc(r.candidates, func(a, b scored) int { return cmp.Compare(a.Candidate.Position, b.Candidate.Position) })
}

func (r *ranking) hasVector(e *Entry) bool {
	return len(r.query.Embedding) > 0 && len(e.Embedding) > 0
}

func (r *ranking) anyVector() bool {
	return slices.ContainsFunc(r.candidates, func(c scored) bool { return r.hasVector(&c.Entry) })
}

// weigh returns what a score is made of.
func (r *ranking) weigh(c *scored, relevance float64) ranked {
	parts := partsOf(&c.Entry, r.now)
	parts.Relevance = relevance
	return ranked{
		Hit:       Hit{Entry: c.Entry, Parts: parts, Matched: c.matched},
		position:  c.Candidate.Position,
		frequency: c.Frequency,
		lent:      c.lent,
	}
}

// partsOf returns the parts that do not depend on the query.
func partsOf(e *Entry, now time.Time) Parts {
	p := Parts{
		Recency:    1,
		Importance: float64(min(max(e.Importance, 1), 10)-1) / 9,
		Strength:   e.EffectiveStrength(now),
	}
	if hours := wholeHours(now.Sub(e.CreatedAt)); hours > 0 {
		p.Recency = math.Exp(float64(-0.01 * hours))
	}
	return p
}

// conclude makes the answer of the ranked candidates: it cuts them to the
// limit, adds what they are linked to, by its own score, and does the
// book-keeping.
func (r *ranking) conclude(hits []ranked, follow Follow, score func(Candidate) ranked) ([]Hit, error) {
	hits = r.best(hits)
	linked, err := r.expand(hits, follow, score)
	if err != nil {
		return nil, err
	}
	if len(linked) > 0 {
		hits = r.best(append(hits, linked...))
	}
	out := make([]Hit, len(hits))
	for i, h := range hits {
		h.Entry.Touch(r.now, !r.query.NoReinforce)
		for n, token := range r.tokens {
			if h.frequency[n] > 0 {
				h.Parts.Words = append(h.Parts.Words, token)
			} else if h.lent != nil && h.lent[n] {
				h.Parts.Lent = append(h.Parts.Lent, token)
			}
		}
		out[i] = h.Hit
	}
	return out, nil
}

// byScore orders by score, ties by insertion order.
func byScore(hits []ranked) []ranked {
	slices.SortFunc(hits, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.position, b.position))
	})
	return hits
}

// best orders by score and cuts to the limit.
func (r *ranking) best(hits []ranked) []ranked {
	hits = byScore(hits)
	if r.query.Limit > 0 && len(hits) > r.query.Limit {
		hits = hits[:r.query.Limit]
	}
	return hits
}

// expand returns what the hits are linked to: one hop, each entry once, those
// that are hits already left out.
func (r *ranking) expand(hits []ranked, follow Follow, score func(Candidate) ranked) ([]ranked, error) {
	known := make(map[uuid.UUID]bool, len(hits))
	for i := range hits {
		known[hits[i].Entry.ID] = true
	}
	var ids []uuid.UUID
	for i := range hits {
		for _, id := range hits[i].Entry.RelatedIDs {
			if !known[id] {
				known[id] = true
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	linked, err := follow(ids)
	if err != nil {
		return nil, err
	}
	var out []ranked
	for _, c := range linked {
		if r.query.Filter.reaches(&c.Entry, r.now) {
			out = append(out, score(c))
		}
	}
	return out, nil
}
