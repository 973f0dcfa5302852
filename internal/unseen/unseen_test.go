package unseen

import "testing"

func TestIs(t *testing.T) {
	for name, r := range map[string]rune{
		"escape": '\x1b', "line feed": '\n', "next line": '\u0085', "line separator": '\u2028',
		"override": '\u202e', "isolate": '\u2066', "zero-width space": '\u200b', "byte order mark": '\ufeff',
		"soft hyphen": '\u00ad', "tag": '\U000e0041', "Hangul filler": '\u3164', "grapheme joiner": '\u034f',
		"variation selector": '\U000e0100', "private use": '\ue000', "no character": '\uffff',
	} {
		if !Is(r) {
			t.Errorf("%s (%U) is seen", name, r)
		}
	}
	for _, r := range "aé\u0301 \u00a0\u3000東ا👩\u200d👩❤\ufe0f\u200c�" {
		if Is(r) {
			t.Errorf("%U is not seen", r)
		}
	}
}
