package memory_test

import (
	"slices"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

func TestLower(t *testing.T) {
	for text, want := range map[string]string{
		"":               "",
		"plain":          "plain",
		"ABC xyz 123":    "abc xyz 123",
		"ÅÉÑ":            "åéñ",
		"ΟΔΟΣ":           "οδος",
		"ΟΔΟΣ.":          "οδος.",
		"ΟΔΟΣ'Α":         "οδοσ'α", // the apostrophe is case-ignorable
		"Σ":              "σ",
		"ΑΣ ΒΣ":          "ας βς",
		"İ":              "i\u0307",
		"İSTANBUL":       "i\u0307stanbul",
		"STRASSE ẞ":      "strasse ß",
		"E\u0301":        "e\u0301", // not composed
		"Å":              "å",
		"Ⓐ Ⅷ":            "ⓐ ⅷ",
		"東京 🙂 मात्रा":    "東京 🙂 मात्रा",
		"\u200bX\u00a0Y": "\u200bx\u00a0y",
	} {
		if got := memory.Lower(text); got != want {
			t.Errorf("Lower(%+q) = %+q, want %+q", text, got, want)
		}
	}
}

func TestPieces(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              nil,
		" \t\n":                         nil,
		"One two ONE":                   {"one", "two", "one"},
		"a\u00a0b\u3000c\u2028d\u0085e": {"a", "b", "c", "d", "e"},
		"a\u200bb\u180ec\ufeffd":        {"a\u200bb\u180ec\ufeffd"}, // no white space to Unicode
		"東京 タワー":                        {"東京", "タワー"},
	} {
		if got := memory.Pieces(text); !slices.Equal(got, want) {
			t.Errorf("Pieces(%+q) = %+q, want %+q", text, got, want)
		}
	}
}

func TestWord(t *testing.T) {
	for piece, want := range map[string]string{
		"":           "",
		"perf":       "perf",
		"perf,":      "perf",
		"(perf)":     "perf",
		`"perf."?!`:  "perf",
		"「東京」、":      "東京",
		"«a»":        "a",
		"“a”‘b’":     "a”‘b",
		"c++":        "c++",
		"#1":         "#1",
		"x.y":        "x.y",
		"don't":      "don't",
		"-x":         "-x",
		"a\u0301.":   "a\u0301",
		"...":        "...",
		"…":          "…",
		"`code`;":    "code",
		"[{<deep>}]": "deep",
		"¿qué?":      "¿qué", // not in the contract's list
	} {
		if got := memory.Word(piece); got != want {
			t.Errorf("Word(%q) = %q, want %q", piece, got, want)
		}
	}
}

func TestQueryTokens(t *testing.T) {
	for _, test := range []struct {
		query memory.Query
		want  []string
	}{
		{memory.Query{Text: "  "}, nil},
		{memory.Query{Text: "perf, PERF perf,"}, []string{"perf,", "perf"}},
		{memory.Query{Text: "perf, PERF perf,", ExactWords: true}, []string{"perf"}},
		{memory.Query{Text: "... . …", ExactWords: true}, []string{"...", ".", "…"}},
	} {
		if got := test.query.Tokens(); !slices.Equal(got, test.want) {
			t.Errorf("Tokens of %q, exact %t: %q, want %q", test.query.Text, test.query.ExactWords, got, test.want)
		}
	}
}
