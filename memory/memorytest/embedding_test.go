package memorytest

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

func TestRunComplainsOfEmbeddingFaults(t *testing.T) {
	for name, test := range map[string]struct {
		fault func(*sound) memory.Backend
		rules []string
	}{
		"takes any model":         {func(s *sound) memory.Backend { return takesAnyModel{s} }, []string{"BindOneModel", "BindWhatIsStored"}},
		"overwrites what changed": {func(s *sound) memory.Backend { return overwrites{s} }, []string{"SetEmbeddings", "DropEmbeddings"}},
		"stores again":            {func(s *sound) memory.Backend { return storesAgain{s} }, []string{"SetEmbeddings"}},
		"stays bound":             {func(s *sound) memory.Backend { return staysBound{s} }, []string{"DropEmbeddings"}},
	} {
		for _, r := range test.rules {
			if len(complain(t, named(t, r), opens(test.fault))) == 0 {
				t.Errorf("a store that %s passes %s", name, r)
			}
		}
	}
}

type takesAnyModel struct{ *sound }

func (takesAnyModel) BindEmbeddingModel(context.Context, memory.Model) error { return nil }

// overwrites sets embeddings of texts that have changed since.
type overwrites struct{ *sound }

func (s overwrites) SetEmbeddings(ctx context.Context, model memory.Model, list []memory.Embedded) (int, error) {
	for i := range list {
		if r, err := s.Get(ctx, list[i].ID); err == nil {
			list[i].Version = r.Version
		}
	}
	return s.sound.SetEmbeddings(ctx, model, list)
}

// storesAgain moves the entries to the end of insertion order.
type storesAgain struct{ *sound }

func (s storesAgain) SetEmbeddings(ctx context.Context, model memory.Model, list []memory.Embedded) (int, error) {
	n, err := s.sound.SetEmbeddings(ctx, model, list)
	for i := range list {
		if r, err := s.Get(ctx, list[i].ID); err == nil {
			if err := s.Store(ctx, r.Entry); err != nil {
				return n, err
			}
		}
	}
	return n, err
}

// staysBound goes on refusing another model.
type staysBound struct{ *sound }

func (s staysBound) In(scope memory.Scope) memory.Backend {
	return staysBound{s.sound.In(scope).(*sound)}
}

func (s staysBound) DropEmbeddings(ctx context.Context) error {
	model, err := s.EmbeddingModel(ctx)
	if err != nil {
		return err
	}
	if err := s.sound.DropEmbeddings(ctx); err != nil || model == (memory.Model{}) {
		return err
	}
	return s.BindEmbeddingModel(ctx, model)
}

func (dead) EmbeddingModel(context.Context) (m memory.Model, err error) { return }
func (dead) BindEmbeddingModel(context.Context, memory.Model) error     { return nil }
func (dead) Unembedded(context.Context) ([]uuid.UUID, error)            { return nil, nil }
func (dead) DropEmbeddings(context.Context) error                       { return nil }
func (dead) SetEmbeddings(context.Context, memory.Model, []memory.Embedded) (int, error) {
	return 0, nil
}
