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

// explained is a rank with its explanation.
type explained struct {
	rank
	Explanation *memory.Explanation `json:"explanation,omitempty"`
}

func (r *recollection) print(hits []memory.Hit) error {
	if len(hits) == 0 && !r.app.json {
		fmt.Fprintln(r.app.err, "loopmem: nothing that is remembered fits")
	}
	for i := range hits {
		h := &hits[i]
		if r.app.json {
			known := explained{rank: rank{h.Score, h.Matched}}
			if r.explain {
				known.Explanation = new(r.query.Explain(h))
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
		lines = append(lines, indent+"("+visible(r.query.Explain(h).String())+")")
	}
	_, err := fmt.Fprintln(r.app.out, strings.Join(lines, "\n"))
	return err
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
