package sqlitestore

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// Consolidate implements [memory.LoopMemory], in one transaction that writes
// only the rows that change.
//
// What to do is planned before that, on a snapshot, so that other writers wait
// only while it is done. Entries that were changed, removed or stored in the
// meantime are planned anew among themselves and the entries that they would
// have merged with; an entry may therefore miss a near duplicate that came at
// the same moment, until the next pass.
func (s *Store) Consolidate(ctx context.Context) (stats memory.ConsolidationStats, err error) {
	stats, _, err = s.ConsolidateIfOlder(ctx, 0)
	return stats, err
}

// ConsolidateIfOlder runs a pass unless one was run less than an age ago, by
// whichever process, and reports whether it did. Processes that all call it
// by a timer thus run one pass together, whoever comes first. Passes over
// less than the whole store do not count.
func (s *Store) ConsolidateIfOlder(ctx context.Context, age time.Duration) (stats memory.ConsolidationStats, ran bool, err error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		stats, ran, err = s.consolidate(ctx, age, attempt == attempts)
		switch {
		case errors.Is(err, errOutrun):
			continue
		case err != nil:
			return memory.ConsolidationStats{}, false, fmt.Errorf("consolidate: %w", err)
		}
		return stats, ran, nil
	}
}

// errOutrun says that so much has changed since a pass was planned that it
// had better be planned anew.
var errOutrun = errors.New("the store has changed too much")

// consolidate runs one pass. If it may not be outrun, it carries a plan out
// whatever has changed since.
func (s *Store) consolidate(ctx context.Context, age time.Duration, whatever bool) (stats memory.ConsolidationStats, ran bool, err error) {
	if err := s.settleUp(ctx); err != nil {
		return stats, false, err
	}
	var p passPlan
	due := false
	err = s.view(ctx, func(t *tx) (err error) {
		now := s.settings.Now().UTC().Round(0)
		if due, err = t.due(now, age); !due || err != nil {
			return err
		}
		if p, err = s.plan(t, now, backlog{}); err != nil {
			return err
		}
		p.prepare()
		return p.findUnheld(t, s.scope.Whole())
	})
	if !due || err != nil {
		return stats, false, err
	}
	err = s.writeMuch(ctx, func(w *writeTx) error {
		// Another process may have come first.
		if due, err = w.due(w.now, age); !due || err != nil {
			return err
		}
		rest, changed, err := w.stillTrue(p)
		if err != nil {
			return err
		}
		if n, err := w.countWithin(s.scope, changed); err != nil {
			return err
		} else if n > len(p.rows)/2 && !whatever {
			return errOutrun
		}
		if w.loose.unheld, err = w.stillUnheld(rest.unheld, changed); err != nil {
			return err
		}
		if err := w.carryOut(rest); err != nil {
			return err
		}
		again, err := s.planAgain(w.tx, p.now, changed)
		if err != nil {
			return err
		}
		again.prepare()
		if err := w.carryOut(again); err != nil {
			return err
		}
		w.loose.areHeld(rest.holders)
		stats = sum(rest.plan.Stats, again.plan.Stats)
		for rowID := range p.aside {
			if !slices.Contains(changed, rowID) { // else it was looked at again
				again.aside[rowID] = true
			}
		}
		stats = withAside(stats, again.aside)
		return w.finishConsolidation(s.scope.Whole())
	})
	return stats, due && err == nil, err
}

// due reports whether the last pass over the whole store is an age ago.
func (t *tx) due(now time.Time, age time.Duration) (bool, error) {
	if age <= 0 {
		return true, nil
	}
	var last *int64
	err := t.get(&last, `SELECT last_consolidated FROM store`)
	return last == nil || now.Sub(fromNanos(*last)) >= age, err
}

func sum(a, b memory.ConsolidationStats) memory.ConsolidationStats {
	return memory.ConsolidationStats{
		EntriesBefore: a.EntriesBefore + b.EntriesBefore,
		EntriesAfter:  a.EntriesAfter + b.EntriesAfter,
		Pruned:        a.Pruned + b.Pruned,
		Merged:        a.Merged + b.Merged,
		BytesSaved:    a.BytesSaved + b.BytesSaved,
	}
}

// PreviewConsolidation implements [memory.Backend].
func (s *Store) PreviewConsolidation(ctx context.Context) (stats memory.ConsolidationStats, err error) {
	owed := s.pending.peek()
	err = s.view(ctx, func(t *tx) error {
		p, err := s.plan(t, s.settings.Now().UTC().Round(0), owed)
		if err == nil {
			stats = withAside(p.plan.Stats, p.aside)
		}
		return err
	})
	if err != nil {
		return memory.ConsolidationStats{}, fmt.Errorf("preview consolidation: %w", err)
	}
	return stats, nil
}

// passPlan is a plan with what it was made for.
type passPlan struct {
	plan   *memory.Plan
	now    time.Time
	rows   []row // in insertion order; the plan's indexes lead here
	stamps map[uuid.UUID]time.Time
	// What is to be done, by prepare: rows to remove, rows that only decay, and
	// survivors of which more may change.
	departures []departure
	decays     []decay
	moves      []*memory.Survivor
	// aside are rows that the pass leaves as they are, because they are damaged.
	aside map[int64]bool
	// standing is that of the store that the rows were read from.
	standing standing
	// holders counts, for the pieces of entries that go, the entries that
	// stay and hold them, and unheld are those that no other row of the store
	// held, with their ids; so that few are looked up under the lock.
	holders map[string]int
	unheld  map[string]int64
}

// plan computes a pass over what the handle sees, as if what is owed were
// written already.
func (s *Store) plan(t *tx, now time.Time, owed backlog) (passPlan, error) {
	rows, err := t.rows(within(s.scope), inOrder)
	if err != nil {
		return passPlan{}, err
	}
	return s.planFor(t, now, rows, owed)
}

// planFor computes a pass over rows, which are in insertion order. What is
// damaged is neither removed, nor merged with what is not: who is to look at it
// must find it where it was.
func (s *Store) planFor(t *tx, now time.Time, rows []row, owed backlog) (p passPlan, err error) {
	p.now, p.rows, p.aside = now, rows, make(map[int64]bool)
	if p.standing, err = t.standing(); err != nil {
		return p, err
	}
	if p.stamps, err = t.stamps(); err != nil {
		return p, err
	}
	for {
		s.planOnce(&p, owed)
		damaged := p.damaged()
		if len(damaged) == 0 {
			return p, nil
		}
		maps.Copy(p.aside, damaged)
		p.rows = slices.DeleteFunc(p.rows, func(r row) bool { return damaged[r.rowID] })
	}
}

// planOnce computes a pass over the rows of the plan.
func (s *Store) planOnce(p *passPlan, owed backlog) {
	entries := make([]memory.Entry, len(p.rows))
	for i := range p.rows {
		e := p.rows[i].entry
		owed.apply(p.rows[i].rowID, &e)
		if at, stamped := owed.stamps[p.rows[i].rowID]; stamped {
			p.stamps[e.ID] = latest(p.stamps[e.ID], at)
		}
		entries[i] = e
	}
	p.plan = s.settings.Consolidation.Plan(p.now, entries, p.stamps)
}

// damaged returns the rows that the plan removes, merges or rewrites although
// they are damaged. The others are not looked at, of which there are many.
func (p *passPlan) damaged() map[int64]bool {
	found := make(map[int64]bool)
	look := func(r *row) {
		if r.damage() != 0 {
			found[r.rowID] = true
		}
	}
	grown := make(map[uuid.UUID]bool) // entries that others are merged into
	for _, removal := range p.plan.Removed {
		look(&p.rows[removal.Index])
		grown[removal.MergedInto] = true
	}
	for i := range p.plan.Survivors {
		if survivor := &p.plan.Survivors[i]; survivor.Rewritten || grown[survivor.Entry.ID] {
			look(&p.rows[survivor.Index])
		}
	}
	return found
}

// withAside counts the rows that a pass has left as they are.
func withAside(stats memory.ConsolidationStats, aside map[int64]bool) memory.ConsolidationStats {
	stats.EntriesBefore += len(aside)
	stats.EntriesAfter += len(aside)
	return stats
}

// prepare computes ahead what carrying the plan out needs, so that it need not
// be done under the lock.
func (p *passPlan) prepare() {
	for _, removal := range p.plan.Removed {
		reason := ReasonPruned
		if removal.MergedInto != uuid.Nil {
			reason = ReasonMerged
		}
		p.departures = append(p.departures, departing(&p.rows[removal.Index], 0, reason, removal.MergedInto))
	}
	for i := range p.plan.Survivors {
		survivor := &p.plan.Survivors[i]
		if d, only := p.decayOf(survivor); only {
			p.decays = append(p.decays, d)
		} else {
			p.moves = append(p.moves, survivor)
		}
	}
	p.countHolders()
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
	many := int64(len(p.decays)) > p.standing.Entries/4
	return w.withoutOrder(many, func() error {
		if err := w.archive(p.departures...); err != nil {
			return err
		}
		if err := w.decay(p.decays); err != nil {
			return err
		}
		if err := w.settle(p); err != nil {
			return err
		}
		return w.relinkOthers(p.plan.Merged)
	})
}

// move is a survivor of which more may change than by decay.
type move struct {
	*memory.Survivor
	old      *row
	position int64 // the new one
}

// positionOf returns the place in insertion order that a survivor takes.
func (w *writeTx) positionOf(p passPlan, survivor *memory.Survivor) (int64, error) {
	if survivor.Slot == memory.EndOfOrder {
		return w.endOfOrder()
	}
	return p.rows[survivor.Slot].position, nil
}

// settle writes the moves, in ascending order of their row ids, as FTS5 likes
// it (see remove).
func (w *writeTx) settle(p passPlan) error {
	var moves []move
	for _, survivor := range p.moves {
		position, err := w.positionOf(p, survivor)
		if err != nil {
			return err
		}
		moves = append(moves, move{survivor, &p.rows[survivor.Index], position})
	}
	slices.SortFunc(moves, func(a, b move) int { return cmp.Compare(a.old.rowID, b.old.rowID) })
	var rewritten []replacement
	for _, m := range moves {
		if m.Rewritten {
			rewritten = append(rewritten, replacement{m.old, &m.Entry})
		}
	}
	if err := w.replaceContent(rewritten...); err != nil {
		return err
	}
	for _, m := range moves {
		if m.Rewritten || stateSum(m.old.rowID, m.position, &m.Entry)^m.old.stateDamage() != m.old.stateSum {
			if err := w.replaceState(m.old, m.position, &m.Entry); err != nil {
				return err
			}
		}
		if _, stamped := p.stamps[m.Entry.ID]; stamped {
			if _, err := w.exec(`DELETE FROM access_stamp WHERE row_id = ?`, m.old.rowID); err != nil {
				return err
			}
		}
	}
	return nil
}

// relinkOthers makes the links of entries outside the scope of the pass
// follow its merges.
func (w *writeTx) relinkOthers(merged map[uuid.UUID]uuid.UUID) error {
	var gone []string
	for id := range merged {
		gone = append(gone, hex.EncodeToString(id[:]))
	}
	list, err := json.Marshal(gone)
	if err != nil {
		return err
	}
	rows, err := w.rows(where(`e.row_id IN (
		SELECT row_id FROM link WHERE target IN (SELECT unhex(value) FROM json_each(?)))`, string(list)), "")
	if err != nil {
		return err
	}
	var relinked []replacement
	for i := range rows {
		if changed := rows[i].entry.Clone(); changed.Relink(merged) {
			relinked = append(relinked, replacement{&rows[i], &changed})
		}
	}
	return w.replaceContent(relinked...)
}

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
		if err := w.trustClock(); err != nil {
			return err
		}
	}
	_, err := w.exec(`DELETE FROM archive WHERE archived_at < ?`, nanos(w.now.Add(-w.options.ArchiveFor)))
	return err
}
