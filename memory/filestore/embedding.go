package filestore

import (
	"context"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// EmbeddingModel implements [memory.EmbeddingStore]. The JSONL form has no
// place for the model: which one is bound is known as long as a handle is
// open, and has to be told again to the next. Vectors in the file then still
// keep out a model of another dimension, though not another of the same.
func (s *Store) EmbeddingModel(ctx context.Context) (memory.Model, error) {
	return ask(s, func(view *memory.Store) (memory.Model, error) { return view.EmbeddingModel(ctx) })
}

// BindEmbeddingModel implements [memory.EmbeddingStore].
func (s *Store) BindEmbeddingModel(ctx context.Context, model memory.Model) error {
	_, err := ask(s, func(view *memory.Store) (struct{}, error) {
		return struct{}{}, view.BindEmbeddingModel(ctx, model)
	})
	return err
}

// Unembedded implements [memory.EmbeddingStore].
func (s *Store) Unembedded(ctx context.Context) ([]uuid.UUID, error) {
	return ask(s, func(view *memory.Store) ([]uuid.UUID, error) { return view.Unembedded(ctx) })
}

// SetEmbeddings implements [memory.EmbeddingStore] and rewrites the file.
func (s *Store) SetEmbeddings(ctx context.Context, model memory.Model, embeddings []memory.Embedded) (int, error) {
	return change(s, func(view *memory.Store) (int, bool, error) {
		set, err := view.SetEmbeddings(ctx, model, embeddings)
		return set, true, err
	})
}

// DropEmbeddings implements [memory.EmbeddingStore] and rewrites the file.
func (s *Store) DropEmbeddings(ctx context.Context) error {
	_, err := change(s, func(view *memory.Store) (struct{}, bool, error) {
		return struct{}{}, true, view.DropEmbeddings(ctx)
	})
	return err
}
