package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Composite is a query as [RankingComposite] reads it: by words or parts of
// words, without regard to how frequent they are. The score is heartbit's
// composite, after Park et al., "Generative Agents" (2023), with strength as a
// fourth term:
//
//	0.25*recency + 0.25*importance + 0.3*relevance + 0.2*strength
//
// where relevance is BM25 without inverse document frequency (k1 1.2, b
// 0.75), scaled to the best candidate, or, with embeddings, the Reciprocal
// Rank Fusion (Cormack et al., 2009) of BM25 and cosine with constant 50.
//
// The candidates are the entries that pass the filter of the query and match
// its text, or have an embedding where the query has one. What one of them is
// worth depends on the others, so they must be weighed together before any of
// them is ranked.
type Composite struct {
	query      *Query
	tokens     []string
	meanLength float64 // of the candidates, in pieces; at least 1
	highest    float64 // the best bm25 of the candidates; at least 1
}

// Composite reads the query. It must be weighed before it can rank.
func (q *Query) Composite() *Composite { return &Composite{query: q, tokens: q.Tokens()} }

// Tokens returns the words that are looked for; see [Query.Tokens].
func (c *Composite) Tokens() []string { return c.tokens }

// Reading is what an entry says about a query.
type Reading struct {
	// Position is that of the entry in insertion order.
	Position int64
	// Frequency is how often each token occurs: in how many pieces of the
	// text, and [KeywordBonus] more if in any keyword.
	Frequency []int
	// Length is that of the text, in pieces.
	Length int
	// Vector tells that query and entry have embeddings, and Cosine how much
	// they are alike.
	Vector bool
	Cosine float64
}

// KeywordBonus is how many occurrences in the text a keyword stands for.
const KeywordBonus = 2

// Read returns what an entry says about the query, and whether that makes it a
// candidate if it passes the filter. Of the entry it looks at memory, keywords
// and embedding; where there are no tokens, at the embedding alone.
func (c *Composite) Read(e *Entry, position int64) (r Reading, candidate bool) {
	r.Position = position
	if len(c.query.Embedding) > 0 && len(e.Embedding) > 0 {
		r.Vector, r.Cosine = true, Cosine(c.query.Embedding, e.Embedding)
	}
	if len(c.tokens) == 0 {
		return r, true
	}
	pieces := Pieces(e.Memory)
	r.Length = len(pieces)
	keywords := make([]string, len(e.Keywords))
	for i, keyword := range e.Keywords {
		keywords[i] = Lower(keyword)
	}
	r.Frequency = make([]int, len(c.tokens))
	for i, token := range c.tokens {
		for _, piece := range pieces {
			if c.occurs(token, piece) {
				r.Frequency[i]++
			}
		}
		if slices.ContainsFunc(keywords, func(keyword string) bool { return c.inKeyword(token, keyword) }) {
			r.Frequency[i] += KeywordBonus
		}
	}
	return r, r.Vector || r.matches()
}

// matches reports whether any token occurs.
func (r *Reading) matches() bool {
	return slices.ContainsFunc(r.Frequency, func(n int) bool { return n > 0 })
}

func (c *Composite) occurs(token, piece string) bool {
	if c.query.ExactWords {
		return Word(piece) == token
	}
	return strings.Contains(piece, token)
}

func (c *Composite) inKeyword(token, keyword string) bool {
	if !c.query.ExactWords {
		return strings.Contains(keyword, token)
	}
	return slices.ContainsFunc(strings.Fields(keyword), func(piece string) bool { return Word(piece) == token })
}

// Weigh returns the relevance of every candidate, from 0 to 1.
func (c *Composite) Weigh(candidates []Reading) []float64 {
	total := 0
	vectors := false
	for i := range candidates {
		total += candidates[i].Length
		vectors = vectors || candidates[i].Vector
	}
	c.meanLength = 1
	if len(candidates) > 0 {
		c.meanLength = max(float64(total)/float64(len(candidates)), 1)
	}
	c.highest = 1
	relevance := make([]float64, len(candidates))
	for i := range candidates {
		relevance[i] = c.bm25(&candidates[i])
		c.highest = max(c.highest, relevance[i])
	}
	if vectors {
		fuse(relevance, candidates)
		return relevance
	}
	for i := range relevance {
		relevance[i] = clamp(relevance[i]/c.highest, 0, 1)
	}
	return relevance
}

func (c *Composite) bm25(r *Reading) float64 {
	const k1, b = 1.2, 0.75
	norm := float64(k1 * float64((1-b)+float64(float64(b*float64(r.Length))/c.meanLength)))
	sum := 0.0
	for _, n := range r.Frequency {
		if n > 0 {
			tf := float64(n)
			sum += float64(tf*(k1+1)) / float64(tf+norm)
		}
	}
	return sum
}

// fuse turns bm25 into the Reciprocal Rank Fusion of the rankings by bm25 and
// by cosine.
func fuse(bm25 []float64, candidates []Reading) {
	byText, byVector := make([]place, 0, len(candidates)), make([]place, 0, len(candidates))
	for i := range candidates {
		c := &candidates[i]
		if bm25[i] > 0 {
			byText = append(byText, place{bm25[i], c.Position, i})
		}
		if c.Vector {
			byVector = append(byVector, place{c.Cosine, c.Position, i})
		}
	}
	sums := make([]float64, len(candidates))
	addReciprocalRanks(sums, byText)
	addReciprocalRanks(sums, byVector)
	highest := slices.Max(sums)
	for i := range sums {
		bm25[i] = clamp(sums[i]/highest, 0, 1)
	}
}

// place is what decides on the rank of a candidate.
type place struct {
	value     float64
	position  int64
	candidate int // its index
}

// addReciprocalRanks ranks the places by value, equal ones in insertion order,
// and adds 1/(50+rank) to the sum of each candidate.
func addReciprocalRanks(sums []float64, ranking []place) {
	const constant = 50
	slices.SortFunc(ranking, func(a, b place) int {
		if order := cmp.Compare(b.value, a.value); order != 0 {
			return order
		}
		return cmp.Compare(a.position, b.position)
	})
	for i := range ranking {
		sums[ranking[i].candidate] += 1 / float64(constant+i+1)
	}
}

// Score is the score of a candidate of that relevance. Of the entry it reads
// created_at, last_accessed, importance and strength.
func (c *Composite) Score(e *Entry, relevance float64, now time.Time) float64 {
	parts := partsOf(e, now)
	parts.Relevance = relevance
	return parts.composite()
}

// composite is the score of the parts.
func (p *Parts) composite() float64 {
	score := float64(0.25 * p.Recency)
	score += float64(0.25 * p.Importance)
	score += float64(0.3 * p.Relevance)
	score += float64(0.2 * p.Strength)
	return score
}

// Rank answers the query from its candidates and their relevance, once they
// are weighed. Where the query has a limit, those with the highest Score are
// enough.
//
// They are cut to the limit and joined by what they are linked to. The
// book-keeping of the returned entries is done in the result, not in the
// store.
func (c *Composite) Rank(now time.Time, candidates []Candidate, relevance []float64, follow Follow) ([]Hit, error) {
	r := compositeRanking{ranking{query: c.query, now: now, tokens: c.tokens}, c}
	for _, candidate := range candidates {
		r.candidates = append(r.candidates, r.read(candidate))
	}
	return r.answer(relevance, follow)
}

// Rank answers the query by [RankingComposite] from all entries that may be
// candidates; a store may offer more than are, never fewer, and all of them
// must lie within its scope.
func (q *Query) Rank(now time.Time, entries []Candidate, follow Follow) ([]Hit, error) {
	c := q.Composite()
	r := compositeRanking{ranking{query: q, now: now, tokens: c.tokens}, c}
	r.admit(entries, r.read)
	readings := make([]Reading, len(r.candidates))
	for i := range r.candidates {
		readings[i] = r.candidates[i].Reading
	}
	return r.answer(c.Weigh(readings), follow)
}

// compositeRanking is one run of Rank.
type compositeRanking struct {
	ranking
	*Composite
}

func (r *compositeRanking) read(c Candidate) scored {
	reading, _ := r.Read(&c.Entry, c.Position)
	return scored{Candidate: c, Reading: reading, matched: reading.matches()}
}

// answer concludes with the candidates and the relevance of each.
func (r *compositeRanking) answer(relevance []float64, follow Follow) ([]Hit, error) {
	hits := make([]ranked, len(r.candidates))
	for i := range r.candidates {
		hits[i] = r.rank(&r.candidates[i], relevance[i])
	}
	return r.conclude(hits, follow, func(c Candidate) ranked {
		s := r.read(c)
		return r.rank(&s, clamp(r.bm25(&s.Reading)/r.highest, 0, 1))
	})
}

func (r *compositeRanking) rank(c *scored, relevance float64) ranked {
	h := r.weigh(c, relevance)
	h.Score = h.Parts.composite()
	return h
}
