package memory

import "strings"

// Match is one result of Retrieve.
type Match struct {
	Entry Entry
	// Score is the LoopMemory score; see [RetrieveQuery.Score].
	Score float32
	// Matched tells whether a word or a tag matched; otherwise the entry
	// only fills the result by its relevance.
	Matched bool
}

// RetrieveQuery is the text of a Retrieve, prepared for scoring many entries.
type RetrieveQuery struct {
	// Words are the pieces of the lowercased query, repeats included.
	Words []string
	// Phrase is the whole lowercased query, trimmed; tags are searched for it.
	Phrase string
}

// NewRetrieveQuery prepares the text of a query. Nothing in it is syntax.
func NewRetrieveQuery(text string) RetrieveQuery {
	lowered := Lower(text)
	return RetrieveQuery{Words: strings.Fields(lowered), Phrase: strings.TrimSpace(lowered)}
}

// Overlap returns the share of the query's words that are substrings of the
// lowercased text, from 0 to 1; 0 for a query without words.
func (q *RetrieveQuery) Overlap(lowered string) float32 {
	if len(q.Words) == 0 {
		return 0
	}
	found := 0
	for _, word := range q.Words {
		if strings.Contains(lowered, word) {
			found++
		}
	}
	return float32(found) / float32(len(q.Words))
}

// TagMatches reports whether any of the tags, lowercased, contains the phrase.
func (q *RetrieveQuery) TagMatches(tags []string) bool {
	if q.Phrase == "" {
		return false
	}
	for _, tag := range tags {
		if strings.Contains(Lower(tag), q.Phrase) {
			return true
		}
	}
	return false
}

// Score is the ranking formula of LoopMemory (crate loopctl-sqlite):
//
//	relevance*0.5 + overlap*0.4 + (0.3 if a tag matched) + 0.1
//
// in float32, from left to right. A relevance outside 0..1 counts as zero.
// The explicit conversions keep compilers from fusing the operations, which
// would break ties differently from platform to platform.
func (q *RetrieveQuery) Score(relevance, overlap float32, tag bool) float32 {
	var bonus float32
	if tag {
		bonus = 0.3
	}
	if !(relevance >= 0 && relevance <= 1) {
		relevance = 0
	}
	score := float32(float32(relevance*0.5) + float32(overlap*0.4))
	score = float32(score + bonus)
	return float32(score + 0.1)
}

// Match scores one entry.
func (q *RetrieveQuery) Match(e *Entry) Match {
	overlap := q.Overlap(Lower(e.Memory))
	tag := q.TagMatches(e.Tags)
	return Match{
		Entry:   *e,
		Score:   q.Score(e.Relevance, overlap, tag),
		Matched: overlap > 0 || tag,
	}
}
