package memory

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
)

// embedAtOnce is how many entries EmbedMissing embeds between two writes:
// what an interruption makes it do again.
const embedAtOnce = 64

// EmbedMissing gives an embedding to every entry of the store that has none,
// and returns how many it gave. It works in batches, each written by itself,
// so that it can be interrupted and goes on where it stopped; what changes
// under its hands is left to the next call. After each batch it calls
// progress, if that is not nil, with the number of entries done and of all
// there were to do.
//
// A store that is bound to another model is an [ErrModel], before anything is
// embedded. Texts that the model refuses, as [ErrText], are passed over and
// reported at the end, all together; any other error ends the call, and so do
// several texts at once that are all refused: that is hardly their fault.
func EmbedMissing(ctx context.Context, store Backend, embedder Embedder, progress func(done, total int)) (n int, err error) {
	bound, err := store.EmbeddingModel(ctx)
	if err == nil {
		err = bound.Match(embedder.Model())
	}
	if err != nil {
		return 0, fmt.Errorf("embed: %w", err)
	}
	ids, err := store.Unembedded(ctx)
	if err != nil {
		return 0, fmt.Errorf("embed: %w", err)
	}
	f := filler{store: store, embedder: embedder}
	for done := 0; done < len(ids); {
		next := min(done+embedAtOnce, len(ids))
		if err := f.fill(ctx, ids[done:next]); err != nil {
			return f.set, fmt.Errorf("embed: %w", err)
		}
		done = next
		if progress != nil {
			progress(done, len(ids))
		}
	}
	return f.set, errors.Join(f.refused...)
}

// filler is one run of EmbedMissing.
type filler struct {
	store    Backend
	embedder Embedder
	set      int
	refused  []error
}

// fill embeds those of the entries that are still there and in need of it.
func (f *filler) fill(ctx context.Context, ids []uuid.UUID) error {
	var records []Record
	for _, id := range ids {
		r, err := f.store.Get(ctx, id)
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if len(r.Entry.Embedding) == 0 && embeddable(r.Entry.Memory) {
			records = append(records, r)
		}
	}
	if len(records) == 0 {
		return nil
	}
	err := f.embed(ctx, records)
	if len(records) > 1 && errors.Is(err, ErrText) {
		return f.oneByOne(ctx, records)
	}
	return f.excuse(records[0], err)
}

// oneByOne finds out which of the texts the model refuses.
func (f *filler) oneByOne(ctx context.Context, records []Record) error {
	before := len(f.refused)
	for i := range records {
		if err := f.excuse(records[i], f.embed(ctx, records[i:i+1])); err != nil {
			return err
		}
	}
	if refused := f.refused[before:]; len(refused) == len(records) {
		return fmt.Errorf("%d texts of %d were refused, the first: %w", len(refused), len(records), refused[0])
	}
	return nil
}

// excuse notes that the text of the record was refused, if that is the error,
// and returns any other.
func (f *filler) excuse(r Record, err error) error {
	if !errors.Is(err, ErrText) {
		return err
	}
	f.refused = append(f.refused, fmt.Errorf("entry %s: %w", r.Entry.ID, err))
	return nil
}

func (f *filler) embed(ctx context.Context, records []Record) error {
	texts := make([]string, len(records))
	for i := range records {
		texts[i] = records[i].Entry.Memory
	}
	vectors, model, err := embed(ctx, f.embedder, texts)
	if err != nil {
		return err
	}
	embedded := make([]Embedded, len(records))
	for i := range records {
		embedded[i] = Embedded{ID: records[i].Entry.ID, Version: records[i].Version, Vector: vectors[i]}
	}
	set, err := f.store.SetEmbeddings(ctx, model, embedded)
	f.set += set
	return err
}
