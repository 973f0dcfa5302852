package memory

import (
	"slices"
	"time"
)

// Ranking is a way to find and order what Recall returns.
type Ranking uint8

const (
	// RankingComposite is heartbit's score over words or parts of words; see
	// [Query.Rank].
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

// answer ranks by the ranking of the query, with all entries in hand that the
// handle sees.
func (q *Query) answer(now time.Time, all []Candidate, follow Follow) ([]Hit, error) {
	if q.Ranking == RankingComposite {
		return q.Rank(now, all, follow)
	}
	question := q.Question()
	question.WeighAmong(all)
	return question.Rank(now, all, question.AroundAmong(all), follow)
}
