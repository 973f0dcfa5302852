package main

import (
	"context"
	"fmt"

	"github.com/loopmem/loopmem/memory"
)

// sameMatches compares answers of Retrieve.
func sameMatches(question string, got, want []memory.Match) error {
	return same(question, got, want, func(m memory.Match) string {
		return fmt.Sprintf("%v %v %s", m.Score, m.Matched, m.Entry.AppendJSON(nil))
	})
}

// sameHits compares answers of Recall.
func sameHits(question string, got, want []memory.Hit) error {
	return same(question, got, want, func(h memory.Hit) string {
		return fmt.Sprintf("%v %v %s", h.Score, h.Matched, h.Entry.AppendJSON(nil))
	})
}

// same compares two answers as text, in which every field of an entry stands
// and numbers have all their digits.
func same[T any](question string, got, want []T, text func(T) string) error {
	for i := range max(len(got), len(want)) {
		g, w := "nothing", "nothing"
		if i < len(got) {
			g = text(got[i])
		}
		if i < len(want) {
			w = text(want[i])
		}
		if g != w {
			return &wrongError{fmt.Sprintf("%s, result %d", question, i+1), g, w}
		}
	}
	return nil
}

// checkAll compares all entries of the store with those it should have, in
// order, and returns how many there are.
func (t *trial) checkAll(ctx context.Context) (checked int, err error) {
	for got, err := range t.subject.Entries(ctx, memory.Selection{}) {
		if err != nil {
			return 0, err
		}
		want := "nothing"
		if checked < len(t.truth.records) {
			want = string(t.truth.records[checked].entry.AppendJSON(nil))
		}
		if g := string(got.AppendJSON(nil)); g != want {
			return 0, &wrongError{fmt.Sprintf("what entry %d is", checked+1), g, want}
		}
		checked++
	}
	if want := len(t.truth.records); checked != want {
		return 0, &wrongError{"how many entries there are", fmt.Sprint(checked), fmt.Sprint(want)}
	}
	return checked, nil
}
