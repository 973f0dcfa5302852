package jsonlimport

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	p := newPace(250)
	var sizes []int
	step := func(each time.Duration) {
		sizes = append(sizes, p.entries)
		p.took(p.entries, time.Duration(p.entries)*each)
	}
	for range 4 {
		step(100 * time.Microsecond) // quick: it grows to the limit
	}
	for range 2 {
		step(2 * time.Millisecond) // slow: what fits into the time
	}
	for range 2 {
		step(time.Second) // held up: the fewest there may be
	}
	for range 2 {
		step(0) // quick again: it grows, but twofold at most
	}
	for i, want := range []int{50, 100, 200, 250, 250, 100, 100, 10, 10, 20} {
		if sizes[i] != want {
			t.Fatalf("it stores %v at a time; want %d in place %d", sizes, want, i)
		}
	}
	if p := newPace(7); p.entries != 7 {
		t.Errorf("it begins with %d of 7", p.entries)
	}
}
