package memory

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Filter selects entries by their fields; the zero Filter selects all. An
// entry must pass every part that is set.
type Filter struct {
	// Category must be equal; empty means any.
	Category Category
	// Tags passes an entry that has at least one of them, compared exactly.
	Tags []string
	// Agent must be equal; nil means any, and a pointer to "" selects only
	// entries without an agent.
	Agent *string
	// AgentPrefix must be a prefix of the agent, as text: tg:1 covers tg:12.
	// It is ignored when Agent is set.
	AgentPrefix string
	// MemoryType must be equal; nil means any.
	MemoryType *MemoryType
	// MinStrength excludes entries whose effective strength is below it.
	MinStrength *float64
	// MaxConfidentiality excludes entries above that level.
	MaxConfidentiality *Confidentiality
}

// Validate reports a filter that cannot mean anything, as an [ErrInvalid].
func (f *Filter) Validate() error {
	if f.MinStrength != nil && math.IsNaN(*f.MinStrength) {
		return invalid("min_strength", "is not a number")
	}
	if f.MemoryType != nil && int(*f.MemoryType) >= len(memoryTypeNames) {
		return invalid("memory_type", "is %d, which is no memory type", *f.MemoryType)
	}
	return nil
}

// Matches reports whether the entry passes the filter at the given time.
func (f *Filter) Matches(e *Entry, now time.Time) bool {
	return (f.Category == "" || e.Category == f.Category) &&
		(len(f.Tags) == 0 || slices.ContainsFunc(e.Tags, func(tag string) bool { return slices.Contains(f.Tags, tag) })) &&
		(f.MemoryType == nil || e.MemoryType == *f.MemoryType) &&
		f.reaches(e, now)
}

// reaches is the part of the filter that also bounds graph expansion: who may
// be seen and what is forgotten, but not what was asked about.
func (f *Filter) reaches(e *Entry, now time.Time) bool {
	switch {
	case f.Agent != nil:
		if e.Agent != *f.Agent {
			return false
		}
	case !strings.HasPrefix(e.Agent, f.AgentPrefix):
		return false
	}
	return (f.MaxConfidentiality == nil || e.Confidentiality <= *f.MaxConfidentiality) &&
		(f.MinStrength == nil || e.EffectiveStrength(now) >= *f.MinStrength)
}

// Query asks Recall for entries. The zero Query means: every entry, best
// first, and each of them reinforced.
type Query struct {
	Filter
	// Text is what to look for; without words in it, every entry is a
	// candidate. No character of it is syntax.
	Text string
	// Limit is the most entries to return; 0 means all, a negative one is an
	// error.
	Limit int
	// Embedding is the query as a vector. Entries with an embedding are then
	// candidates even where the text does not match, and relevance fuses both
	// rankings.
	Embedding []float32
	// NoReinforce leaves the strength of the returned entries as it is. The
	// access is counted all the same.
	NoReinforce bool
	// ExactWords compares whole words, without the punctuation around them,
	// where the default looks for substrings. It is of no account to
	// [RankingQuestion].
	ExactWords bool
	// Ranking is how candidates are found by their text and ranked.
	Ranking Ranking
	// Window is how many entries before and after an entry lend it their
	// words, for entries that are turns of a conversation; 0 is none, and
	// [MaxWindow] the most. Only [RankingQuestion] heeds it; see [Question].
	Window int
}

// Validate reports a query that cannot mean anything, as an [ErrInvalid].
func (q *Query) Validate() error {
	if q.Limit < 0 {
		return invalid("limit", "is %d; use 0 for no limit", q.Limit)
	}
	if err := validateVector("query_embedding", q.Embedding); err != nil {
		return err
	}
	if int(q.Ranking) >= len(rankingNames) {
		return invalid("ranking", "is %d, which is no ranking", q.Ranking)
	}
	if q.Window < 0 || q.Window > MaxWindow {
		return invalid("window", "is %d; it must be from 0 to %d", q.Window, MaxWindow)
	}
	return q.Filter.Validate()
}

// Tokens returns the words the query looks for, lowercased, without repeats;
// in exact mode also without the punctuation around them.
func (q *Query) Tokens() []string {
	tokens := Pieces(q.Text)
	if q.ExactWords {
		for i, token := range tokens {
			tokens[i] = Word(token)
		}
	}
	return distinct(tokens)
}

// Hit is one result of Recall.
type Hit struct {
	// Entry is as it stands after the access was counted.
	Entry Entry
	// Score is what the hits are ordered by, from 0 to 1.
	Score float64
	// Parts is what the score is made of.
	Parts Parts
	// Matched tells whether the text matched; an entry may also come in by
	// its embedding, by a link, or because the query had no text.
	Matched bool
}

// Parts is what a ranking went by. The numbers are from 0 to 1; see
// [Query.Rank] and [Question] for what they mean.
type Parts struct {
	Recency, Importance, Relevance, Strength float64
	// Words are those of the query, as it compares them, that are in the
	// entry.
	Words []string
	// Lent are those that only the entries around it have.
	Lent []string
}

// Recollection is the result of a Recall.
type Recollection struct {
	// Hits are ordered by score, ties by insertion order.
	Hits []Hit
	// Deferred is set when the write lock was not to be had in a short time:
	// the accesses are counted with the next write of this process, or when
	// the store is closed.
	Deferred bool
}

// Candidate is an entry as Recall ranks it.
type Candidate struct {
	Entry Entry
	// Position orders candidates as they were inserted.
	Position int64
}

// Follow fetches the entries of those ids that exist within the handle's
// scope, in any order.
type Follow func(ids []uuid.UUID) ([]Candidate, error)

// Rank answers the query by [RankingComposite] from candidates: it drops those that do not pass,
// scores the rest, cuts them to the limit and adds what they are linked to.
// A store may therefore offer more candidates than match, never fewer; all of
// them must lie within its scope. The book-keeping of the returned entries is
// done in the result, not in the store.
//
// The score is heartbit's composite, after Park et al., "Generative Agents"
// (2023), with strength as a fourth term:
//
//	0.25*recency + 0.25*importance + 0.3*relevance + 0.2*strength
//
// where relevance is BM25 without inverse document frequency (k1 1.2, b
// 0.75), scaled to the best candidate, or, with embeddings, the Reciprocal
// Rank Fusion (Cormack et al., 2009) of BM25 and cosine with constant 50.
func (q *Query) Rank(now time.Time, candidates []Candidate, follow Follow) ([]Hit, error) {
	r := ranking{query: q, now: now, tokens: q.Tokens()}
	r.admit(candidates)
	r.scoreTexts()
	relevance := r.relevance()
	hits := make([]ranked, len(r.candidates))
	for i := range r.candidates {
		hits[i] = r.rank(&r.candidates[i], relevance[i])
	}
	return r.conclude(hits, follow, func(c Candidate) ranked {
		s := r.read(c)
		return r.rank(&s, r.bm25(&s)/r.highest)
	})
}

// ranking is one run of Rank.
type ranking struct {
	query      *Query
	now        time.Time
	tokens     []string
	candidates []scored
	meanLength float64 // of the candidates, in pieces; at least 1
	highest    float64 // the best bm25 of the candidates; at least 1
}

// scored is a candidate with what its text says about the query.
type scored struct {
	Candidate
	frequency []int  // how often each token occurs, keywords included
	lent      []bool // which tokens the entries around it have, or nil
	matched   bool   // any token occurs in the entry itself
	length    int    // pieces of the text
	bm25      float64
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
func (r *ranking) admit(candidates []Candidate) {
	for _, c := range candidates {
		if !r.query.Filter.Matches(&c.Entry, r.now) {
			continue
		}
		s := r.read(c)
		if len(r.tokens) == 0 || s.matched || r.hasVector(&c.Entry) {
			r.candidates = append(r.candidates, s)
		}
	}
	slices.SortFunc(r.candidates, func(a, b scored) int { return cmp.Compare(a.Position, b.Position) })
}

func (r *ranking) hasVector(e *Entry) bool {
	return len(r.query.Embedding) > 0 && len(e.Embedding) > 0
}

func (r *ranking) anyVector() bool {
	return slices.ContainsFunc(r.candidates, func(c scored) bool { return r.hasVector(&c.Entry) })
}

// read counts the tokens of the query in the text and keywords of a candidate.
func (r *ranking) read(c Candidate) scored {
	s := scored{Candidate: c, frequency: make([]int, len(r.tokens))}
	pieces := Pieces(c.Entry.Memory)
	s.length = len(pieces)
	keywords := make([]string, len(c.Entry.Keywords))
	for i, keyword := range c.Entry.Keywords {
		keywords[i] = Lower(keyword)
	}
	for i, token := range r.tokens {
		for _, piece := range pieces {
			if r.occurs(token, piece) {
				s.frequency[i]++
			}
		}
		if slices.ContainsFunc(keywords, func(keyword string) bool { return r.inKeyword(token, keyword) }) {
			s.frequency[i] += keywordBonus
		}
		s.matched = s.matched || s.frequency[i] > 0
	}
	return s
}

// keywordBonus is how many occurrences in the text a keyword stands for.
const keywordBonus = 2

func (r *ranking) occurs(token, piece string) bool {
	if r.query.ExactWords {
		return Word(piece) == token
	}
	return strings.Contains(piece, token)
}

func (r *ranking) inKeyword(token, keyword string) bool {
	if !r.query.ExactWords {
		return strings.Contains(keyword, token)
	}
	return slices.ContainsFunc(strings.Fields(keyword), func(piece string) bool { return Word(piece) == token })
}

// scoreTexts sets the mean length, every candidate's bm25 and the highest.
func (r *ranking) scoreTexts() {
	total := 0
	for i := range r.candidates {
		total += r.candidates[i].length
	}
	r.meanLength = 1
	if len(r.candidates) > 0 {
		r.meanLength = max(float64(total)/float64(len(r.candidates)), 1)
	}
	r.highest = 1
	for i := range r.candidates {
		c := &r.candidates[i]
		c.bm25 = r.bm25(c)
		r.highest = max(r.highest, c.bm25)
	}
}

func (r *ranking) bm25(c *scored) float64 {
	const k1, b = 1.2, 0.75
	norm := float64(k1 * float64((1-b)+float64(float64(b*float64(c.length))/r.meanLength)))
	sum := 0.0
	for _, n := range c.frequency {
		tf := float64(n)
		sum += float64(tf*(k1+1)) / float64(tf+norm)
	}
	return sum
}

// relevance returns each candidate's relevance to the query, from 0 to 1.
func (r *ranking) relevance() []float64 {
	out := make([]float64, len(r.candidates))
	if r.anyVector() {
		r.fuse(out)
		return out
	}
	for i := range r.candidates {
		out[i] = r.candidates[i].bm25 / r.highest
	}
	return out
}

// fuse is Reciprocal Rank Fusion of the rankings by bm25 and by cosine.
func (r *ranking) fuse(out []float64) {
	byText := make([]float64, len(r.candidates))
	byVector := make([]float64, len(r.candidates))
	var texts, vectors []int
	for i := range r.candidates {
		c := &r.candidates[i]
		if c.bm25 > 0 {
			byText[i] = c.bm25
			texts = append(texts, i)
		}
		if len(c.Entry.Embedding) > 0 {
			byVector[i] = Cosine(r.query.Embedding, c.Entry.Embedding)
			vectors = append(vectors, i)
		}
	}
	addReciprocalRanks(out, texts, byText)
	addReciprocalRanks(out, vectors, byVector)
	highest := slices.Max(out)
	for i := range out {
		out[i] /= highest
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

// Cosine is the cosine of the angle between two vectors, computed in float64;
// 0 where their lengths differ or one of them is all zero.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += float64(x * y)
		aa += float64(x * x)
		bb += float64(y * y)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / float64(math.Sqrt(aa)*math.Sqrt(bb))
}

// rank computes the composite score.
func (r *ranking) rank(c *scored, relevance float64) ranked {
	h := r.weigh(c, relevance)
	p := &h.Parts
	h.Score = float64(0.25 * p.Recency)
	h.Score += float64(0.25 * p.Importance)
	h.Score += float64(0.3 * p.Relevance)
	h.Score += float64(0.2 * p.Strength)
	return h
}

// weigh returns what a score is made of.
func (r *ranking) weigh(c *scored, relevance float64) ranked {
	parts := partsOf(&c.Entry, r.now)
	parts.Relevance = clamp(relevance, 0, 1)
	return ranked{
		Hit:       Hit{Entry: c.Entry, Parts: parts, Matched: c.matched},
		position:  c.Position,
		frequency: c.frequency,
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
