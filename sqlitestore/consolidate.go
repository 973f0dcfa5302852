package sqlitestore

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// Consolidate implements [memory.LoopMemory], in one transaction that writes
// only the rows that change.
func (s *Store) Consolidate(ctx context.Context) (stats memory.ConsolidationStats, err error) {
	stats, _, err = s.ConsolidateIfOlder(ctx, 0)
	return stats, err
}

// ConsolidateIfOlder runs a pass unless one was run less than an age ago, by
// whichever process, and reports whether it did. Processes that all call it
// by a timer thus run one pass together, whoever comes first. Passes over
// less than the whole store do not count.
func (s *Store) ConsolidateIfOlder(ctx context.Context, age time.Duration) (stats memory.ConsolidationStats, ran bool, err error) {
	err = s.write(ctx, func(w *writeTx) error {
		var last *int64
		if err := w.get(&last, `SELECT last_consolidated FROM store`); err != nil {
			return err
		}
		if age > 0 && last != nil && w.now.Sub(fromNanos(*last)) < age {
			return nil
		}
		p, err := s.plan(w.tx, w.now, backlog{})
		if err != nil {
			return err
		}
		stats, ran = p.plan.Stats, true
		if err := w.carryOut(p); err != nil {
			return err
		}
		return w.finishConsolidation(s.scope.Whole())
	})
	if err != nil {
		return memory.ConsolidationStats{}, false, fmt.Errorf("consolidate: %w", err)
	}
	return stats, ran, nil
}

// PreviewConsolidation implements [memory.Backend].
func (s *Store) PreviewConsolidation(ctx context.Context) (stats memory.ConsolidationStats, err error) {
	owed := s.pending.peek()
	err = s.view(ctx, func(t *tx) error {
		p, err := s.plan(t, s.settings.Now().UTC().Round(0), owed)
		if err == nil {
			stats = p.plan.Stats
		}
		return err
	})
	if err != nil {
		return memory.ConsolidationStats{}, fmt.Errorf("preview consolidation: %w", err)
	}
	return stats, nil
}

// passPlan is a plan with the rows it was made for.
type passPlan struct {
	plan   *memory.Plan
	rows   []row // in insertion order; the plan's indexes lead here
	stamps map[uuid.UUID]time.Time
}

// plan computes a pass over what the handle sees, as if what is owed were
// written already.
func (s *Store) plan(t *tx, now time.Time, owed backlog) (passPlan, error) {
	rows, err := t.rows(within(s.scope), inOrder)
	if err != nil {
		return passPlan{}, err
	}
	stamps, err := t.stamps()
	if err != nil {
		return passPlan{}, err
	}
	entries := make([]memory.Entry, len(rows))
	for i := range rows {
		e := rows[i].entry
		owed.apply(rows[i].rowID, &e)
		if at, stamped := owed.stamps[rows[i].rowID]; stamped {
			stamps[e.ID] = latest(stamps[e.ID], at)
		}
		entries[i] = e
	}
	return passPlan{s.settings.Consolidation.Plan(now, entries, stamps), rows, stamps}, nil
}

// stamps reads the pending access stamps.
func (t *tx) stamps() (map[uuid.UUID]time.Time, error) {
	stamps := make(map[uuid.UUID]time.Time)
	err := t.each(func(rows *sqlx.Rows) error {
		var id uuid.UUID
		var at int64
		if err := rows.Scan(&id, &at); err != nil {
			return err
		}
		stamps[id] = fromNanos(at)
		return nil
	}, `SELECT e.id, a.accessed_at FROM access_stamp AS a JOIN entry AS e USING (row_id)`)
	return stamps, err
}

// carryOut makes the plan true. What goes is removed first, so that the
// places it leaves are free for those that move there.
func (w *writeTx) carryOut(p passPlan) error {
	for _, removal := range p.plan.Removed {
		reason := ReasonPruned
		if removal.MergedInto != uuid.Nil {
			reason = ReasonMerged
		}
		if err := w.archive(&p.rows[removal.Index], reason, removal.MergedInto); err != nil {
			return err
		}
	}
	for i := range p.plan.Survivors {
		if err := w.settle(p, &p.plan.Survivors[i]); err != nil {
			return err
		}
	}
	return w.relinkOthers(p.plan.Merged)
}

// settle writes what the pass has changed of a survivor.
func (w *writeTx) settle(p passPlan, survivor *memory.Survivor) (err error) {
	old := &p.rows[survivor.Index]
	position := old.position
	switch survivor.Slot {
	case survivor.Index:
	case memory.EndOfOrder:
		if position, err = w.endOfOrder(); err != nil {
			return err
		}
	default:
		position = p.rows[survivor.Slot].position
	}
	if survivor.Rewritten {
		if err := w.replaceContent(old, &survivor.Entry); err != nil {
			return err
		}
	}
	if stateSum(old.rowID, position, &survivor.Entry) != stateSum(old.rowID, old.position, &old.entry) {
		if err := w.replaceState(old.rowID, position, &survivor.Entry); err != nil {
			return err
		}
	}
	if _, stamped := p.stamps[old.entry.ID]; stamped {
		_, err = w.exec(`DELETE FROM access_stamp WHERE row_id = ?`, old.rowID)
	}
	return err
}

// relinkOthers makes the links of entries outside the scope of the pass
// follow its merges.
func (w *writeTx) relinkOthers(merged map[uuid.UUID]uuid.UUID) error {
	for gone := range merged {
		rows, err := w.rows(where("e.row_id IN (SELECT row_id FROM link WHERE target = ?)", gone[:]), "")
		if err != nil {
			return err
		}
		for i := range rows {
			changed := rows[i].entry.Clone()
			if !changed.Relink(merged) {
				continue
			}
			if err := w.replaceContent(&rows[i], &changed); err != nil {
				return err
			}
		}
	}
	return nil
}

// rememberedTombstones bounds the table of rows that are gone.
const rememberedTombstones = 10_000

// finishConsolidation notes the time of the pass and drops what has been kept
// long enough.
func (w *writeTx) finishConsolidation(whole bool) error {
	if _, err := w.bump(); err != nil {
		return err
	}
	if whole {
		if _, err := w.exec(`UPDATE store SET last_consolidated = ?`, nanos(w.now)); err != nil {
			return err
		}
	}
	if _, err := w.exec(`DELETE FROM archive WHERE archived_at < ?`, nanos(w.now.Add(-w.options.ArchiveFor))); err != nil {
		return err
	}
	return w.dropTombstones()
}

// dropTombstones keeps the latest tombstones only. Who remembers an older
// state of the store has to read it anew.
func (w *writeTx) dropTombstones() error {
	_, err := w.exec(`
		UPDATE store SET tombstones_since = coalesce(
			(SELECT version FROM tombstone ORDER BY version DESC LIMIT 1 OFFSET ?), tombstones_since)`,
		rememberedTombstones)
	if err != nil {
		return err
	}
	_, err = w.exec(`DELETE FROM tombstone WHERE version <= (SELECT tombstones_since FROM store)`)
	return err
}
