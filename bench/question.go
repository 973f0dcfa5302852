package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/loopmem/loopmem/memory"
)

// questions are the texts that a corpus is asked for, by how many entries
// they are in. Several of a kind take turns, so that no answer can be had by
// remembering the last one.
type questions struct {
	one       []string // a word in one entry
	tenth     []string // a word in about 10 % of the entries
	all       []string // the three most frequent words, in all entries where there are such
	none      []string // a word in no entry
	substring []string // the inside of a word that is in one entry
	empty     []string // nothing at all
}

// turns is how many questions of a kind take turns at most.
const turns = 16

// newQuestions finds the words of a corpus that are as frequent as needed.
func newQuestions(entries []memory.Entry) questions {
	type word struct {
		text    string
		entries int
	}
	counts := make(map[string]int)
	for i := range entries {
		words := memory.Pieces(entries[i].Memory)
		for k := range words {
			words[k] = memory.Word(words[k])
		}
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			counts[w]++
		}
	}
	words := make([]word, 0, len(counts))
	for text, n := range counts {
		words = append(words, word{text, n})
	}
	// Rare words first; among equals the long ones, which are words rather
	// than parts of others.
	slices.SortFunc(words, func(a, b word) int {
		return cmp.Or(cmp.Compare(a.entries, b.entries), cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})

	q := questions{none: []string{absent(counts)}, empty: []string{""}}
	for _, w := range words[:min(turns, len(words))] {
		q.one = append(q.one, w.text)
		q.substring = append(q.substring, inside(w.text))
	}
	frequent := words[max(len(words)-3, 0):]
	three := make([]string, len(frequent))
	for i, w := range frequent {
		three[i] = w.text
	}
	q.all = []string{strings.Join(three, " ")}

	target := max(len(entries)/10, 1)
	distance := func(w word) int { return max(w.entries-target, target-w.entries) }
	slices.SortStableFunc(words, func(a, b word) int { return cmp.Compare(distance(a), distance(b)) })
	for _, w := range words[:min(turns/4, len(words))] {
		q.tenth = append(q.tenth, w.text)
	}
	return q
}

// inside cuts off the first and the last character of a word, as long as
// three are left: what is shorter is a part of a great many words.
func inside(word string) string {
	runes := []rune(word)
	for _, cut := range [][2]int{{1, 1}, {1, 0}} {
		if first, end := cut[0], len(runes)-cut[1]; end-first >= 3 {
			return string(runes[first:end])
		}
	}
	return word
}

// absent returns a word that is no part of any of these.
func absent(words map[string]int) string {
	for i := 0; ; i++ {
		candidate := fmt.Sprintf("qxzjvk%d", i)
		taken := false
		for w := range words {
			taken = taken || strings.Contains(w, candidate)
		}
		if !taken {
			return candidate
		}
	}
}
