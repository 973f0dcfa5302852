package sqlitestore

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// TestModelOutlivesTheHandle: what a file is bound to, all processes are.
func TestModelOutlivesTheHandle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	for i, model := range []memory.Model{fixtureModel, fixtureModel, {Name: "other", Dimensions: 2}} {
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		err = s.BindEmbeddingModel(t.Context(), model)
		if i < 2 && err != nil || i == 2 && !errors.Is(err, memory.ErrModel) {
			t.Errorf("binding %v as number %d gave %v", model, i, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBindBoundModel: every process binds its model before every entry that
// it stores, so that this must not have to wait for other writers.
func TestBindBoundModel(t *testing.T) {
	s := openFixture(t)
	if err := s.BindEmbeddingModel(t.Context(), fixtureModel); err != nil {
		t.Fatal(err)
	}
	err := s.write(t.Context(), func(*writeTx) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.fault.set(func(query string) error {
			if !strings.HasPrefix(strings.TrimSpace(query), "SELECT") {
				cancel() // or it would wait here for itself
			}
			return nil
		})
		defer func() { s.fault.set(nil) }()
		return s.BindEmbeddingModel(ctx, fixtureModel)
	})
	if err != nil {
		t.Error(err)
	}
}

// TestDropEmbeddingsInPortions interrupts a drop between two of its
// transactions, and does it again.
func TestDropEmbeddingsInPortions(t *testing.T) {
	s := openFixture(t)
	entries := make([]memory.Entry, 2*dropAtOnce)
	for i := range entries {
		entries[i] = memory.NewEntry(memory.Fact, "one of many")
		entries[i].Embedding = []float32{1, 2}
	}
	if _, err := s.StoreBatch(t.Context(), entries, memory.Replace); err != nil {
		t.Fatal(err)
	}
	if err := s.BindEmbeddingModel(t.Context(), fixtureModel); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	portions := 0
	s.fault.set(func(query string) error {
		if strings.Contains(query, "FROM embedding LIMIT") {
			portions++
		}
		if portions == 3 {
			cancel()
		}
		return nil
	})
	err := s.DropEmbeddings(ctx)
	s.fault.set(nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the interrupted call gave %v", err)
	}
	state := func(wantMissing int, wantModel memory.Model) {
		t.Helper()
		missing, err := s.Unembedded(t.Context())
		if err != nil || len(missing) != wantMissing {
			t.Errorf("%d entries have no embedding (%v), want %d", len(missing), err, wantMissing)
		}
		if model, err := s.EmbeddingModel(t.Context()); err != nil || model != wantModel {
			t.Errorf("bound to %v (%v), want %v", model, err, wantModel)
		}
	}
	state(2*dropAtOnce, fixtureModel)
	if err := s.DropEmbeddings(t.Context()); err != nil {
		t.Fatal(err)
	}
	state(2*dropAtOnce+5, memory.Model{})
}
