package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// unembedded opens a store of n entries without embeddings, and one that is
// blank.
func unembedded(t testing.TB, n int) (memory.Backend, []memory.Entry) {
	t.Helper()
	entries := []memory.Entry{memory.NewEntry(memory.Fact, " \t")}
	for i := range n {
		entries = append(entries, memory.NewEntry(memory.Fact, fmt.Sprint("entry ", i)))
	}
	return open(t, memory.WithEntries(entries...)), entries
}

// missing counts the entries without an embedding.
func missing(t testing.TB, store memory.Backend) int {
	t.Helper()
	ids, err := store.Unembedded(t.Context())
	must(t, err)
	return len(ids)
}

func TestEmbedMissing(t *testing.T) {
	store, entries := unembedded(t, 199)
	embedder := &spoilt{}
	var progress []string
	n, err := memory.EmbedMissing(t.Context(), store, embedder, func(done, total int) {
		progress = append(progress, fmt.Sprintf("%d/%d", done, total))
	})
	if n != 199 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if want := "64/200 128/200 192/200 200/200"; strings.Join(progress, " ") != want {
		t.Errorf("the progress was %v, want %s", progress, want)
	}
	for _, e := range entries[1:] {
		if got := embeddingOf(t, store, e.ID); !slices.Equal(got, vectorOf(t, e.Memory)) {
			t.Fatalf("%q has the embedding %v", e.Memory, got)
		}
	}
	embedder.requests = nil
	if n, err := memory.EmbedMissing(t.Context(), store, embedder, nil); n != 0 || err != nil || len(embedder.requests) != 0 {
		t.Errorf("with nothing left to do, got %d, %v after %d requests", n, err, len(embedder.requests))
	}
}

// What was done before a failure, or the end of the context, is not done
// again.
func TestEmbedMissingResumes(t *testing.T) {
	for name, test := range map[string]struct {
		interrupt func(cancel func()) error
		want      error
	}{
		"failure":      {func(func()) error { return errDown }, errDown},
		"cancellation": {func(cancel func()) error { cancel(); return nil }, context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			store, _ := unembedded(t, 199)
			embedder := &spoilt{}
			embedder.before = func([]string) error {
				if len(embedder.requests) == 3 {
					return test.interrupt(cancel)
				}
				return nil
			}
			n, err := memory.EmbedMissing(ctx, store, embedder, nil)
			if n != 127 || !errors.Is(err, test.want) || missing(t, store) != 1+199-127 {
				t.Errorf("got %d, %v, with %d missing", n, err, missing(t, store))
			}
			if n, err := memory.EmbedMissing(t.Context(), store, memory.HashEmbedder{}, nil); n != 199-127 || err != nil {
				t.Errorf("the next call gave %d, %v", n, err)
			}
		})
	}
}

// One text that the model does not take must not keep out all others, now and
// for ever.
func TestEmbedMissingRefusedText(t *testing.T) {
	store, entries := unembedded(t, 100)
	embedder := &spoilt{before: func(texts []string) error {
		if slices.Contains(texts, "entry 7") || slices.Contains(texts, "entry 99") {
			return fmt.Errorf("%w: too long", memory.ErrText)
		}
		return nil
	}}
	n, err := memory.EmbedMissing(t.Context(), store, embedder, nil)
	if n != 98 || !errors.Is(err, memory.ErrText) {
		t.Fatalf("got %d, %v", n, err)
	}
	for _, e := range entries {
		refused := e.Memory == "entry 7" || e.Memory == "entry 99"
		if strings.Contains(err.Error(), e.ID.String()) != refused {
			t.Errorf("about %q, the error says %v", e.Memory, err)
		}
	}
}

func TestEmbedMissingAllRefused(t *testing.T) {
	store, _ := unembedded(t, 100)
	embedder := &spoilt{before: func([]string) error { return memory.ErrText }}
	n, err := memory.EmbedMissing(t.Context(), store, embedder, nil)
	if n != 0 || !errors.Is(err, memory.ErrText) || len(embedder.requests) != 1+63 {
		t.Errorf("got %d, %v after %d requests; the first batch should have been enough", n, err, len(embedder.requests))
	}
}

// The vector of a text that has changed meanwhile is not set.
func TestEmbedMissingChanges(t *testing.T) {
	store, entries := unembedded(t, 3)
	embedder := &spoilt{before: func([]string) error {
		_, updated := store.Update(t.Context(), entries[1].ID, memory.Change{Memory: new("changed")})
		_, forgotten := store.Forget(t.Context(), entries[2].ID)
		return errors.Join(updated, forgotten)
	}}
	if n, err := memory.EmbedMissing(t.Context(), store, embedder, nil); n != 1 || err != nil {
		t.Errorf("got %d, %v", n, err)
	}
	if got := embeddingOf(t, store, entries[1].ID); got != nil {
		t.Errorf("the changed entry has the embedding %v", got)
	}
	embedder.before = nil
	if n, err := memory.EmbedMissing(t.Context(), store, embedder, nil); n != 1 || err != nil {
		t.Errorf("the next call gave %d, %v", n, err)
	}
	if got := embeddingOf(t, store, entries[1].ID); !slices.Equal(got, vectorOf(t, "changed")) {
		t.Errorf("the changed entry has the embedding %v", got)
	}
}

func TestEmbedMissingOtherModel(t *testing.T) {
	store, _ := unembedded(t, 1)
	must(t, store.BindEmbeddingModel(t.Context(), memory.Model{Name: "other", Dimensions: 256}))
	embedder := &spoilt{}
	n, err := memory.EmbedMissing(t.Context(), store, embedder, nil)
	if n != 0 || !errors.Is(err, memory.ErrModel) || len(embedder.requests) != 0 {
		t.Errorf("got %d, %v after %d requests", n, err, len(embedder.requests))
	}
}
