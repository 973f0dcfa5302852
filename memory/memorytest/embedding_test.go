package memorytest

import (
	"context"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

func (dead) EmbeddingModel(context.Context) (m memory.Model, err error) { return }
func (dead) BindEmbeddingModel(context.Context, memory.Model) error     { return nil }
func (dead) Unembedded(context.Context) ([]uuid.UUID, error)            { return nil, nil }
func (dead) DropEmbeddings(context.Context) error                       { return nil }
func (dead) SetEmbeddings(context.Context, memory.Model, []memory.Embedded) (int, error) {
	return 0, nil
}
