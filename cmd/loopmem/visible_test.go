package main

import "testing"

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain text":             "plain text",
		"Grüße, 世界":              "Grüße, 世界",
		"family 👨‍👩‍👧":           "family 👨‍👩‍👧",
		"two\nlines\r\n":         `two\nlines\r\n`,
		"a\ttab":                 `a\ttab`,
		"\x1b]0;title\x07":       `\x1b]0;title\a`,
		"c1 \u009b31m":           `c1 \u009b31m`,
		"txt.\u202egnp":          `txt.\u202egnp`,
		"line\u2028separator":    `line\u2028separator`,
		"\ufeffmark":             `\ufeffmark`,
		"delete\x7f":             `delete\x7f`,
		"no\u00a0break":          "no\u00a0break",
		`a backslash \n as text`: `a backslash \n as text`,
	} {
		if got := visible(text); got != want {
			t.Errorf("visible(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestLabel(t *testing.T) {
	for name, want := range map[string]string{
		"fact":             "fact",
		"":                 `""`,
		"two words":        `"two words"`,
		"x  0.99*  y":      `"x  0.99*  y"`,
		"\x1b[2J":          `\x1b[2J`,
		"a\nb":             `"a\nb"`,
		"no\u00a0break":    `"no\u00a0break"`,
		"tg:1:assistant-2": "tg:1:assistant-2",
	} {
		if got := label(name); got != want {
			t.Errorf("label(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"one too many", 11, "one too ma…"},
		{"any length", 0, "any length"},
		{"世界世界", 5, "世界…"},
		{"世界世界", 6, "世界…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧…"},
	} {
		if got := fit(test.text, test.width); got != test.want {
			t.Errorf("fit(%q, %d) = %q, want %q", test.text, test.width, got, test.want)
		}
	}
}
