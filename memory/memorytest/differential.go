package memorytest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/memory"
)

// Differential runs random histories through two or more backends side by
// side, by one clock, and compares every answer and what they hold in the
// end, to the last bit; only [memory.Record.Version] is theirs to choose. It
// expects stores that rank with package memory's own functions.
//
// A failure prints the shortest history found that shows it and the seed. The
// flags -rapid.checks and -rapid.steps set the number of histories and their
// length. Stores are emptied and used again from one history to the next.
func Differential(t testing.TB, reference Open, others ...Open) {
	opens := append([]Open{reference}, others...)
	roomy := &lineup{t: t, opens: opens}
	tight := &lineup{t: t, opens: opens, options: []memory.Option{
		memory.WithCapacity(5),
		memory.WithRestricted(),
		memory.WithConsolidation(memory.Consolidation{Decay: true, HalfLife: 24 * time.Hour, Merge: true, MergeThreshold: 0.3, PruneFloor: 0.1}),
	}}
	rapid.Check(t, func(rt *rapid.T) {
		l := roomy
		if rapid.Bool().Draw(rt, "tight") {
			l = tight
		}
		l.run(rt)
	})
}

// lineup is one store of each backend, all with the same options.
type lineup struct {
	t       testing.TB
	opens   []Open
	options []memory.Option
	clock   *clock
	stores  []memory.Backend // nil if there are none fit for a new history
}

// run draws and runs one history. Stores that did not come through it in
// agreement are not used again, or else the search for a shorter history
// would start from what they disagree about.
func (l *lineup) run(rt *rapid.T) {
	stores := l.stores
	l.stores = nil
	if stores == nil {
		l.clock = newClock()
		for _, open := range l.opens {
			stores = append(stores, open(l.t, append(l.options, memory.WithClock(l.clock.now))...))
		}
	}
	l.clock.set(epoch)
	h := &history{T: rt, ctx: l.t.Context(), clock: l.clock, stores: stores}
	rt.Repeat(h.actions())
	h.conclude()
	h.empty()
	l.stores = stores
}

// history is one run of random calls.
type history struct {
	*rapid.T
	ctx    context.Context
	clock  *clock
	stores []memory.Backend
}

// same makes one call on every store, through a handle of the same scope, and
// compares the answers with that of the first.
func (h *history) same(name string, scope memory.Scope, answer call) {
	h.Helper()
	var want string
	for i, s := range h.stores {
		if scope != (memory.Scope{}) {
			s = s.In(scope)
		}
		got := answer(s)
		if i == 0 {
			want = got
		} else if got != want {
			h.Fatalf("%s: store %d answers differently (-store 0 +store %d):\n%s", name, i, i,
				cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
		}
	}
}

// call is a method called with arguments that were drawn.
type call func(memory.Backend) string

// action makes an action of a function that draws arguments and returns them
// with the call to make.
func (h *history) action(name string, draw func(t *rapid.T) (call, []any)) func(*rapid.T) {
	return func(t *rapid.T) {
		scope := anyScope.Draw(t, "scope")
		call, arguments := draw(t)
		// What rapid prints of a draw has addresses where there are pointers.
		text, err := json.Marshal(append(arguments, scope))
		t.Logf("%s %s %v", name, text, err)
		h.same(name, scope, call)
	}
}

func (h *history) actions() map[string]func(*rapid.T) {
	ctx := h.ctx
	actions := map[string]func(*rapid.T){
		"advance": func(t *rapid.T) {
			h.clock.advance(rapid.SampledFrom([]time.Duration{1, time.Second, time.Hour, 100 * time.Hour, -time.Hour}).Draw(t, "by"))
		},
	}
	for name, draw := range map[string]func(t *rapid.T) (call, []any){
		"Store": func(t *rapid.T) (call, []any) {
			e := anyEntry.Draw(t, "entry")
			return func(s memory.Backend) string { return kind(s.Store(ctx, e)) }, []any{e}
		},
		"StoreBatch": func(t *rapid.T) (call, []any) {
			entries := rapid.SliceOfN(anyEntry, 0, 6).Draw(t, "entries")
			if rapid.IntRange(0, 9).Draw(t, "spoilt") == 0 && len(entries) > 0 {
				entries[len(entries)-1].Memory = "\x00"
			}
			onConflict := rapid.SampledFrom([]memory.OnConflict{memory.Keep, memory.Replace, memory.Replace, memory.Fail}).Draw(t, "on conflict")
			return func(s memory.Backend) string { return answer(s.StoreBatch(ctx, entries, onConflict)) }, []any{entries, onConflict}
		},
		"Retrieve": func(t *rapid.T) (call, []any) {
			q, limit := query.Draw(t, "query"), rapid.IntRange(-1, 8).Draw(t, "limit")
			return func(s memory.Backend) string { return answerRetrieve(ctx, s, q, limit) }, []any{q, limit}
		},
		"Recall": func(t *rapid.T) (call, []any) {
			q := anyQuery.Draw(t, "query")
			return func(s memory.Backend) string { return answerRecall(ctx, s, q) }, []any{q}
		},
		"Get": func(t *rapid.T) (call, []any) {
			id := anyID.Draw(t, "id")
			return func(s memory.Backend) string { return answerRecord(s.Get(ctx, id)) }, []any{id}
		},
		"Update": func(t *rapid.T) (call, []any) {
			id, change := anyID.Draw(t, "id"), anyChange.Draw(t, "change")
			return func(s memory.Backend) string { return answerRecord(s.Update(ctx, id, change)) }, []any{id, change}
		},
		"Update by version": func(t *rapid.T) (call, []any) {
			id, first, second := anyID.Draw(t, "id"), anyChange.Draw(t, "first"), anyChange.Draw(t, "second")
			return func(s memory.Backend) string {
				r, err := s.Get(ctx, id)
				if err != nil {
					return kind(err)
				}
				first, second := first, second
				first.IfVersion, second.IfVersion = r.Version, r.Version
				return answerRecord(s.Update(ctx, id, first)) + "\n" + answerRecord(s.Update(ctx, id, second))
			}, []any{id, first, second}
		},
		"Forget": func(t *rapid.T) (call, []any) {
			id := anyID.Draw(t, "id")
			return func(s memory.Backend) string { return answer(s.Forget(ctx, id)) }, []any{id}
		},
		"Link": func(t *rapid.T) (call, []any) {
			a, b := anyID.Draw(t, "a"), anyID.Draw(t, "b")
			return func(s memory.Backend) string { return kind(s.Link(ctx, a, b)) }, []any{a, b}
		},
		"Prune": func(t *rapid.T) (call, []any) {
			strength, age, prefix := anyStrength.Draw(t, "strength"), anyAge.Draw(t, "age"), anyPrefix.Draw(t, "prefix")
			return func(s memory.Backend) string { return answer(s.Prune(ctx, strength, age, prefix)) }, []any{strength, age, prefix}
		},
		"Consolidate": func(*rapid.T) (call, []any) {
			return func(s memory.Backend) string { return answer(s.Consolidate(ctx)) }, nil
		},
		"PreviewConsolidation": func(*rapid.T) (call, []any) {
			return func(s memory.Backend) string { return answer(s.PreviewConsolidation(ctx)) }, nil
		},
		"Entries": func(t *rapid.T) (call, []any) {
			selection := memory.Selection{Filter: anyFilter.Draw(t, "filter"), After: anyAfter.Draw(t, "after"), Backward: rapid.Bool().Draw(t, "backward")}
			return func(s memory.Backend) string { return answerEntries(ctx, s, selection) }, []any{selection}
		},
		"Resolve": func(t *rapid.T) (call, []any) {
			name := anyName.Draw(t, "name")
			return func(s memory.Backend) string { return answer(s.Resolve(ctx, name)) }, []any{name}
		},
		"Len": func(*rapid.T) (call, []any) {
			return func(s memory.Backend) string { return answer(s.Len(ctx)) }, nil
		},
	} {
		actions[name] = h.action(name, draw)
	}
	for name, draw := range embeddingActions(ctx) {
		actions[name] = h.action(name, draw)
	}
	// Histories are about stores with something in them, which are asked again
	// between one change and the next.
	actions["Store another"] = actions["Store"]
	actions["StoreBatch of more"] = actions["StoreBatch"]
	actions["Recall again"] = actions["Recall"]
	actions["Recall once more"] = actions["Recall"]
	actions["Retrieve again"] = actions["Retrieve"]
	return actions
}

// conclude compares all that the stores hold, and then what a consolidation
// makes of it: that brings pending access stamps to light.
func (h *history) conclude() {
	everything := func(s memory.Backend) string { return answerEntries(h.ctx, s, memory.Selection{}) }
	h.same("the entries in the end", memory.Scope{}, everything)
	h.same("a last Consolidate", memory.Scope{}, func(s memory.Backend) string { return answer(s.Consolidate(h.ctx)) })
	h.same("the entries after it", memory.Scope{}, everything)
}

// empty forgets everything.
func (h *history) empty() {
	for i, s := range h.stores {
		if err := s.DropEmbeddings(h.ctx); err != nil {
			h.Fatalf("DropEmbeddings of store %d: %v", i, err)
		}
		for e, err := range s.Entries(h.ctx, memory.Selection{}) {
			if err != nil {
				h.Fatalf("Entries of store %d: %v", i, err)
			}
			if found, err := s.Forget(h.ctx, e.ID); err != nil || !found {
				h.Fatalf("Forget of a listed entry of store %d: %t, %v", i, found, err)
			}
		}
		if count, err := s.Len(h.ctx); err != nil || count != 0 {
			h.Fatalf("store %d has %d entries after all were forgotten (%v)", i, count, err)
		}
	}
}
