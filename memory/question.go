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
// that only they hold counts 0.5 of its weight. They are the given number of
// entries created just before and after it, by created_at and then insertion
// order, among those of the same agent root (see [Root]) that the handle sees
// and that are not above the query's confidentiality, as far as they lie
// within an hour of it. Only the 20 entries best without this, and those
// around them, gain from it; and only where there is evidence that what was
// created together belongs together, see [Question.Lend].
//
// With a query embedding and at least one candidate with an embedding,
// relevance becomes
//
//	1 - (1 - relevance)*(1 - 0.3*max(cosine, 0))
//
// the chance that at least one of two independent witnesses is right, of whom
// the vectors are believed to the share of 0.3. So a vector adds to what the
// words say, the most where they say least. Fusing by ranks, as [Composite]
// does, gives vectors half of the say however little they know.
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

// weighAmong weighs the terms by a scan of all entries that the handle sees.
func (q *Question) weighAmong(all []Candidate) {
	among := Holders{Terms: make([]int, len(q.terms))}
	for i := range all {
		among.add(q.read(&all[i].Entry))
	}
	q.Weigh(among.Entries, among.Terms)
}

// Weight returns the weight of the i-th term; 0 if no entry holds it.
func (q *Question) Weight(i int) float64 { return q.weights[i] }

// Relevance is that of an entry, as far as its text goes, which holds terms of
// the given weights, summed in the order of Terms.
func (q *Question) Relevance(weights float64) float64 {
	if q.total == 0 {
		return 0
	}
	return weights / q.total
}

// Score is the score of an entry of that relevance, and never more than it. Of
// the entry it reads created_at, last_accessed, importance and strength.
func (q *Question) Score(e *Entry, relevance float64, now time.Time) float64 {
	parts := partsOf(e, now)
	parts.Relevance = relevance
	return parts.question()
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

// Sum sums the weights of the terms that an entry holds, and half the weights
// of those only lent to it; lent may be nil.
func (q *Question) Sum(holds []int, lent []bool) float64 {
	sum := 0.0
	for i, weight := range q.weights {
		if holds[i] > 0 {
			sum += weight
		} else if lent != nil && lent[i] {
			sum += float64(lentShare * weight)
		}
	}
	return sum
}

// cosineShare is how far cosine is believed, where there are vectors.
const cosineShare = 0.3

// Blend joins relevance by text with cosine. It is for all candidates where
// any of them has a vector to compare with the query's; those without one have
// the cosine 0.
func (q *Question) Blend(relevance, cosine float64) float64 {
	byVector := float64(cosineShare * max(cosine, 0))
	return clamp(relevance+float64(byVector*(1-relevance)), 0, 1)
}

// Fit is how well an entry answers a question.
type Fit struct {
	Relevance float64
	Lent      []bool // which terms the entries around it lend it, or nil
}

// Rank answers the question from candidates and how well they fit, as
// [Composite.Rank] does for the other ranking. Where the query has a limit,
// those with the highest Score are enough.
func (q *Question) Rank(now time.Time, candidates []Candidate, fits []Fit, follow Follow) ([]Hit, error) {
	r := q.ranking(now)
	for i := range candidates {
		s := r.read(candidates[i])
		s.relevance, s.lent = fits[i].Relevance, fits[i].Lent
		r.candidates = append(r.candidates, s)
	}
	return r.answer(follow)
}

// RankAmong answers the question from candidates of which it finds out itself
// how well they fit. It needs only those that can be among the result: where
// the query has a limit and no embedding, and no fewer than [Question.Pool]
// are given, those with the highest Score are enough.
func (q *Question) RankAmong(now time.Time, candidates []Candidate, around Surroundings, follow Follow) ([]Hit, error) {
	r := q.ranking(now)
	r.admit(candidates, r.read)
	if q.query.Window > 0 {
		if err := r.lend(around); err != nil {
			return nil, err
		}
	}
	r.judge()
	return r.answer(follow)
}

// questionRanking is one run of a question.
type questionRanking struct {
	ranking
	question *Question
}

func (q *Question) ranking(now time.Time) questionRanking {
	return questionRanking{ranking: ranking{query: q.query, now: now, tokens: q.terms}, question: q}
}

// read notes what the candidate holds of the question, and its relevance by
// that alone.
func (r *questionRanking) read(c Candidate) scored {
	s := scored{Candidate: c}
	s.Frequency = r.question.read(&c.Entry)
	s.matched = slices.Contains(s.Frequency, 1)
	s.relevance = r.question.Relevance(r.question.Sum(s.Frequency, nil))
	return s
}

// judge makes the relevance by text the relevance to the question.
func (r *questionRanking) judge() {
	vectors := r.anyVector()
	for i := range r.candidates {
		c := &r.candidates[i]
		switch {
		case vectors:
			c.relevance = r.question.Blend(c.relevance, Cosine(r.query.Embedding, c.Entry.Embedding))
		case len(r.tokens) == 0:
			c.relevance = 1
		}
	}
}

// answer concludes with the candidates and their relevance.
func (r *questionRanking) answer(follow Follow) ([]Hit, error) {
	hits := make([]ranked, len(r.candidates))
	for i := range r.candidates {
		hits[i] = r.rank(&r.candidates[i])
	}
	return r.conclude(hits, follow, func(c Candidate) ranked {
		s := r.read(c)
		return r.rank(&s)
	})
}

func (r *questionRanking) rank(c *scored) ranked {
	h := r.weigh(c, c.relevance)
	h.Score = h.Parts.question()
	return h
}
