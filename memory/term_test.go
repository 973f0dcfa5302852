package memory

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTerms(t *testing.T) {
	for piece, want := range map[string]string{
		"walking,":        "walk",
		"adoption":        "adopt",
		"lost":            "lose",
		"children's":      "child",
		"caroline's":      "carolin",
		"parents’":        "parent",
		"don't":           "dont",
		"multi-agent":     "multi agent",
		"foo_bar.go":      "foo bar go",
		"c++,":            "c++",
		"(c#)":            "c#",
		"a+b":             "a+ b",
		"#1":              "1",
		"100%":            "100",
		"2023-05-08":      "2023 05 08",
		"café":            "cafe",
		"cafe\u0301":      "cafe",
		"\u1ec7":          "e",
		"ångström":        "angstrom",
		"ﬁnding":          "find",
		"ｗａｌｋｅｄ":          "walk",
		"ёлка":            "елка",
		"straße":          "straße",
		"東京都":             "東京 京都 東 京 都",
		"猫":               "猫",
		"x東京":             "x 東京 東 京",
		"カ\u3099ート":       "ガー ート ガ ー ト",
		"한국어":             "한국 국어 한 국 어",
		"กิน":             "กิ ิน ก ิ น",
		"मात्रा":          "मात्रा",
		"great🙂":          "great 🙂",
		"🙂🙂":              "🙂",
		"👩\u200d👧":        "👩 👧",
		"...":             "...",
		"*":               "*",
		"''":              "''",
		"\u0301":          "\u0301",
		"naïveté":         "naivet",
		"o'brien's":       "obrien",
		"rock'n'roll":     "rocknrol",
		"it’s":            "it",
		"(東京)。":           "東京 東 京",
		"i\u0307stanbul,": "istanbul",
	} {
		got := Terms(piece)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(strings.Fields(want)))) {
			t.Errorf("Terms(%q) = %q, want %q", piece, got, strings.Fields(want))
		}
	}
}

func TestQueryTerms(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"What did Caroline's friends research?": "carolin friend research",
		"Who are you":                           "who are you",
		"Is it? It is!":                         "is it",
		"walking walks WALKED":                  "walk",
		"猫はどこ":                                  "猫は はど どこ",
		"猫":                                     "猫",
		"* what":                                "* what",
		"* cats":                                "cat",
	} {
		if got := queryTerms(text); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("queryTerms(%q) = %q, want %q", text, got, strings.Fields(want))
		}
	}
}

// Whatever a piece is made of, it is known by something, and a query that
// quotes it asks for nothing that it is not known by.
func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"don't", "C++", "東京タワー", "ﬁ\u0301", "👩‍👩‍👧", "'''", "´", "½", "a'#'b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, piece := range Pieces(text) {
			known := Terms(piece)
			if len(known) == 0 {
				t.Fatalf("Terms(%q) is empty", piece)
			}
			for _, term := range known {
				if term == "" || utf8.ValidString(piece) && !utf8.ValidString(term) {
					t.Fatalf("Terms(%q) has %q", piece, term)
				}
			}
			for _, term := range queryTerms(piece) {
				if !slices.Contains(known, term) {
					t.Fatalf("a query for %q asks for %q, which is not among its terms %q", piece, term, known)
				}
			}
		}
	})
}
