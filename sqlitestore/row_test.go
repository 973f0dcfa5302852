package sqlitestore

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestDecodeList holds the quick way to read a list against the decoder of the
// standard library, over lists as they are written and over texts like them.
func TestDecodeList(t *testing.T) {
	quick := 0
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(
			rapid.Map(rapid.SliceOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a", `"`, `","`, "\\", "é"}))), encodeList),
			rapid.StringMatching(`\[("[a, \\\\]*",?)*[\]"\x00]?`),
		).Draw(t, "text")
		var want []string
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			want = nil
		}
		if got, ok := splitList(text); ok {
			quick++
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s is read differently (-decoder +quick):\n%s", text, diff)
			}
		}
	})
	if quick == 0 {
		t.Error("no list was read the quick way")
	}
}
