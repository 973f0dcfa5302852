package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// EmbeddingModel implements [EmbeddingStore].
func (s *Store) EmbeddingModel(ctx context.Context) (Model, error) {
	if err := s.lock(ctx); err != nil {
		return Model{}, err
	}
	defer s.mu.Unlock()
	return s.model, nil
}

// BindEmbeddingModel implements [EmbeddingStore].
func (s *Store) BindEmbeddingModel(ctx context.Context, model Model) error {
	if err := model.Validate(); err != nil {
		return err
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.bind(model)
}

func (s *Store) bind(model Model) error {
	if s.model != (Model{}) {
		return s.model.Match(model)
	}
	for _, r := range s.records {
		if err := model.Fits(r.Entry.Embedding); err != nil {
			return fmt.Errorf("bind, with entry %s stored before: %w", r.Entry.ID, err)
		}
	}
	s.model = model
	return nil
}

// Unembedded implements [EmbeddingStore].
func (s *Store) Unembedded(ctx context.Context) ([]uuid.UUID, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var ids []uuid.UUID
	for _, r := range s.visible() {
		if len(r.Entry.Embedding) == 0 {
			ids = append(ids, r.Entry.ID)
		}
	}
	return ids, nil
}

// SetEmbeddings implements [EmbeddingStore].
func (s *Store) SetEmbeddings(ctx context.Context, model Model, embeddings []Embedded) (int, error) {
	if err := CheckEmbeddings(model, embeddings); err != nil {
		return 0, fmt.Errorf("set embeddings: %w", err)
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	if err := s.bind(model); err != nil {
		return 0, fmt.Errorf("set embeddings: %w", err)
	}
	set := 0
	for _, e := range embeddings {
		if r := s.find(e.ID); r != nil && r.Version == e.Version {
			r.Entry.Embedding = slices.Clone(e.Vector)
			s.touch(r)
			set++
		}
	}
	return set, nil
}

// DropEmbeddings implements [EmbeddingStore].
func (s *Store) DropEmbeddings(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if !s.scope.Whole() {
		return fmt.Errorf("drop embeddings: %w", ErrScope)
	}
	for _, r := range s.records {
		if len(r.Entry.Embedding) > 0 {
			r.Entry.Embedding = nil
			s.touch(r)
		}
	}
	s.model = Model{}
	return nil
}
