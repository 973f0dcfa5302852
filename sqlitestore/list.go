package sqlitestore

import (
	"context"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Entries implements [memory.Lister]. The snapshot is held as long as the
// loop runs, and the write-ahead log cannot be emptied meanwhile: do not wait
// for slow things inside it. It has a connection of its own, so that a loop may
// use the store as it likes, and goes on to its end if the store is closed.
func (s *Store) Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		stopped := false
		visit := func(r row) error {
			if !yield(r.entry, nil) {
				stopped = true
				return errEnough
			}
			return nil
		}
		if s.readers.keep {
			// The loop may well use the store, and there is but one
			// connection: read everything before it begins.
			var rows []row
			err := s.eachSelected(ctx, selection, func(r row) error {
				rows = append(rows, r)
				return nil
			})
			for i := 0; err == nil && i < len(rows); i++ {
				err = visit(rows[i])
			}
			if err != nil && !stopped {
				yield(memory.Entry{}, err)
			}
			return
		}
		if err := s.eachSelected(ctx, selection, visit); err != nil && !stopped {
			yield(memory.Entry{}, err)
		}
	}
}

func (s *Store) eachSelected(ctx context.Context, selection memory.Selection, visit func(row) error) error {
	if err := selection.Validate(); err != nil {
		return err
	}
	now := s.settings.Now().UTC().Round(0)
	return s.viewApart(ctx, func(t *tx) error {
		selected := passing(&selection.Filter, now).and(within(s.scope))
		if selection.After != uuid.Nil {
			after, err := s.load(t, selection.After)
			if err != nil {
				return fmt.Errorf("list after %s: %w", selection.After, err)
			}
			behind := "s.position > ?"
			if selection.Backward {
				behind = "s.position < ?"
			}
			selected = selected.and(where(behind, after.position))
		}
		order := inOrder
		if selection.Backward {
			order = inReverse
		}
		return t.eachRow(func(r row) error {
			if !selection.Matches(&r.entry, now) {
				return nil
			}
			if r.damage() != 0 { // who copies the store should know
				s.settings.Logger.Warn("an entry is damaged; see loopmem doctor", "database", s.path, "id", r.entry.ID)
			}
			return visit(r)
		}, selected, order)
	})
}
