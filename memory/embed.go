package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// Model is what makes embeddings. Vectors of two models say nothing about
// each other, even where their lengths agree.
type Model struct {
	// Name is the model's name as its provider knows it.
	Name string
	// Dimensions is the length of every vector; 0 means not known yet.
	Dimensions int
}

// String returns the name and, if it is known, the dimension.
func (m Model) String() string {
	if m.Dimensions == 0 {
		return fmt.Sprintf("model %q", m.Name)
	}
	return fmt.Sprintf("model %q of %d dimensions", m.Name, m.Dimensions)
}

// Validate reports, as an [ErrInvalid], that a store cannot be bound to the
// model: it has no name, or its dimension is not known.
func (m Model) Validate() error {
	if m.Name == "" {
		return invalid("model", "has no name")
	}
	if m.Dimensions <= 0 {
		return invalid("model", "%q has %d dimensions; at least 1 is needed", m.Name, m.Dimensions)
	}
	return validateText("model", m.Name)
}

// Match returns an [ErrModel] that names both unless other is the same model.
// A dimension that is not known yet matches any, and so does the zero Model,
// which stands for none.
func (m Model) Match(other Model) error {
	sameSize := m.Dimensions == 0 || other.Dimensions == 0 || m.Dimensions == other.Dimensions
	if m == (Model{}) || other == (Model{}) || m.Name == other.Name && sameSize {
		return nil
	}
	return fmt.Errorf("%s was asked for, the store holds embeddings of %s: %w", other, m, ErrModel)
}

// Fits returns an [ErrModel] if the vector has not the model's dimension. No
// vector fits every model, and every vector fits the zero Model.
func (m Model) Fits(vector []float32) error {
	if len(vector) == 0 || m.Dimensions == 0 || len(vector) == m.Dimensions {
		return nil
	}
	return fmt.Errorf("the embedding has %d dimensions, the store is bound to %s: %w", len(vector), m, ErrModel)
}

// Learn checks what an embedder made of a number of texts: one vector each,
// every component finite, and all of the model's dimension. It returns the
// model with that dimension, which it takes from the first vector if it was
// not known.
func (m Model) Learn(texts int, vectors [][]float32) (Model, error) {
	if len(vectors) != texts {
		return m, fmt.Errorf("%s gave %d embeddings for %d texts", m, len(vectors), texts)
	}
	for i, vector := range vectors {
		if m.Dimensions == 0 {
			m.Dimensions = len(vector)
		}
		if len(vector) == 0 || len(vector) != m.Dimensions {
			return m, fmt.Errorf("%s gave an embedding of %d dimensions for text %d of %d: %w",
				m, len(vector), i+1, texts, ErrModel)
		}
		if err := validateVector("embedding", vector); err != nil {
			return m, fmt.Errorf("%s, text %d of %d: %w", m, i+1, texts, err)
		}
	}
	return m, nil
}

// Embedder turns texts into vectors. It is safe for concurrent use.
type Embedder interface {
	// Embed returns one vector for each text, in order, or an error for all
	// of them. An error that is [ErrText] means that at least one text is to
	// blame; any other, that none was tried or that it is worth trying again.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
	// Model names what Embed uses. Its dimension may be unknown until Embed
	// has succeeded once.
	Model() Model
}

// ErrText means that an embedding model does not take a text, for example
// because it is too long.
var ErrText = errors.New("text refused by the embedding model")

// EmbeddingStore keeps the embeddings of entries, all of one model. While no
// model is bound, entries are stored with whatever embedding they bring; once
// one is, an embedding of another dimension is an [ErrModel] to every method
// that stores.
type EmbeddingStore interface {
	// EmbeddingModel returns the bound model, or the zero Model.
	EmbeddingModel(ctx context.Context) (Model, error)

	// BindEmbeddingModel binds the whole store, whatever the scope of the
	// handle, to the model, which must be complete. The same model again is
	// fine. Another one is an [ErrModel], and so is one of a dimension that
	// embeddings stored before do not have.
	BindEmbeddingModel(ctx context.Context, model Model) error

	// Unembedded returns the ids of the entries without an embedding, in
	// insertion order.
	Unembedded(ctx context.Context) ([]uuid.UUID, error)

	// SetEmbeddings gives embeddings to entries, all or none, after binding
	// the model as BindEmbeddingModel does. Entries that are gone, or no
	// longer have the version that was embedded, are passed over; it returns
	// how many were not. A set embedding gives the entry a new version, but
	// counts as no access.
	SetEmbeddings(ctx context.Context, model Model, embeddings []Embedded) (int, error)

	// DropEmbeddings takes the embeddings from all entries and unbinds the
	// model, so that another one can be bound. A handle that does not see the
	// whole store gets an [ErrScope]. If it ends early, the model is still
	// bound while some embeddings are gone; call it again.
	DropEmbeddings(ctx context.Context) error
}

// Embedded is an embedding that was computed for an entry.
type Embedded struct {
	ID      uuid.UUID
	Version uint64 // of the entry whose text was embedded
	Vector  []float32
}

// CheckEmbeddings reports what SetEmbeddings has to refuse before it changes
// anything: a model that cannot be bound, an empty vector or one with
// components that are not finite as an [ErrInvalid], one of another dimension
// as an [ErrModel].
func CheckEmbeddings(model Model, embeddings []Embedded) error {
	if err := model.Validate(); err != nil {
		return err
	}
	for i := range embeddings {
		e := &embeddings[i]
		err := model.Fits(e.Vector)
		if err == nil {
			err = validateVector("embedding", e.Vector)
		}
		if err == nil && len(e.Vector) == 0 {
			err = invalid("embedding", "is empty")
		}
		if err != nil {
			return fmt.Errorf("entry %s: %w", e.ID, err)
		}
	}
	return nil
}

// embed asks the embedder and does not trust it: an embedding that is wrong
// is harder to find in a store than on its way there.
func embed(ctx context.Context, embedder Embedder, texts []string) ([][]float32, Model, error) {
	vectors, err := embedder.Embed(ctx, texts)
	if err != nil {
		return nil, Model{}, err
	}
	model, err := embedder.Model().Learn(len(texts), vectors)
	return vectors, model, err
}
