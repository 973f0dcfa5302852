package memory

import (
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// Terms returns what question ranking knows a piece (see [Pieces]) by: its
// words, each in the form in which words are compared, without repeats. A
// store may keep them in its index; two pieces speak of the same thing where
// they share a term.
//
// Accents and the forms of Unicode that look alike are folded (NFKC, without
// the marks of Latin, Greek and Cyrillic letters), possessives and other
// apostrophes cut, and English words stemmed by the Snowball stemmer (M. F.
// Porter, "An algorithm for suffix stripping", 1980, in the revision of
// 2001), irregular forms by way of their base: lost and losing are lose. Where a script writes no spaces, or grows its words together as
// Korean does, every character and every pair of neighbours is a term.
// Symbols such as emoji are words of one character. A piece without any word
// is known by itself.
func Terms(piece string) []string {
	var terms []string
	for _, w := range splitWords(piece) {
		terms = append(terms, w.terms()...)
		if w.unspaced {
			terms = append(terms, strings.Split(w.text, "")...)
		}
	}
	if len(terms) == 0 {
		terms = append(terms, Word(piece))
	}
	return distinct(terms)
}

// word is a word of a piece, folded but not stemmed.
type word struct {
	text     string
	unspaced bool // written in a script without spaces between words
}

// terms returns what to look for to find the word: single characters of an
// unspaced script say too little, so they are left to words of one character.
func (w word) terms() []string {
	if !w.unspaced {
		return []string{stem(w.text)}
	}
	runes := []rune(w.text)
	if len(runes) == 1 {
		return []string{w.text}
	}
	var pairs []string
	for i := range len(runes) - 1 {
		pairs = append(pairs, string(runes[i:i+2]))
	}
	return pairs
}

// stem leaves words alone that are not made of the letters a to z: the
// stemmer knows English only.
func stem(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' }) {
		return word
	}
	if base, ok := irregular[word]; ok {
		word = base
	}
	return english.Stem(word, true)
}

// splitWords returns the words of a piece in order. A word is a run of
// alphanumeric characters and apostrophes, with the signs that make names of
// letters, as in c++ and f#.
func splitWords(piece string) []word {
	var words []word
	var run []rune
	var kind characterKind
	end := func() {
		if text := cutApostrophes(string(run)); text != "" {
			words = append(words, word{text, kind == unspaced})
		}
		run, kind = run[:0], other
	}
	for _, r := range fold(piece) {
		k := kindOf(r, kind)
		if k != kind && len(run) > 0 || k == symbol || k == spaced && !isSign(r) && endsInSign(run) {
			end()
		}
		if k != other {
			run = append(run, r)
		}
		kind = k
	}
	end()
	return words
}

// characterKind is what part a character has in the words of a text.
type characterKind int

const (
	other    characterKind = iota // stands between words
	spaced                        // in words that spaces part
	unspaced                      // in words that nothing parts
	symbol                        // a word of its own
)

// withoutSpaces are the scripts whose words cannot be told by spaces.
var withoutSpaces = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan,
}

// prolonged is the long vowel of Japanese, which Unicode counts to no script.
const prolonged = 'ー'

// kindOf returns the kind of a character that follows one of another kind.
func kindOf(r rune, before characterKind) characterKind {
	switch {
	case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
		return spaced
	case r == prolonged || r >= unicode.MaxLatin1 && unicode.In(r, withoutSpaces...):
		return unspaced
	case isApostrophe(r), isSign(r):
		if before == spaced {
			return spaced
		}
		return other
	case alphanumeric(r):
		return spaced
	case unicode.Is(unicode.M, r):
		return before
	case unicode.Is(unicode.So, r):
		return symbol
	}
	return other
}

// isSign reports whether r makes a name of the letters before it.
func isSign(r rune) bool { return r == '+' || r == '#' }

func endsInSign(run []rune) bool { return len(run) > 0 && isSign(run[len(run)-1]) }

func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }

// cutApostrophes takes the possessive from a word, then all apostrophes: a
// friend's is a friend, don't is dont, and rock'n'roll may be written either
// way.
func cutApostrophes(word string) string {
	if !strings.ContainsFunc(word, isApostrophe) {
		return word
	}
	word = strings.TrimRightFunc(word, isApostrophe)
	if owner, ok := strings.CutSuffix(word, "s"); ok {
		if bare := strings.TrimRightFunc(owner, isApostrophe); bare != owner {
			word = bare
		}
	}
	return strings.Map(func(r rune) rune {
		if isApostrophe(r) {
			return -1
		}
		return r
	}, word)
}

// fold maps the spellings of one word that Unicode distinguishes to one.
func fold(piece string) string {
	if !strings.ContainsFunc(piece, func(r rune) bool { return r > unicode.MaxASCII }) {
		return piece
	}
	const firstAccent, lastAccent = '\u0300', '\u036f' // marks of other scripts are letters to their readers
	bare := strings.Map(func(r rune) rune {
		if firstAccent <= r && r <= lastAccent {
			return -1
		}
		return r
	}, norm.NFKD.String(piece))
	return Lower(norm.NFC.String(bare))
}

// queryTerms returns the terms of all words that the text asks about, in order,
// without repeats. Words that say nothing of what a question is about are
// left out, unless there is nothing else.
func queryTerms(text string) []string {
	var telling, all []string
	for _, piece := range Pieces(text) {
		words := splitWords(piece)
		if len(words) == 0 {
			// Such as a lone sign: what it is known by in the entries too.
			all = append(all, Word(piece))
		}
		for _, w := range words {
			terms := w.terms()
			all = append(all, terms...)
			if !stopWords[w.text] {
				telling = append(telling, terms...)
			}
		}
	}
	if len(telling) == 0 {
		telling = all
	}
	return distinct(telling)
}
