package sqlitestore

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// A pass is planned on a snapshot and carried out later. The entries that a
// plan merges into one, or leaves alone, are a group; what becomes of a group
// does not depend on the others, but for links to entries that were merged. So
// a group of which nothing has changed can be dealt with as planned, and the
// entries of the others are planned anew.

// stillTrue takes from a plan, for a write of now, the part of it that can be
// carried out as it is, and lists the rows that cannot: those that have changed
// in the whole store, and those of the plan that go with them. The plan that was
// given is of no use then.
func (w *writeTx) stillTrue(p passPlan) (rest passPlan, anew []int64, err error) {
	changed, err := w.outdated(p)
	if err != nil || len(changed) == 0 {
		return p, nil, err
	}
	groups := groupsOf(p)
	stale := make(map[uuid.UUID]bool) // groups
	for i := range p.rows {
		if changed[p.rows[i].rowID] {
			stale[groups[i]] = true
			delete(changed, p.rows[i].rowID)
		}
	}
	anew = slices.Collect(maps.Keys(changed)) // rows that the plan knows nothing of
	staleByLinks(p, groups, stale)

	rest = p
	rest.plan = &memory.Plan{Merged: make(map[uuid.UUID]uuid.UUID)}
	stats := &rest.plan.Stats
	for i := range p.plan.Survivors {
		if index := p.plan.Survivors[i].Index; stale[groups[index]] {
			rest.countHolder(index, -1)
		} else {
			stats.EntriesAfter++
		}
	}
	for _, removal := range p.plan.Removed {
		if stale[groups[removal.Index]] {
			continue
		}
		e := &p.rows[removal.Index].entry
		stats.BytesSaved += len(e.Memory)
		if removal.MergedInto == uuid.Nil {
			stats.Pruned++
		} else {
			stats.Merged++
			rest.plan.Merged[e.ID] = removal.MergedInto
		}
	}
	stats.EntriesBefore = stats.EntriesAfter + stats.Pruned + stats.Merged
	again := make(map[int64]bool) // rows of the plan that are planned anew
	for i := range p.rows {
		if stale[groups[i]] {
			again[p.rows[i].rowID] = true
		}
	}
	rest.departures = slices.DeleteFunc(p.departures, func(d departure) bool { return again[d.row.rowID] })
	rest.decays = slices.DeleteFunc(p.decays, func(d decay) bool { return again[d.row.rowID] })
	rest.moves = slices.DeleteFunc(p.moves, func(m *memory.Survivor) bool { return again[p.rows[m.Index].rowID] })
	return rest, slices.AppendSeq(anew, maps.Keys(again)), nil
}

// countWithin counts those of the rows that are there, in the scope.
func (t *tx) countWithin(scope memory.Scope, rowIDs []int64) (n int, err error) {
	list, err := json.Marshal(rowIDs)
	if err != nil {
		return 0, err
	}
	c := where("e.row_id IN (SELECT value FROM json_each(?))", string(list)).and(within(scope))
	err = t.get(&n, `SELECT count(*) FROM entry AS e `+c.sql(), c.args...)
	return n, err
}

// outdated returns the rows that were changed, stored or removed since the plan
// was made, or have another access stamp.
func (w *writeTx) outdated(p passPlan) (map[int64]bool, error) {
	changed := make(map[int64]bool)
	now, err := w.standing()
	if err != nil {
		return nil, err
	}
	var rowIDs []int64
	if p.standing.Version < now.ChangesSince {
		// Which rows have changed is not known any more; it may be any.
		for i := range p.rows {
			changed[p.rows[i].rowID] = true
		}
		err = w.collect(&rowIDs, `SELECT row_id FROM entry`)
	} else {
		rowIDs, err = w.changedSince(p.standing.Version)
	}
	if err != nil {
		return nil, err
	}
	// What this transaction has put off until now is not in the log yet.
	for _, id := range append(rowIDs, w.changed...) {
		changed[id] = true
	}
	stamps, err := w.stamps()
	if err != nil {
		return nil, err
	}
	if !maps.EqualFunc(stamps, p.stamps, time.Time.Equal) {
		for i := range p.rows {
			if id := p.rows[i].entry.ID; !stamps[id].Equal(p.stamps[id]) {
				changed[p.rows[i].rowID] = true
			}
		}
	}
	return changed, nil
}

// groupsOf returns the group of every row of a plan, by the id of the entry
// that is kept of it.
func groupsOf(p passPlan) []uuid.UUID {
	groups := make([]uuid.UUID, len(p.rows))
	for i := range p.rows {
		groups[i] = p.rows[i].entry.ID
	}
	for _, removal := range p.plan.Removed {
		if removal.MergedInto != uuid.Nil {
			groups[removal.Index] = removal.MergedInto
		}
	}
	return groups
}

// staleByLinks adds the groups whose links follow a merge of a stale group.
func staleByLinks(p passPlan, groups []uuid.UUID, stale map[uuid.UUID]bool) {
	for grown := true; grown; {
		grown = false
		undone := make(map[uuid.UUID]bool) // entries that are not merged after all
		for i := range p.rows {
			if id := p.rows[i].entry.ID; stale[groups[i]] && groups[i] != id {
				undone[id] = true
			}
		}
		for i := range p.rows {
			if !stale[groups[i]] && slices.ContainsFunc(p.rows[i].entry.RelatedIDs, func(id uuid.UUID) bool { return undone[id] }) {
				stale[groups[i]] = true
				grown = true
			}
		}
	}
}

// planAgain plans a pass over some rows as they are now.
func (s *Store) planAgain(t *tx, now time.Time, rowIDs []int64) (passPlan, error) {
	if len(rowIDs) == 0 {
		return passPlan{plan: new(memory.Plan), aside: make(map[int64]bool)}, nil
	}
	rows, err := t.rowsByID(rowIDs, within(s.scope))
	if err != nil {
		return passPlan{}, err
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.position, b.position) })
	return s.planFor(t, now, rows, backlog{})
}
