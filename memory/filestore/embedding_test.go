package filestore_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
)

// Embeddings are in the file; of the model, only their dimension is.
func TestEmbeddingsOutliveTheHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.jsonl")
	e := memory.NewEntry(memory.Fact, "one")
	store, err := filestore.Open(path, memory.WithEntries(e))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := memory.EmbedMissing(t.Context(), store, memory.HashEmbedder{Dimensions: 4}, nil); n != 1 || err != nil {
		t.Fatalf("EmbedMissing gave %d, %v", n, err)
	}
	before, err := store.Get(t.Context(), e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	store, err = filestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	after, err := store.Get(t.Context(), e.ID)
	if err != nil || len(after.Entry.Embedding) != 4 || !slices.Equal(after.Entry.Embedding, before.Entry.Embedding) {
		t.Errorf("the embedding is %v (%v), want %v", after.Entry.Embedding, err, before.Entry.Embedding)
	}
	if err := store.BindEmbeddingModel(t.Context(), memory.Model{Name: "other", Dimensions: 5}); !errors.Is(err, memory.ErrModel) {
		t.Errorf("binding to another dimension gave %v", err)
	}
}
