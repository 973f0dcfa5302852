package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"

	"github.com/loopmem/loopmem/memory"
)

// recollection prints what was recalled for a person: about each entry where
// it comes from on one line, and its text on the next, with the words that the
// query found in it between asterisks.
type recollection struct {
	app     *app
	query   *memory.Query
	explain bool
}

// explanation is how a score came about.
type explanation struct {
	Ranking    string   `json:"ranking"`
	Relevance  float64  `json:"relevance"`
	Recency    float64  `json:"recency"`
	Importance float64  `json:"importance"`
	Strength   float64  `json:"strength"`
	Words      []string `json:"words"`
	Lent       []string `json:"lent,omitempty"`
}

// explained is a rank with its explanation.
type explained struct {
	rank
	Explanation *explanation `json:"explanation,omitempty"`
}

func (r *recollection) print(hits []memory.Hit) error {
	for i := range hits {
		h := &hits[i]
		if r.app.json {
			known := explained{rank: rank{h.Score, h.Matched}}
			if r.explain {
				known.Explanation = r.explanation(&h.Parts)
			}
			if err := r.app.printJSON(&h.Entry, &known); err != nil {
				return err
			}
		} else if err := r.write(h); err != nil {
			return err
		}
	}
	return nil
}

func (r *recollection) explanation(p *memory.Parts) *explanation {
	return &explanation{
		Ranking: r.query.Ranking.String(), Relevance: p.Relevance, Recency: p.Recency,
		Importance: p.Importance, Strength: p.Strength,
		Words: append([]string{}, p.Words...), Lent: p.Lent,
	}
}

// write prints one entry. The strength is what it was before recalling it.
func (r *recollection) write(h *memory.Hit) error {
	const indent = "      "
	e := &h.Entry
	about := []string{
		label(string(e.Category)),
		humanize.RelTime(e.CreatedAt, time.Now(), "ago", "from now"),
		fmt.Sprintf("strength %.2f", h.Parts.Strength),
	}
	if e.Agent != "" {
		about = append(about, label(e.Agent))
	}
	width := 0
	if columns := r.app.terminal(r.app.stdout); columns > 0 {
		width = max(columns-len(indent), 20)
	}
	lines := []string{
		fmt.Sprintf("%.2f  %s  %s", h.Score, shortID(e), strings.Join(about, ", ")),
		indent + fit(markWords(e.Memory, r.finder(&h.Parts)), width),
	}
	if r.explain {
		lines = append(lines, indent+visible(r.reasons(&h.Parts)))
	}
	_, err := fmt.Fprintln(r.app.out, strings.Join(lines, "\n"))
	return err
}

// reasons is the explanation in words.
func (r *recollection) reasons(p *memory.Parts) string {
	found := "no word of the query"
	if len(p.Words) > 0 {
		found = "for " + strings.Join(p.Words, " ")
	}
	if len(p.Lent) > 0 {
		found += ", near " + strings.Join(p.Lent, " ")
	}
	return fmt.Sprintf("(%s: relevance %.2f, recency %.2f, importance %.2f, strength %.2f; by %s)",
		found, p.Relevance, p.Recency, p.Importance, p.Strength, r.query.Ranking)
}

// finder returns what tells the pieces of a text in which the query found one
// of its words.
func (r *recollection) finder(p *memory.Parts) func(piece string) bool {
	return func(piece string) bool {
		switch {
		case r.query.Ranking == memory.RankingQuestion:
			return slices.ContainsFunc(memory.Terms(piece), func(term string) bool { return slices.Contains(p.Words, term) })
		case r.query.ExactWords:
			return slices.Contains(p.Words, memory.Word(piece))
		default:
			return slices.ContainsFunc(p.Words, func(word string) bool { return strings.Contains(piece, word) })
		}
	}
}

// markWords makes the text safe to print, with asterisks around the pieces
// that are found, inside the punctuation around them.
func markWords(text string, found func(piece string) bool) string {
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end == 0 {
			end = strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
		}
		if end < 0 {
			end = len(text)
		}
		part := text[:end]
		text = text[end:]
		if pieces := memory.Pieces(part); len(pieces) == 0 || !found(pieces[0]) {
			b.WriteString(visible(part))
			continue
		}
		word := memory.Word(part)
		before, after, _ := strings.Cut(part, word)
		b.WriteString(visible(before) + "*" + visible(word) + "*" + visible(after))
	}
	return b.String()
}
