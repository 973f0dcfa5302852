package filestore

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Store implements [memory.LoopMemory]. It appends one line; a line of the
// same id that stands above it no longer counts, and is gone with the next
// rewrite.
func (s *Store) Store(ctx context.Context, entry memory.Entry) error {
	_, err := s.StoreBatch(ctx, []memory.Entry{entry}, memory.Replace)
	return err
}

// errRewrite undoes a batch that cannot be appended.
var errRewrite = errors.New("the batch needs a rewrite")

// StoreBatch implements [memory.BatchWriter]. It appends all lines with one
// write; only where the capacity bound makes other entries leave does it
// rewrite the file, since a line cannot say that.
func (s *Store) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	if err := s.lockToWrite(); err != nil {
		return memory.BatchResult{}, err
	}
	defer s.file.mu.Unlock()
	result, err := s.view(s.file.mirror).StoreBatchThen(ctx, entries, onConflict,
		func(stored []memory.Entry, evicted int) error {
			switch {
			case len(stored) == 0:
				return nil
			case evicted > 0 || s.file.onDisk == nil:
				return errRewrite
			default:
				return s.file.append(stored)
			}
		})
	if err != errRewrite {
		return result, err
	}
	return changeLocked(s, func(view *memory.Store) (memory.BatchResult, bool, error) {
		result, err := view.StoreBatch(ctx, entries, onConflict)
		return result, true, err
	})
}

// Retrieve implements [memory.LoopMemory]. The stamps it leaves end with the
// last handle on the file, unless a consolidation folds them before.
func (s *Store) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	return ask(s, func(view *memory.Store) ([]memory.Match, error) { return view.Retrieve(ctx, query, limit) })
}

// Consolidate implements [memory.LoopMemory] and rewrites the file. If that
// fails, nothing has changed, pending stamps included; with [ErrNotSynced],
// the pass stands and the stats are those of it.
func (s *Store) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	return change(s, func(view *memory.Store) (memory.ConsolidationStats, bool, error) {
		stats, err := view.Consolidate(ctx)
		return stats, true, err
	})
}

// PreviewConsolidation implements [memory.Backend].
func (s *Store) PreviewConsolidation(ctx context.Context) (memory.ConsolidationStats, error) {
	return ask(s, func(view *memory.Store) (memory.ConsolidationStats, error) { return view.PreviewConsolidation(ctx) })
}

// Len implements [memory.LoopMemory].
func (s *Store) Len(ctx context.Context) (int, error) {
	return ask(s, func(view *memory.Store) (int, error) { return view.Len(ctx) })
}

// Recall implements [memory.Recaller]. The accesses count at once, but are
// written by the next rewrite, by Flush or by Close.
func (s *Store) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	return ask(s, func(view *memory.Store) (memory.Recollection, error) {
		found, err := view.Recall(ctx, query)
		s.file.behind = s.file.behind || len(found.Hits) > 0
		return found, err
	})
}

// Get implements [memory.Recaller].
func (s *Store) Get(ctx context.Context, id uuid.UUID) (memory.Record, error) {
	return ask(s, func(view *memory.Store) (memory.Record, error) { return view.Get(ctx, id) })
}

// Update implements [memory.Recaller] and rewrites the file.
func (s *Store) Update(ctx context.Context, id uuid.UUID, c memory.Change) (memory.Record, error) {
	return change(s, func(view *memory.Store) (memory.Record, bool, error) {
		record, err := view.Update(ctx, id, c)
		return record, true, err
	})
}

// Forget implements [memory.Recaller] and rewrites the file.
func (s *Store) Forget(ctx context.Context, id uuid.UUID) (bool, error) {
	return change(s, func(view *memory.Store) (bool, bool, error) {
		found, err := view.Forget(ctx, id)
		return found, found, err
	})
}

// Link implements [memory.Recaller] and rewrites the file.
func (s *Store) Link(ctx context.Context, a, b uuid.UUID) error {
	_, err := change(s, func(view *memory.Store) (struct{}, bool, error) {
		return struct{}{}, true, view.Link(ctx, a, b)
	})
	return err
}

// Prune implements [memory.Recaller] and rewrites the file.
func (s *Store) Prune(ctx context.Context, minStrength float64, minAge time.Duration, agentPrefix string) (int, error) {
	return change(s, func(view *memory.Store) (int, bool, error) {
		pruned, err := view.Prune(ctx, minStrength, minAge, agentPrefix)
		return pruned, pruned > 0, err
	})
}

// Entries implements [memory.Lister].
func (s *Store) Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		// The mirror is asked when the loop begins, and answers from a
		// snapshot that a change made meanwhile leaves alone.
		entries, err := ask(s, func(view *memory.Store) (iter.Seq2[memory.Entry, error], error) {
			return view.Entries(ctx, selection), nil
		})
		if err != nil {
			yield(memory.Entry{}, err)
			return
		}
		entries(yield)
	}
}

// Resolve implements [memory.Lister].
func (s *Store) Resolve(ctx context.Context, text string) (uuid.UUID, error) {
	return ask(s, func(view *memory.Store) (uuid.UUID, error) { return view.Resolve(ctx, text) })
}
