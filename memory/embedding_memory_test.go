package memory_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/memorytest"
)

// spoilt is an embedder that calls before, if set, ahead of every request,
// and fails with the error that it returns. It keeps the requests.
type spoilt struct {
	memory.HashEmbedder
	before   func(texts []string) error
	requests [][]string
}

func (s *spoilt) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.requests = append(s.requests, texts)
	if s.before != nil {
		if err := s.before(texts); err != nil {
			return nil, err
		}
	}
	return s.HashEmbedder.Embed(ctx, texts)
}

var errDown = errors.New("the endpoint is down")

func down([]string) error { return errDown }

// wrap puts an embedder before an empty store, and returns where it logs.
func wrap(t testing.TB, embedder memory.Embedder) (*memory.EmbeddingMemory, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	m, err := memory.NewEmbeddingMemory(t.Context(), open(t), embedder, slog.New(slog.NewTextHandler(&logged, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return m, &logged
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// embeddingOf returns the embedding that the store has for the entry.
func embeddingOf(t testing.TB, m memory.Backend, id uuid.UUID) []float32 {
	t.Helper()
	r, err := m.Get(t.Context(), id)
	must(t, err)
	return r.Entry.Embedding
}

func vectorOf(t testing.TB, text string) []float32 {
	t.Helper()
	vectors, err := memory.HashEmbedder{}.Embed(t.Context(), []string{text})
	must(t, err)
	return vectors[0]
}

// An embedder that fails takes nothing away: what is left is the store.
func TestEmbeddingMemoryConformance(t *testing.T) {
	memorytest.Run(t, func(t testing.TB, options ...memory.Option) memory.Backend {
		m, err := memory.NewEmbeddingMemory(t.Context(), open(t, options...), alwaysDown{}, nil)
		must(t, err)
		return m
	})
}

type alwaysDown struct{ memory.HashEmbedder }

func (alwaysDown) Embed(context.Context, []string) ([][]float32, error) { return nil, errDown }

func TestEmbeddingMemoryStores(t *testing.T) {
	embedder := &spoilt{}
	m, logged := wrap(t, embedder)
	own := memory.NewEntry(memory.Fact, "has its own")
	own.Embedding = slices.Repeat([]float32{1}, 256)
	entries := []memory.Entry{
		memory.NewEntry(memory.Fact, "one"), own, memory.NewEntry(memory.Fact, " \n"), memory.NewEntry(memory.Fact, "two"),
	}
	_, err := m.StoreBatch(t.Context(), entries, memory.Replace)
	must(t, err)
	for i, want := range [][]float32{vectorOf(t, "one"), own.Embedding, nil, vectorOf(t, "two")} {
		if got := embeddingOf(t, m, entries[i].ID); !slices.Equal(got, want) {
			t.Errorf("entry %d has the embedding %v, want %v", i, got, want)
		}
	}
	if got := fmt.Sprint(embedder.requests); got != "[[one two]]" {
		t.Errorf("the embedder was asked %s, want it asked once for both", got)
	}
	if entries[0].Embedding != nil {
		t.Error("the caller's entry was changed")
	}
	model, err := m.EmbeddingModel(t.Context())
	must(t, err)
	if model != embedder.Model() {
		t.Errorf("the store is bound to %v, want %v", model, embedder.Model())
	}
	if logged.Len() > 0 {
		t.Errorf("logged:\n%s", logged)
	}
}

func TestEmbeddingMemoryRecalls(t *testing.T) {
	embedder := &spoilt{}
	m, logged := wrap(t, embedder)
	recall := func(query memory.Query) int {
		result, err := m.Recall(t.Context(), query)
		must(t, err)
		return len(result.Hits)
	}
	if n := recall(memory.Query{Text: "night"}); n != 0 || len(embedder.requests) != 0 {
		t.Errorf("an empty store gave %d hits, after %d requests", n, len(embedder.requests))
	}
	must(t, m.Store(t.Context(), memory.NewEntry(memory.Fact, "Deploys run at night.")))
	// No word of it is in the text, so that only the embedding can lead there.
	if n := recall(memory.Query{Text: "unrelated"}); n != 1 {
		t.Errorf("a query with an embedding gave %d hits, want 1", n)
	}
	embedder.requests = nil
	recall(memory.Query{})
	recall(memory.Query{Text: "night", Embedding: vectorOf(t, "night")})
	if len(embedder.requests) != 0 {
		t.Errorf("queries that need no embedding made the requests %v", embedder.requests)
	}
	if logged.Len() > 0 {
		t.Errorf("logged:\n%s", logged)
	}
	embedder.before = down
	if n := recall(memory.Query{Text: "unrelated"}) + recall(memory.Query{Text: "night"}); n != 1 {
		t.Errorf("without the embedder, two queries gave %d hits, want the one by text", n)
	}
	if !strings.Contains(logged.String(), "recalled by text alone") || !strings.Contains(logged.String(), errDown.Error()) {
		t.Errorf("logged: %q", logged)
	}
}

func TestEmbeddingMemoryUpdates(t *testing.T) {
	embedder := &spoilt{}
	m, logged := wrap(t, embedder)
	e := memory.NewEntry(memory.Fact, "one")
	must(t, m.Store(t.Context(), e))
	update := func(change memory.Change, want []float32) {
		t.Helper()
		r, err := m.Update(t.Context(), e.ID, change)
		must(t, err)
		stored, err := m.Get(t.Context(), e.ID)
		must(t, err)
		if !slices.Equal(r.Entry.Embedding, want) || !slices.Equal(stored.Entry.Embedding, want) || r.Version != stored.Version {
			t.Errorf("the embedding is %v in the answer (version %d) and %v in the store (%d), want %v",
				r.Entry.Embedding, r.Version, stored.Entry.Embedding, stored.Version, want)
		}
	}
	update(memory.Change{Memory: new("two")}, vectorOf(t, "two"))
	update(memory.Change{Summary: new("short")}, vectorOf(t, "two"))
	update(memory.Change{Memory: new("three"), Embedding: new(vectorOf(t, "3"))}, vectorOf(t, "3"))
	if got := fmt.Sprint(embedder.requests); got != "[[one] [two]]" {
		t.Errorf("the embedder was asked %s", got)
	}
	embedder.before = down
	update(memory.Change{Memory: new("four")}, nil)
	if !strings.Contains(logged.String(), "updated without embedding") {
		t.Errorf("logged: %q", logged)
	}
}

func TestEmbeddingMemoryEmbedderDown(t *testing.T) {
	embedder := &spoilt{before: down}
	m, logged := wrap(t, embedder)
	e := memory.NewEntry(memory.Fact, "kept all the same")
	must(t, m.Store(t.Context(), e))
	if got := embeddingOf(t, m, e.ID); got != nil {
		t.Errorf("the embedding is %v", got)
	}
	if !strings.Contains(logged.String(), "stored without embeddings") || !strings.Contains(logged.String(), errDown.Error()) {
		t.Errorf("logged: %q", logged)
	}
	embedder.before = nil
	if n, err := memory.EmbedMissing(t.Context(), m, embedder, nil); n != 1 || err != nil {
		t.Errorf("EmbedMissing gave %d, %v", n, err)
	}
	if got := embeddingOf(t, m, e.ID); !slices.Equal(got, vectorOf(t, e.Memory)) {
		t.Errorf("the embedding is %v", got)
	}
}

// Another process may bind the store to another model at any time, even
// between a request and the write.
func TestEmbeddingMemoryOtherModel(t *testing.T) {
	embedder := &spoilt{}
	m, logged := wrap(t, embedder)
	must(t, m.Store(t.Context(), memory.NewEntry(memory.Fact, "one")))
	must(t, m.DropEmbeddings(t.Context()))
	other := memory.Model{Name: "other", Dimensions: 3}
	must(t, m.BindEmbeddingModel(t.Context(), other))

	e := memory.NewEntry(memory.Fact, "two")
	must(t, m.Store(t.Context(), e))
	if got := embeddingOf(t, m, e.ID); got != nil {
		t.Errorf("the embedding is %v", got)
	}
	if _, err := m.Update(t.Context(), e.ID, memory.Change{Memory: new("two again")}); err != nil {
		t.Error(err)
	}
	if result, err := m.Recall(t.Context(), memory.Query{Text: "two"}); err != nil || len(result.Hits) != 1 {
		t.Errorf("Recall gave %d hits, %v", len(result.Hits), err)
	}
	for _, want := range []string{"stored without embeddings", "updated without embedding", "recalled by text alone"} {
		if !strings.Contains(logged.String(), want) {
			t.Errorf("nothing logged about %q:\n%s", want, logged)
		}
	}
	if _, err := memory.NewEmbeddingMemory(t.Context(), m, embedder, nil); !errors.Is(err, memory.ErrModel) {
		t.Errorf("NewEmbeddingMemory gave %v", err)
	}
}

func TestEmbeddingMemoryIn(t *testing.T) {
	m, _ := wrap(t, &spoilt{})
	handle := m.In(memory.Scope{Namespace: "tg:1"})
	e := memory.NewEntry(memory.Fact, "one")
	must(t, handle.Store(t.Context(), e))
	if got := embeddingOf(t, handle, e.ID); got == nil {
		t.Error("what is stored through a narrower handle has no embedding")
	}
	if _, err := m.In(memory.Scope{Namespace: "tg:12"}).Get(t.Context(), e.ID); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("another namespace sees the entry: %v", err)
	}
}

func ExampleNewEmbeddingMemory() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	memories, err := memory.NewEmbeddingMemory(ctx, store, memory.HashEmbedder{}, slog.Default())
	if err != nil {
		log.Fatal(err)
	}
	defer memories.Close()
	for _, text := range []string{"Deploys run at night.", "Tea is served at five."} {
		if err := memories.Store(ctx, memory.NewEntry(memory.Fact, text)); err != nil {
			log.Fatal(err)
		}
	}
	result, err := memories.Recall(ctx, memory.Query{Text: "when do deploys run?", Limit: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Hits[0].Entry.Memory)
	// Output: Deploys run at night.
}
