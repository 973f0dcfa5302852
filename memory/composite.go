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
// its text, or have an embedding where the query has one. Their mean length
// and best BM25 are part of every score, so they must be weighed before any of
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
	// Frequency is how often each token occurs: in how many pieces of the
	// text, and [KeywordBonus] more if in any keyword.
	Frequency []int
	// Length is that of the text, in pieces.
	Length int
}

// KeywordBonus is how many occurrences in the text a keyword stands for.
const KeywordBonus = 2

// Weigh notes of all candidates what the score of each depends on.
func (c *Composite) Weigh(candidates []Reading) {
	total := 0
	for i := range candidates {
		total += candidates[i].Length
	}
	c.meanLength = 1
	if len(candidates) > 0 {
		c.meanLength = max(float64(total)/float64(len(candidates)), 1)
	}
	c.highest = 1
	for i := range candidates {
		c.highest = max(c.highest, c.bm25(&candidates[i]))
	}
}

func (c *Composite) bm25(r *Reading) float64 {
	const k1, b = 1.2, 0.75
	norm := float64(k1 * float64((1-b)+float64(float64(b*float64(r.Length))/c.meanLength)))
	sum := 0.0
	for _, n := range r.Frequency {
		tf := float64(n)
		sum += float64(tf*(k1+1)) / float64(tf+norm)
	}
	return sum
}

// Score is the score, as long as no vectors are compared, of an entry of which
// it reads created_at, last_accessed, importance and strength.
func (c *Composite) Score(e *Entry, r *Reading, now time.Time) float64 {
	parts := partsOf(e, now)
	parts.Relevance = c.relevance(r)
	return parts.composite()
}

func (c *Composite) relevance(r *Reading) float64 { return clamp(c.bm25(r)/c.highest, 0, 1) }

// composite is the score of the parts.
func (p *Parts) composite() float64 {
	score := float64(0.25 * p.Recency)
	score += float64(0.25 * p.Importance)
	score += float64(0.3 * p.Relevance)
	score += float64(0.2 * p.Strength)
	return score
}

// Rank answers the query once it is weighed. It needs only the candidates that
// can be among the result: where the query has a limit and no embedding, those
// with the highest Score are enough.
//
// What does not pass or match is dropped, the rest scored, cut to the limit
// and joined by what it is linked to. The book-keeping of the returned entries
// is done in the result, not in the store.
func (c *Composite) Rank(now time.Time, candidates []Candidate, follow Follow) ([]Hit, error) {
	r := compositeRanking{ranking{query: c.query, now: now, tokens: c.tokens}, c}
	r.admit(candidates, r.read)
	return r.answer(follow)
}

// Rank answers the query by [RankingComposite] from all candidates; a store
// may offer more entries than those, never fewer, and all of them must lie
// within its scope.
func (q *Query) Rank(now time.Time, candidates []Candidate, follow Follow) ([]Hit, error) {
	c := q.Composite()
	r := compositeRanking{ranking{query: q, now: now, tokens: c.tokens}, c}
	r.admit(candidates, r.read)
	readings := make([]Reading, len(r.candidates))
	for i := range r.candidates {
		readings[i] = r.candidates[i].Reading
	}
	c.Weigh(readings)
	return r.answer(follow)
}

// compositeRanking is one run of Rank.
type compositeRanking struct {
	ranking
	*Composite
}

// read counts the tokens of the query in the text and keywords of a candidate.
func (r *compositeRanking) read(c Candidate) scored {
	s := scored{Candidate: c}
	tokens := r.ranking.tokens
	s.Frequency = make([]int, len(tokens))
	pieces := Pieces(c.Entry.Memory)
	s.Length = len(pieces)
	keywords := make([]string, len(c.Entry.Keywords))
	for i, keyword := range c.Entry.Keywords {
		keywords[i] = Lower(keyword)
	}
	for i, token := range tokens {
		for _, piece := range pieces {
			if r.occurs(token, piece) {
				s.Frequency[i]++
			}
		}
		if slices.ContainsFunc(keywords, func(keyword string) bool { return r.inKeyword(token, keyword) }) {
			s.Frequency[i] += KeywordBonus
		}
		s.matched = s.matched || s.Frequency[i] > 0
	}
	return s
}

func (r *compositeRanking) occurs(token, piece string) bool {
	if r.ranking.query.ExactWords {
		return Word(piece) == token
	}
	return strings.Contains(piece, token)
}

func (r *compositeRanking) inKeyword(token, keyword string) bool {
	if !r.ranking.query.ExactWords {
		return strings.Contains(keyword, token)
	}
	return slices.ContainsFunc(strings.Fields(keyword), func(piece string) bool { return Word(piece) == token })
}

func (r *compositeRanking) answer(follow Follow) ([]Hit, error) {
	relevance := r.relevances()
	hits := make([]ranked, len(r.candidates))
	for i := range r.candidates {
		hits[i] = r.rank(&r.candidates[i], relevance[i])
	}
	return r.conclude(hits, follow, func(c Candidate) ranked {
		s := r.read(c)
		return r.rank(&s, r.relevance(&s.Reading))
	})
}

// relevances returns each candidate's relevance to the query, from 0 to 1.
func (r *compositeRanking) relevances() []float64 {
	out := make([]float64, len(r.candidates))
	if r.anyVector() {
		r.fuse(out)
		return out
	}
	for i := range r.candidates {
		out[i] = r.relevance(&r.candidates[i].Reading)
	}
	return out
}

// fuse is Reciprocal Rank Fusion of the rankings by bm25 and by cosine.
func (r *compositeRanking) fuse(out []float64) {
	byText := make([]float64, len(r.candidates))
	byVector := make([]float64, len(r.candidates))
	var texts, vectors []int
	for i := range r.candidates {
		c := &r.candidates[i]
		if c.matched {
			byText[i] = r.bm25(&c.Reading)
			texts = append(texts, i)
		}
		if len(c.Entry.Embedding) > 0 {
			byVector[i] = Cosine(r.ranking.query.Embedding, c.Entry.Embedding)
			vectors = append(vectors, i)
		}
	}
	addReciprocalRanks(out, texts, byText)
	addReciprocalRanks(out, vectors, byVector)
	highest := slices.Max(out)
	for i := range out {
		out[i] = clamp(out[i]/highest, 0, 1)
	}
}

// addReciprocalRanks ranks the listed candidates by value, equal ones in
// insertion order, and adds 1/(50+rank) to each.
func addReciprocalRanks(out []float64, list []int, value []float64) {
	const constant = 50
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(value[b], value[a]) })
	for i, candidate := range list {
		out[candidate] += 1 / float64(constant+i+1)
	}
}

func (r *compositeRanking) rank(c *scored, relevance float64) ranked {
	h := r.weigh(c, relevance)
	h.Score = h.Parts.composite()
	return h
}
