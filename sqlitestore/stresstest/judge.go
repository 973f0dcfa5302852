package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// verdict collects what is wrong.
type verdict struct {
	*history
	faults []string
}

func (v *verdict) fault(text string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(text, args...))
}

// judge opens the database after the play and compares it with the history.
func judge(ctx context.Context, database string, h *history) (faults []string, err error) {
	store, err := sqlitestore.Open(ctx, database, sqlitestore.Options{MustExist: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	v := &verdict{history: h}
	if err := v.sound(ctx, store); err != nil {
		return nil, err
	}
	end, err := read(ctx, store)
	if err != nil {
		return nil, err
	}
	v.failures()
	v.contents(end)
	v.counter(end)
	v.sights()
	v.links(end)

	// What was retrieved counts with the next pass.
	if _, err := store.Consolidate(ctx); err != nil {
		return nil, err
	}
	if end, err = read(ctx, store); err != nil {
		return nil, err
	}
	v.accesses(end)
	return v.faults, v.sound(ctx, store)
}

// sound has the store check itself.
func (v *verdict) sound(ctx context.Context, store *sqlitestore.Store) error {
	problems, err := store.Check(ctx)
	for _, p := range problems {
		v.fault("the database is not sound: %s", p)
	}
	return err
}

// state is what the database holds in the end.
type state struct {
	entries  map[uuid.UUID]memory.Entry
	archived map[uuid.UUID]memory.Entry // the latest of each id
}

func read(ctx context.Context, store *sqlitestore.Store) (state, error) {
	s := state{make(map[uuid.UUID]memory.Entry), make(map[uuid.UUID]memory.Entry)}
	for e, err := range store.Entries(ctx, memory.Selection{}) {
		if err != nil {
			return s, err
		}
		s.entries[e.ID] = e
	}
	archive, err := store.Archive(ctx)
	for _, a := range slices.Backward(archive) {
		s.archived[a.Entry.ID] = a.Entry
	}
	return s, err
}

// failures looks for calls that failed for no good reason.
func (v *verdict) failures() {
	for _, c := range v.calls {
		if c.Outcome == failed {
			v.fault("%s of process %d failed: %s", c.Kind, c.Process, c.Error)
		}
	}
}

// contents holds every entry, present or archived or gone, against the writes
// of its id.
func (v *verdict) contents(end state) {
	writes := v.about()
	for n := range pooled {
		id := poolID(n)
		e, present := end.entries[id]
		if !present {
			e, present = end.archived[id]
		}
		if present {
			v.content(&e, writes[id])
		} else if !mayBeGone(writes[id]) {
			v.fault("entry %s is lost: it was acknowledged, and not forgotten since", id)
		}
		delete(end.entries, id)
	}
	if n := len(end.entries) - steadies - 1; n != 0 {
		v.fault("there are %d entries too many", n)
	}
}

// content requires that all of an entry is from one write, which no later one
// has superseded.
func (v *verdict) content(e *memory.Entry, writes []*call) {
	if err := whole(e); err != nil {
		v.fault("%v", err)
		return
	}
	s, _ := stampOf(e.Memory)
	by := v.byKey[[2]int{s.Process, s.Call}]
	if by == nil || !slices.Contains(writes, by) {
		v.fault("entry %s holds what was not to be written: %.80q", e.ID, e.Memory)
		return
	}
	for _, later := range writes {
		if later.certain() && later.begin > by.end {
			v.fault("entry %s holds %s, though a later %s was acknowledged to process %d (call %d)",
				e.ID, s, later.Kind, later.Process, later.Call)
			return
		}
	}
}

// mayBeGone reports whether the writes allow that there is no entry: none was
// acknowledged, or none after it was, perhaps, forgotten.
func mayBeGone(writes []*call) bool {
	certain := func(after int) bool {
		return slices.ContainsFunc(writes, func(c *call) bool {
			return c.Kind != forgetting && c.certain() && c.begin > after
		})
	}
	return !certain(0) || slices.ContainsFunc(writes, func(c *call) bool {
		return c.Kind == forgetting && !certain(c.end)
	})
}

// counter makes sure that no increment was lost, and none came twice.
func (v *verdict) counter(end state) {
	acknowledged, possible := 0, 0
	for _, c := range v.calls {
		if c.Kind == counting && c.possible() {
			possible++
			if c.certain() {
				acknowledged++
			}
		}
	}
	text := end.entries[counterID].Memory
	for n := acknowledged; n <= possible; n++ {
		if text == counterText(n) {
			return
		}
	}
	v.fault("the counter says %q after %d to %d increments", text, acknowledged, possible)
}

// sights makes sure that queries saw what was acknowledged before they began:
// of the counter, whichever process had counted, and of what their own process
// had stored.
func (v *verdict) sights() {
	writes := v.about()
	for _, q := range v.calls {
		if !q.certain() || q.Kind != retrieving && q.Kind != recalling {
			continue
		}
		if q.Counted != nil {
			if least := v.countedBefore(q.begin); *q.Counted < least {
				v.fault("%s of process %d (call %d) saw the counter at %d, which had been at %d",
					q.Kind, q.Process, q.Call, *q.Counted, least)
			}
		}
		stored := v.byKey[[2]int{q.Process, q.Sought}]
		if q.Sought == 0 || q.Found || stored == nil || !stored.certain() {
			continue
		}
		if !v.mayHaveGone(stored, q.end, writes[q.IDs[0]]) {
			v.fault("%s of process %d (call %d) did not see entry %s, which it had stored", q.Kind, q.Process, q.Call, q.IDs[0])
		}
	}
}

// countedBefore is the number to which the counter had come before a line.
func (v *verdict) countedBefore(line int) (most int) {
	for _, c := range v.calls {
		if c.Kind == counting && c.certain() && c.end < line {
			most = max(most, *c.Counted)
		}
	}
	return most
}

// mayHaveGone reports whether something else may have replaced or removed
// what was stored before the line: another write of its id, or a pass over all
// entries.
func (v *verdict) mayHaveGone(stored *call, line int, writes []*call) bool {
	meanwhile := func(c *call) bool {
		return c != stored && c.possible() && c.begin < line && c.end > stored.begin
	}
	return slices.ContainsFunc(writes, meanwhile) || slices.ContainsFunc(v.calls, func(c *call) bool {
		return (c.Kind == consolidating || c.Kind == pruning) && meanwhile(c)
	})
}

// links makes sure that links which were acknowledged are there, both ways.
func (v *verdict) links(end state) {
	for _, c := range v.calls {
		if c.Kind != linking || !c.certain() {
			continue
		}
		a, b := end.entries[c.IDs[0]], end.entries[c.IDs[1]]
		if !a.Pinned || !b.Pinned {
			continue // replaced, merged or forgotten since, perhaps
		}
		if !slices.Contains(a.RelatedIDs, b.ID) || !slices.Contains(b.RelatedIDs, a.ID) {
			v.fault("the link between %s and %s is lost", a.ID, b.ID)
		}
	}
}

// accesses makes sure that no access is lost of a process that has closed its
// store, and that none is counted twice. What a killed process had not
// written yet may be gone.
func (v *verdict) accesses(end state) {
	closed := v.closed()
	var least, most [steadies]uint64
	var latest [steadies]int64
	for _, c := range v.calls {
		switch c.Kind {
		case consolidating:
			for i := range steadies {
				most[i]++ // by all that was retrieved since the pass before
			}
		case retrieving, recalling:
			for i := range steadies {
				hit := slices.Contains(c.Hits, steadyID(i))
				if c.Kind == recalling && (hit || c.Outcome == "") {
					most[i]++
				}
				if hit && closed[c.Process] {
					latest[i] = max(latest[i], c.At)
					if c.Kind == recalling {
						least[i]++
					}
				}
			}
		}
	}
	for i := range steadies {
		e := end.entries[steadyID(i)]
		most[i]++ // by the pass of the judge
		if e.AccessCount < least[i] || e.AccessCount > most[i] {
			v.fault("steady entry %d was accessed %d times, want %d to %d", i, e.AccessCount, least[i], most[i])
		}
		if latest[i] != 0 && (e.LastAccessed == nil || e.LastAccessed.UnixNano() < latest[i]) {
			v.fault("steady entry %d was last accessed at %v, want %v or later", i, e.LastAccessed, time.Unix(0, latest[i]).UTC())
		}
	}
}
