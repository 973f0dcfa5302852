package memorytest

import (
	"context"
	"math"
	"strings"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/memory"
)

// Models of the trials.
var (
	flat  = memory.Model{Name: "flat", Dimensions: 2}
	plain = memory.Model{Name: "plain", Dimensions: 2}
	solid = memory.Model{Name: "flat", Dimensions: 3}
)

var embeddingRules = []rule{
	{"BindOneModel", "A store is bound to one model, through whatever handle; another is an ErrModel that names both.", func(t *trial) {
		s := t.with(entry(1, "no embedding"))
		t.same("the model of a new store", s.model(), memory.Model{})
		for _, incomplete := range []memory.Model{{}, {Name: "flat"}, {Dimensions: 2}, {Name: "flat", Dimensions: -2}, {Name: "\xff", Dimensions: 2}} {
			t.refused("BindEmbeddingModel", s.BindEmbeddingModel(t.Context(), incomplete), memory.ErrInvalid)
		}
		s.must("BindEmbeddingModel", s.in(memory.Scope{Namespace: "a"}).BindEmbeddingModel(t.Context(), flat))
		s.must("BindEmbeddingModel again", s.BindEmbeddingModel(t.Context(), flat))
		for _, other := range []memory.Model{plain, solid} {
			err := s.BindEmbeddingModel(t.Context(), other)
			t.refused("BindEmbeddingModel to another", err, memory.ErrModel)
			if err != nil && !(strings.Contains(err.Error(), flat.String()) && strings.Contains(err.Error(), other.String())) {
				t.Errorf("the error does not name %s and %s: %v", flat, other, err)
			}
		}
		t.same("the model", s.model(), flat)
		t.same("the model, through another handle", s.in(memory.Scope{Namespace: "b"}).model(), flat)
	}},
	{"BindWhatIsStored", "A model of another dimension than that of embeddings stored before is an ErrModel.", func(t *trial) {
		s := t.with(entry(1, "none"), entry(2, "two", agent("a"), vector(1, 0)))
		t.refused("BindEmbeddingModel", s.BindEmbeddingModel(t.Context(), solid), memory.ErrModel)
		handle := s.in(memory.Scope{Namespace: "b"})
		t.refused("BindEmbeddingModel, through a handle that does not see the entry", handle.BindEmbeddingModel(t.Context(), solid), memory.ErrModel)
		t.same("the model", s.model(), memory.Model{})
		s.must("BindEmbeddingModel", s.BindEmbeddingModel(t.Context(), flat))
	}},
	{"BoundStoreRefuses", "Once a model is bound, an embedding of another dimension is an ErrModel to all that store, and nothing is changed.", func(t *trial) {
		kept := entry(1, "kept", vector(1, 0))
		s := t.with(kept)
		s.must("BindEmbeddingModel", s.BindEmbeddingModel(t.Context(), flat))
		misfit := entry(2, "misfit", vector(1, 0, 0))
		t.refused("Store", s.Store(t.Context(), misfit), memory.ErrModel)
		for _, onConflict := range []memory.OnConflict{memory.Keep, memory.Replace, memory.Fail} {
			_, err := s.StoreBatch(t.Context(), []memory.Entry{entry(3, "fits", vector(0, 1)), misfit}, onConflict)
			t.refused("StoreBatch", err, memory.ErrModel)
		}
		_, err := s.Update(t.Context(), id(1), memory.Change{Embedding: new([]float32{1})})
		t.refused("Update", err, memory.ErrModel)
		s.holds(kept)
		more := []memory.Entry{entry(3, "fits", vector(0, 1)), entry(4, "has none")}
		s.put(more...)
		s.holds(kept, more[0], more[1])
	}},
	{"UpdateEmbedding", "A change may bring the embedding of the changed text.", func(t *trial) {
		s := t.with(entry(1, "one", vector(1, 0)))
		t.same("the embedding", s.update(1, memory.Change{Memory: new("uno"), Embedding: new([]float32{0, 1})}).Entry.Embedding, []float32{0, 1})
		t.same("the embedding", s.update(1, memory.Change{Embedding: new([]float32{1, 1})}).Entry.Embedding, []float32{1, 1})
		t.same("the embedding, of a text that did not change", s.update(1, memory.Change{Memory: new("uno")}).Entry.Embedding, []float32{1, 1})
		_, err := s.Update(t.Context(), id(1), memory.Change{Embedding: new([]float32{float32(math.NaN())})})
		t.refused("Update", err, memory.ErrInvalid)
		t.same("the embedding", s.get(1).Entry.Embedding, []float32{1, 1})
	}},
	{"Unembedded", "Unembedded lists the entries of the scope without an embedding, in insertion order.", func(t *trial) {
		s := t.with(entry(1, "a"), entry(2, "b", agent("a"), vector(1, 0)), entry(3, "c", agent("a:b")), entry(4, "d", restricted), entry(5, "e", agent("ab")))
		s.put(entry(1, "a again"))
		t.same("Unembedded", s.unembedded(), ids(3, 4, 5, 1))
		t.same("Unembedded in a namespace", s.in(memory.Scope{Namespace: "a"}).unembedded(), ids(3))
		t.same("Unembedded up to a level", s.in(memory.Scope{MaxConfidentiality: new(memory.Public)}).unembedded(), ids(3, 5, 1))
	}},
	{"SetEmbeddings", "SetEmbeddings binds the model and sets the embeddings of entries that have not changed since; they get a new version, and nothing else of them changes.", func(t *trial) {
		full := everyField(1)
		full.Embedding = nil
		s := t.with(full, entry(2, "second", vector(1, 1)), entry(3, "three"), entry(4, "four"))
		before := []memory.Record{s.get(1), s.get(2), s.get(3), s.get(4)}
		s.update(3, memory.Change{Summary: new("changed since")})
		s.forget(4)
		list := s.list()
		given := []memory.Embedded{
			asEmbedded(before[1], 0, 1), asEmbedded(before[2], 0, 1), asEmbedded(before[0], 1, 0), asEmbedded(before[3], 0, 1),
			{ID: id(3), Vector: []float32{1, 0}}, asEmbedded(before[1], 1, 1),
		}
		t.same("SetEmbeddings", s.setEmbeddings(flat, given...), 2)
		given[2].Vector[0] = 42 // the store has its own copy
		list[0].Embedding, list[1].Embedding = []float32{1, 0}, []float32{0, 1}
		s.holds(list...)
		for n, r := range before[:2] {
			if s.get(n+1).Version == r.Version {
				t.Errorf("entry %d still has version %d", n+1, r.Version)
			}
		}
		t.same("the model", s.model(), flat)
		t.same("Unembedded", s.unembedded(), ids(3))
		s.finds("second", 2)
		found := s.recall(memory.Query{Text: "unheard of", Embedding: []float32{0, 1}})
		t.same("Recall by embedding", unordered(hitIDs(found)), unordered(ids(1, 2)))
	}},
	{"SetEmbeddingsRefuses", "SetEmbeddings with another model, or with any vector that does not fit it, changes nothing.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"))
		one, two := s.get(1), s.get(2)
		set := func(model memory.Model, bad ...float32) error {
			n, err := s.SetEmbeddings(t.Context(), model, []memory.Embedded{asEmbedded(one, 1, 0), asEmbedded(two, bad...)})
			t.same("how many were set", n, 0)
			return err
		}
		t.refused("SetEmbeddings, no vector", set(flat), memory.ErrInvalid)
		t.refused("SetEmbeddings, infinite", set(flat, 0, float32(math.Inf(1))), memory.ErrInvalid)
		t.refused("SetEmbeddings, no model", set(memory.Model{}, 0, 1), memory.ErrInvalid)
		t.refused("SetEmbeddings, other dimension", set(flat, 0, 1, 0), memory.ErrModel)
		t.same("the model", s.model(), memory.Model{})
		s.must("BindEmbeddingModel", s.BindEmbeddingModel(t.Context(), plain))
		t.refused("SetEmbeddings, other model", set(flat, 0, 1), memory.ErrModel)
		s.holds(entry(1, "one"), entry(2, "two"))
		t.same("the version", s.get(1).Version, one.Version)
	}},
	{"SetEmbeddingsScope", "SetEmbeddings passes over entries that lie outside the scope.", func(t *trial) {
		s := t.with(entry(1, "one", agent("tg:1")), entry(2, "two", agent("tg:12")), entry(3, "three", agent("tg:1"), restricted))
		handle := s.in(memory.Scope{Namespace: "tg:1", MaxConfidentiality: new(memory.Confidential)})
		t.same("SetEmbeddings", handle.setEmbeddings(flat, asEmbedded(s.get(1), 1, 0), asEmbedded(s.get(2), 1, 0), asEmbedded(s.get(3), 1, 0)), 1)
		t.same("Unembedded", s.unembedded(), ids(2, 3))
	}},
	{"DropEmbeddings", "DropEmbeddings takes every embedding and unbinds the model; a handle that does not see everything gets an ErrScope.", func(t *trial) {
		s := t.with(entry(1, "one", vector(1, 0)), entry(2, "two"), entry(3, "three", restricted, vector(0, 1)))
		s.must("BindEmbeddingModel", s.BindEmbeddingModel(t.Context(), flat))
		before := s.get(1)
		for _, scope := range []memory.Scope{{Namespace: "a"}, {MaxConfidentiality: new(memory.Confidential)}} {
			t.refused("DropEmbeddings", s.in(scope).DropEmbeddings(t.Context()), memory.ErrScope)
		}
		t.same("Unembedded", s.unembedded(), ids(2))
		s.must("DropEmbeddings", s.in(memory.Scope{MaxConfidentiality: new(memory.Restricted)}).DropEmbeddings(t.Context()))
		s.holds(entry(1, "one"), entry(2, "two"), entry(3, "three", restricted))
		t.same("the model", s.model(), memory.Model{})
		s.must("BindEmbeddingModel to another", s.BindEmbeddingModel(t.Context(), solid))
		t.same("SetEmbeddings for a version of before", s.setEmbeddings(solid, asEmbedded(before, 1, 0, 0)), 0)
		t.same("SetEmbeddings", s.setEmbeddings(solid, asEmbedded(s.get(1), 1, 0, 0)), 1)
	}},
}

func vector(components ...float32) func(*memory.Entry) {
	return func(e *memory.Entry) { e.Embedding = components }
}

func asEmbedded(r memory.Record, vector ...float32) memory.Embedded {
	return memory.Embedded{ID: r.Entry.ID, Version: r.Version, Vector: vector}
}

func (s *subject) model() memory.Model {
	s.t.Helper()
	model, err := s.EmbeddingModel(s.t.Context())
	s.must("EmbeddingModel", err)
	return model
}

func (s *subject) unembedded() []uuid.UUID {
	s.t.Helper()
	ids, err := s.Unembedded(s.t.Context())
	s.must("Unembedded", err)
	return ids
}

func (s *subject) setEmbeddings(model memory.Model, list ...memory.Embedded) int {
	s.t.Helper()
	n, err := s.SetEmbeddings(s.t.Context(), model, list)
	s.must("SetEmbeddings", err)
	return n
}

var anyModel = rapid.SampledFrom([]memory.Model{flat, flat, plain, solid, {}})

// embeddingActions are what random histories do with embeddings.
func embeddingActions(ctx context.Context) map[string]func(t *rapid.T) (call, []any) {
	return map[string]func(t *rapid.T) (call, []any){
		"BindEmbeddingModel": func(t *rapid.T) (call, []any) {
			model := anyModel.Draw(t, "model")
			return func(s memory.Backend) string {
				err := s.BindEmbeddingModel(ctx, model)
				return kind(err) + answer(s.EmbeddingModel(ctx))
			}, []any{model}
		},
		"Unembedded": func(t *rapid.T) (call, []any) {
			return func(s memory.Backend) string { return answer(s.Unembedded(ctx)) }, nil
		},
		"SetEmbeddings": func(t *rapid.T) (call, []any) {
			model, ids := anyModel.Draw(t, "model"), rapid.SliceOfN(anyID, 0, 4).Draw(t, "ids")
			vectors := rapid.SliceOfN(anyVector, len(ids), len(ids)).Draw(t, "vectors")
			return func(s memory.Backend) string {
				var list []memory.Embedded
				for i, id := range ids {
					r, err := s.Get(ctx, id)
					if err != nil {
						r.Entry.ID = id
					}
					list = append(list, asEmbedded(r, vectors[i]...))
				}
				return answer(s.SetEmbeddings(ctx, model, list))
			}, []any{model, ids, vectors}
		},
		"DropEmbeddings": func(t *rapid.T) (call, []any) {
			return func(s memory.Backend) string { return kind(s.DropEmbeddings(ctx)) }, nil
		},
	}
}
