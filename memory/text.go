package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// Lower is the lowercasing that all matching rests on: full Unicode, with the
// final sigma and İ as i and a combining dot above, without normalization.
// [strings.ToLower] differs in both.
func Lower(s string) string {
	upper := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= utf8.RuneSelf {
			// A Caser has state, so each call needs its own.
			caser := cases.Lower(language.Und)
			return caser.String(s)
		}
		upper = upper || 'A' <= c && c <= 'Z'
	}
	if !upper {
		return s
	}
	return strings.ToLower(s)
}

// Pieces returns the pieces of the lowercased text between white space, in
// order, repeats included. They are what all indexes hold: a word without
// white space is a substring of a text exactly if it is one of a piece.
func Pieces(text string) []string { return strings.Fields(Lower(text)) }

// sentencePunctuation is what surrounds words in sentences without belonging
// to them. Signs that make up names, as in c++ or #1, are left out.
const sentencePunctuation = `.,;:!?"'` + "`" + `()[]{}<>…。、，！？；：“”‘’«»「」『』（）【】`

// Word returns the piece without sentence punctuation at its ends, or the
// piece itself where nothing would be left. Recall compares words in exact
// mode.
func Word(piece string) string {
	if word := strings.Trim(piece, sentencePunctuation); word != "" {
		return word
	}
	return piece
}

// clusterTokens returns the words that consolidation compares, in order,
// repeats included: the pieces, stripped at both ends of whatever is not
// alphanumeric.
func clusterTokens(text string) []string {
	pieces := Pieces(text)
	tokens := pieces[:0]
	for _, piece := range pieces {
		if token := strings.TrimFunc(piece, func(r rune) bool { return !alphanumeric(r) }); token != "" {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// alphanumeric reports whether r has the Unicode property Alphabetic, which
// is wider than the letter categories, or is numeric in any way.
func alphanumeric(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z'
	}
	return unicode.In(r, unicode.L, unicode.N, unicode.Other_Alphabetic, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// distinct drops repeats and keeps the first of each, in place.
func distinct[T comparable](list []T) []T {
	kept := list[:0]
	seen := make(map[T]bool, len(list))
	for _, x := range list {
		if !seen[x] {
			seen[x] = true
			kept = append(kept, x)
		}
	}
	return kept
}
