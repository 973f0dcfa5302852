package memory

import (
	"fmt"
	"strings"
)

// Explanation tells how the score of a hit came about: as JSON to programs, by
// String to people.
type Explanation struct {
	Ranking    string   `json:"ranking" jsonschema:"how the parts are weighed"`
	Relevance  float64  `json:"relevance" jsonschema:"how well the text fits, 0..1"`
	Recency    float64  `json:"recency" jsonschema:"how new it is, 0..1"`
	Importance float64  `json:"importance" jsonschema:"how much it matters, 0..1"`
	Strength   float64  `json:"strength" jsonschema:"how well it was remembered before this recall, 0..1"`
	Words      []string `json:"words" jsonschema:"the words of the query that are in it, as they are compared"`
	Lent       []string `json:"lent,omitempty" jsonschema:"those that only the entries around it have"`
}

// Explain explains a hit of the query.
func (q *Query) Explain(h *Hit) Explanation {
	p := &h.Parts
	return Explanation{
		Ranking: q.Ranking.String(), Relevance: p.Relevance, Recency: p.Recency,
		Importance: p.Importance, Strength: p.Strength,
		Words: append([]string{}, p.Words...), Lent: p.Lent,
	}
}

// String is the explanation on one line, as long as the words hold no line
// end. They may hold other characters that are not safe to print.
func (e Explanation) String() string {
	found := "no word of the query"
	if len(e.Words) > 0 {
		found = "for " + strings.Join(e.Words, " ")
	}
	if len(e.Lent) > 0 {
		found += ", near " + strings.Join(e.Lent, " ")
	}
	return found + ": " + fmt.Sprintf(e.formula(), e.Relevance, e.Recency, e.Importance, e.Strength)
}

// formula is how the ranking makes a score of relevance, recency, importance
// and strength, in this order.
func (e *Explanation) formula() string {
	if e.Ranking == RankingQuestion.String() {
		return "relevance %.2f * (0.7 + 0.1 * recency %.2f + 0.1 * importance %.2f + 0.1 * strength %.2f)"
	}
	return "0.3 * relevance %.2f + 0.25 * recency %.2f + 0.25 * importance %.2f + 0.2 * strength %.2f"
}
