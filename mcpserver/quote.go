package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/rivo/uniseg"

	"github.com/loopmem/loopmem/internal/unseen"
)

// quoted writes text from a memory as a JSON string on one line. It cannot
// end its own quotation or begin another record: quotes, control characters,
// angle brackets and what reorders or hides the text around it are escaped.
func quoted(text string) string {
	// Marshal escapes angle brackets by default, for the same reason.
	line, err := json.Marshal(text)
	if err != nil {
		panic(err) // there is no string that it refuses
	}
	var b strings.Builder
	for _, r := range string(line) {
		switch {
		case !unseen.Is(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// quotedAll quotes a list.
func quotedAll[T ~string](texts []T) string {
	parts := make([]string, len(texts))
	for i, text := range texts {
		parts[i] = quoted(string(text))
	}
	return strings.Join(parts, ", ")
}

// beginning returns at most that many characters of a text, as a person
// counts them, and whether that is not all of it.
func beginning(text string, characters int) (string, bool) {
	rest, state := text, -1
	for range characters {
		if rest == "" {
			return text, false
		}
		_, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
	}
	return text[:len(text)-len(rest)], rest != ""
}
