package memory

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// EmbeddingMemory is a store whose entries and queries get their embeddings
// by themselves, after heartbit's EmbeddingMemory: what is stored without one
// gets it on the way, a text that Update changes gets a new one, and Recall
// compares the text of a query with both. The store is bound to the model
// with the first vectors.
//
// Nothing is lost when the embedder fails, or the store has meanwhile been
// bound to another model: entries are stored without embedding, for
// [EmbedMissing] to fill in, queries are answered by their text alone, and
// the logger is told. A caller's own embeddings are left as they are.
type EmbeddingMemory struct {
	Backend
	embedder Embedder
	logger   *slog.Logger
}

var _ Backend = (*EmbeddingMemory)(nil)

// NewEmbeddingMemory puts an embedder before a store. A store that is bound
// to another model is an [ErrModel]. The logger may be nil.
func NewEmbeddingMemory(ctx context.Context, store Backend, embedder Embedder, logger *slog.Logger) (*EmbeddingMemory, error) {
	bound, err := store.EmbeddingModel(ctx)
	if err == nil {
		err = bound.Match(embedder.Model())
	}
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &EmbeddingMemory{Backend: store, embedder: embedder, logger: logger}, nil
}

// In implements [Backend].
func (m *EmbeddingMemory) In(scope Scope) Backend {
	return &EmbeddingMemory{Backend: m.Backend.In(scope), embedder: m.embedder, logger: m.logger}
}

// Store implements [LoopMemory].
func (m *EmbeddingMemory) Store(ctx context.Context, entry Entry) error {
	_, err := m.StoreBatch(ctx, []Entry{entry}, Replace)
	return err
}

// StoreBatch implements [BatchWriter]. All texts are embedded before the
// first is stored. For a large import it is better to store without
// embeddings and to call [EmbedMissing] afterwards.
func (m *EmbeddingMemory) StoreBatch(ctx context.Context, entries []Entry, onConflict OnConflict) (BatchResult, error) {
	embedded := m.fill(ctx, entries)
	result, err := m.Backend.StoreBatch(ctx, embedded, onConflict)
	if errors.Is(err, ErrModel) {
		// Another model may have been bound since the vectors came, and must
		// not keep the entries out.
		m.warn(ctx, "stored without embeddings", err)
		return m.Backend.StoreBatch(ctx, entries, onConflict)
	}
	return result, err
}

// fill returns the entries, those that can have an embedding and have none
// with one.
func (m *EmbeddingMemory) fill(ctx context.Context, entries []Entry) []Entry {
	var texts []string
	var missing []int
	for i := range entries {
		e := &entries[i]
		if len(e.Embedding) == 0 && embeddable(e.Memory) && e.Validate() == nil {
			texts, missing = append(texts, e.Memory), append(missing, i)
		}
	}
	vectors, err := m.vectors(ctx, texts)
	if err != nil {
		m.warn(ctx, "stored without embeddings", err)
		return entries
	}
	filled := slices.Clone(entries)
	for n, i := range missing {
		filled[i].Embedding = vectors[n]
	}
	return filled
}

// vectors embeds texts that are to be stored, and binds the store.
func (m *EmbeddingMemory) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, model, err := embed(ctx, m.embedder, texts)
	if err != nil {
		return nil, err
	}
	return vectors, m.BindEmbeddingModel(ctx, model)
}

// Recall implements [Recaller].
func (m *EmbeddingMemory) Recall(ctx context.Context, query Query) (Recollection, error) {
	if query.Embedding == nil && embeddable(query.Text) && query.Validate() == nil {
		var err error
		if query.Embedding, err = m.queryVector(ctx, query.Text); err != nil {
			m.warn(ctx, "recalled by text alone", err)
		}
	}
	return m.Backend.Recall(ctx, query)
}

// queryVector embeds a text for comparison with what is stored; where no
// model is bound there is nothing that it could be compared with.
func (m *EmbeddingMemory) queryVector(ctx context.Context, text string) ([]float32, error) {
	bound, err := m.EmbeddingModel(ctx)
	if err != nil || bound == (Model{}) {
		return nil, err
	}
	if err := bound.Match(m.embedder.Model()); err != nil {
		return nil, err
	}
	vectors, model, err := embed(ctx, m.embedder, []string{text})
	if err == nil {
		err = bound.Match(model)
	}
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// Update implements [Recaller]. The new text and its embedding are written at
// once.
func (m *EmbeddingMemory) Update(ctx context.Context, id uuid.UUID, change Change) (Record, error) {
	if change.Memory == nil || change.Embedding != nil || !embeddable(*change.Memory) {
		return m.Backend.Update(ctx, id, change)
	}
	embedded := change
	if vectors, err := m.vectors(ctx, []string{*change.Memory}); err != nil {
		m.warn(ctx, "updated without embedding", err)
	} else {
		embedded.Embedding = &vectors[0]
	}
	record, err := m.Backend.Update(ctx, id, embedded)
	if errors.Is(err, ErrModel) {
		m.warn(ctx, "updated without embedding", err)
		return m.Backend.Update(ctx, id, change)
	}
	return record, err
}

func (m *EmbeddingMemory) warn(ctx context.Context, what string, err error) {
	m.logger.WarnContext(ctx, what, "model", m.embedder.Model().Name, "error", err)
}

// embeddable reports whether there is anything in the text to embed. Some
// endpoints refuse a blank one, and with it all others of the request.
func embeddable(text string) bool { return strings.TrimSpace(text) != "" }
