package main

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/rivo/uniseg"

	"github.com/loopmem/loopmem/internal/unseen"
)

// visible makes text from a memory safe to print: what could drive a terminal,
// fake a second record or reorder what is seen becomes an escape such as \n and
// \x1b.
func visible(text string) string {
	if strings.IndexFunc(text, unseen.Is) < 0 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if unseen.Is(r) {
			quoted := strconv.QuoteRuneToASCII(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// label is visible for names that stand beside others on a line: white space
// in them must not look like the next column.
func label(name string) string {
	if name == "" || strings.ContainsFunc(name, unicode.IsSpace) {
		return visible(strconv.Quote(name))
	}
	return visible(name)
}

// fit cuts text to a width in columns, between characters as a person sees
// them, and marks the cut. A width of 0 means any.
func fit(text string, width int) string {
	if width <= 0 || uniseg.StringWidth(text) <= width {
		return text
	}
	const mark = "…"
	var b strings.Builder
	for left, state := width-1, -1; text != ""; {
		var cluster string
		var columns int
		cluster, text, columns, state = uniseg.FirstGraphemeClusterInString(text, state)
		if left -= columns; left < 0 {
			break
		}
		b.WriteString(cluster)
	}
	return b.String() + mark
}

// pad fills text with spaces up to a width in columns.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-uniseg.StringWidth(text)))
}
