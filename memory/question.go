package memory

import (
	"math"
	"slices"
	"time"
)

// Question is a query as [RankingQuestion] reads it: in plain language, of
// which no word is required.
//
// It compares terms (see [Terms]) of the query's text, without its stop words
// unless nothing else is left, with those of an entry's text, its keywords
// and the speaker, which is the last part of its agent (gina in
// conv:30:gina). A term weighs by its inverse document frequency among all N
// entries that the store's handle sees, n of which hold it (K. Spärck Jones,
// 1972; in the form of S. E. Robertson and H. Zaragoza, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009, kept positive):
//
//	weight    = ln(1 + (N - n + 0.5)/(n + 0.5))
//	relevance = weights of the terms the entry holds / weights of all terms
//	            that any entry holds
//	score     = relevance * (0.7 + 0.1*recency + 0.1*importance + 0.1*strength)
//
// That is BM25 with k1 = 0: how often an entry says a word, and how long it
// is, do not count. Entries are facts and turns of a few words, and on those
// either made answers worse. Recency, importance and strength are those of
// [Composite]. They decide between entries that fit about equally well: one
// whose relevance is less than 0.7 of another's cannot pass it, however fresh.
//
// With [Query.Window], an entry also gains from the entries around it: a term
// that only they hold counts 0.4 of its weight. They are the given number of
// entries created just before and after it, by created_at and then insertion
// order, among those of the same agent root (see [Root]) that the handle sees
// and that are not above the query's confidentiality, as far as they lie
// within an hour of it. Only the 20 entries best without this, and those
// around them, gain from it.
//
// With a query embedding and at least one candidate with an embedding,
// relevance becomes 0.8*relevance + 0.2*max(cosine, 0), a convex combination
// (S. Bruch et al., "An Analysis of Fusion Functions for Hybrid Retrieval",
// 2023). Fusing by ranks, as [Composite] does, gives vectors half of the say
// however little they know.
//
// A query without terms finds every entry, all of relevance 1, or by cosine
// alone. What a hit is linked to has the relevance of its own terms.
type Question struct {
	query   *Query
	terms   []string
	weights []float64
	total   float64
	number  map[string]int   // of each term
	held    map[string][]int // terms by number, of the pieces met so far
}

// MaxWindow is the largest [Query.Window].
const MaxWindow = 10

// Question reads the query. It must be weighed before it can rank.
func (q *Query) Question() *Question {
	question := &Question{query: q, terms: queryTerms(q.Text), number: make(map[string]int), held: make(map[string][]int)}
	for i, term := range question.terms {
		question.number[term] = i
	}
	return question
}

// Terms returns the terms that the question asks about, in order.
func (q *Question) Terms() []string { return q.terms }

// Weigh weighs the terms: of all entries that the handle sees, holders[i] hold
// the i-th.
func (q *Question) Weigh(entries int, holders []int) {
	q.weights = make([]float64, len(q.terms))
	q.total = 0
	for i, n := range holders {
		if n > 0 {
			with, without := float64(n)+0.5, float64(entries-n)+0.5
			q.weights[i] = math.Log(1 + float64(without/with))
			q.total += q.weights[i]
		}
	}
}

// WeighAmong weighs the terms by a scan of all entries that the handle sees.
func (q *Question) WeighAmong(all []Candidate) {
	holders := make([]int, len(q.terms))
	for i := range all {
		for term, frequency := range q.read(&all[i].Entry) {
			holders[term] += frequency
		}
	}
	q.Weigh(len(all), holders)
}

// Weight returns the weight of the i-th term; 0 if no entry holds it.
func (q *Question) Weight(i int) float64 { return q.weights[i] }

// Score is the score, without what its neighbours and vectors add, of an
// entry that holds terms of the given weights, summed in the order of Terms.
// Of the entry it reads created_at, last_accessed, importance and strength.
// It is never more than the score of a perfect entry, [Question.Bound].
func (q *Question) Score(e *Entry, weights float64, now time.Time) float64 {
	parts := partsOf(e, now)
	parts.Relevance = q.Bound(weights)
	return parts.question()
}

// Bound is the most that Score returns for the weights.
func (q *Question) Bound(weights float64) float64 {
	if q.total == 0 {
		return 0
	}
	return weights / q.total
}

// question is the score of the parts.
func (p *Parts) question() float64 {
	worth := 0.7
	worth += float64(0.1 * p.Recency)
	worth += float64(0.1 * p.Importance)
	worth += float64(0.1 * p.Strength)
	return float64(p.Relevance * min(worth, 1))
}

// read counts each term once that the entry holds.
func (q *Question) read(e *Entry) []int {
	frequency := make([]int, len(q.terms))
	if len(q.terms) == 0 {
		return frequency
	}
	note := func(text string) {
		for _, piece := range Pieces(text) {
			for _, term := range q.heldBy(piece) {
				frequency[term] = 1
			}
		}
	}
	note(e.Memory)
	for _, keyword := range e.Keywords {
		note(keyword)
	}
	note(Speaker(e.Agent))
	return frequency
}

// heldBy returns the numbers of the terms that the piece holds. Texts repeat
// their words, and stemming one takes longer than remembering it.
func (q *Question) heldBy(piece string) []int {
	held, known := q.held[piece]
	if !known {
		for _, term := range Terms(piece) {
			if n, asked := q.number[term]; asked {
				held = append(held, n)
			}
		}
		q.held[piece] = held
	}
	return held
}

// weigh sums the weights of the terms with a frequency, and lentShare of
// those only lent.
func (q *Question) weigh(frequency []int, lent []bool) float64 {
	sum := 0.0
	for i, weight := range q.weights {
		if frequency[i] > 0 {
			sum += weight
		} else if lent != nil && lent[i] {
			sum += float64(lentShare * weight)
		}
	}
	return sum
}

// Rank answers the question from candidates, as [Composite.Rank] does for the
// other ranking. It needs only those that can be among the result: where the
// query has a limit and no embedding, and no fewer than [Question.Pool] are
// given, those with the highest Score are enough.
func (q *Question) Rank(now time.Time, candidates []Candidate, around Around, follow Follow) ([]Hit, error) {
	r := questionRanking{
		ranking:  ranking{query: q.query, now: now, tokens: q.terms},
		question: q,
	}
	r.admit(candidates, r.read)
	if q.query.Window > 0 {
		if err := r.lend(around); err != nil {
			return nil, err
		}
	}
	relevance := r.relevances()
	hits := make([]ranked, len(r.candidates))
	for i := range r.candidates {
		hits[i] = r.rank(&r.candidates[i], relevance[i])
	}
	return r.conclude(hits, follow, func(c Candidate) ranked {
		s := r.read(c)
		return r.rank(&s, s.relevance)
	})
}

// questionRanking is one run of Question.Rank.
type questionRanking struct {
	ranking
	question *Question
}

func (r *questionRanking) read(c Candidate) scored {
	s := scored{Candidate: c}
	s.Frequency = r.question.read(&c.Entry)
	s.matched = slices.Contains(s.Frequency, 1)
	s.relevance = r.question.Bound(r.question.weigh(s.Frequency, nil))
	return s
}

// relevances returns each candidate's relevance to the question, from 0 to 1.
func (r *questionRanking) relevances() []float64 {
	vectors := r.anyVector()
	if len(r.tokens) == 0 && !vectors {
		return slices.Repeat([]float64{1}, len(r.candidates))
	}
	out := make([]float64, len(r.candidates))
	for i := range r.candidates {
		out[i] = r.candidates[i].relevance
		if vectors {
			out[i] = r.blend(&r.candidates[i])
		}
		out[i] = clamp(out[i], 0, 1)
	}
	return out
}

// cosineShare is how much of the relevance cosine decides, where there are
// vectors.
const cosineShare = 0.2

// blend joins relevance by text with cosine.
func (r *questionRanking) blend(c *scored) float64 {
	relevance := float64((1 - cosineShare) * c.relevance)
	if cosine := Cosine(r.query.Embedding, c.Entry.Embedding); cosine > 0 {
		relevance += float64(cosineShare * cosine)
	}
	return relevance
}

func (r *questionRanking) rank(c *scored, relevance float64) ranked {
	h := r.weigh(c, relevance)
	h.Score = h.Parts.question()
	return h
}
