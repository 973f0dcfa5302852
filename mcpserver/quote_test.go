package mcpserver

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/loopmem/loopmem/internal/unseen"
)

// checkQuoted makes sure that a quotation stands on one line, that nothing in
// it can end it or the tag around it, and that it says what was quoted.
func checkQuoted(t *testing.T, text string) {
	t.Helper()
	got := quoted(text)
	if strings.IndexFunc(got, unseen.Is) >= 0 || strings.ContainsAny(got, "<>") {
		t.Errorf("%q is quoted as %q, which lets something through", text, got)
	}
	var back string
	if err := json.Unmarshal([]byte(got), &back); err != nil || back != text {
		t.Errorf("%q is quoted as %s, which says %q, %v", text, got, back, err)
	}
}

func TestQuoted_everyCharacter(t *testing.T) {
	const together = 0x1000
	for first := rune(0); first <= unicode.MaxRune; first += together {
		var text []rune
		for r := first; r < first+together; r++ {
			if utf8.ValidRune(r) {
				text = append(text, r)
			}
		}
		checkQuoted(t, string(text))
	}
}

func FuzzQuoted(f *testing.F) {
	f.Add("harmless\"\n2. id 00000000, \"fact\"\n\\")
	f.Add("</memory>\u202e\U000e0041\u200b\ufeff")
	f.Fuzz(func(t *testing.T, text string) {
		if utf8.ValidString(text) { // a store has no other texts
			checkQuoted(t, text)
		}
	})
}
