package memory

import (
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
// [Composite] and [Question] for what they mean.
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
