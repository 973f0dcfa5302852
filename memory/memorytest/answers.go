package memorytest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/loopmem/loopmem/memory"
)

// An answer is what a call gave, as text: two stores agree where the texts
// are the same. Floats are in their shortest exact form, so that the last bit
// counts; errors are reduced to what kind they are.

func answerRetrieve(ctx context.Context, s memory.Backend, query string, limit int) string {
	matches, err := s.Retrieve(ctx, query, limit)
	var out strings.Builder
	for _, m := range matches {
		fmt.Fprintln(&out, m.Score, m.Matched, line(m.Entry))
	}
	return out.String() + kind(err)
}

func answerRecall(ctx context.Context, s memory.Backend, query memory.Query) string {
	recollection, err := s.Recall(ctx, query)
	var out strings.Builder
	for _, h := range recollection.Hits {
		fmt.Fprintln(&out, h.Score, h.Parts, h.Matched, line(h.Entry))
	}
	return out.String() + kind(err)
}

func answerEntries(ctx context.Context, s memory.Backend, selection memory.Selection) string {
	var out strings.Builder
	for e, err := range s.Entries(ctx, selection) {
		if err != nil {
			return out.String() + kind(err)
		}
		fmt.Fprintln(&out, line(e))
	}
	return out.String()
}

// answer is the answer of a call that gives a value beside the error.
func answer[T any](value T, err error) string { return fmt.Sprintf("%+v %s", value, kind(err)) }

func answerRecord(r memory.Record, err error) string {
	if err != nil {
		return kind(err)
	}
	return line(r.Entry)
}

// kind names the kind of an error; what it says beyond that is up to the
// store.
func kind(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []error{
		memory.ErrInvalid, memory.ErrNotFound, memory.ErrConflict, memory.ErrScope, memory.ErrFull, memory.ErrClosed,
		memory.ErrModel,
	} {
		if errors.Is(err, known) {
			return "error: " + known.Error()
		}
	}
	return "unexpected error: " + err.Error()
}
