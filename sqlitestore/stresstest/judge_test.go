package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// TestJudge does a few honest calls and then something behind the back of the
// history, of which the judge must not be deceived.
func TestJudge(t *testing.T) {
	id := poolID(1)
	for name, c := range map[string]struct {
		cheat func(ctx context.Context, s *sqlitestore.Store) error
		want  string // within the faults; none if empty
	}{
		"nothing": {func(context.Context, *sqlitestore.Store) error { return nil }, ""},
		"lost": {func(ctx context.Context, s *sqlitestore.Store) error {
			_, err := s.Forget(ctx, id)
			return err
		}, "is lost"},
		"taken back": {func(ctx context.Context, s *sqlitestore.Store) error {
			return s.Store(ctx, written(stamp{Process: 1, Call: 1}, id))
		}, "though a later update was acknowledged"},
		"half": {func(ctx context.Context, s *sqlitestore.Store) error {
			_, err := s.Update(ctx, id, memory.Change{Summary: new("of another write")})
			return err
		}, "is not what was written"},
		"risen": {func(ctx context.Context, s *sqlitestore.Store) error {
			return s.Store(ctx, written(stamp{Process: 1, Call: 3}, poolID(2)))
		}, "though a later forget was acknowledged"},
		"made up": {func(ctx context.Context, s *sqlitestore.Store) error {
			return s.Store(ctx, written(stamp{Process: 9, Call: 1}, id))
		}, "not to be written"},
		"added": {func(ctx context.Context, s *sqlitestore.Store) error {
			return s.Store(ctx, memory.NewEntry(memory.Fact, "from nowhere"))
		}, "1 entries too many"},
		"counted twice": {func(ctx context.Context, s *sqlitestore.Store) error {
			_, err := s.Update(ctx, counterID, memory.Change{Memory: new(counterText(2))})
			return err
		}, "the counter says"},
		"unlinked": {func(ctx context.Context, s *sqlitestore.Store) error {
			return s.Store(ctx, sceneEntries()[0])
		}, "the link between"},
		"accessed": {func(ctx context.Context, s *sqlitestore.Store) error {
			for range 3 {
				if _, err := s.Recall(ctx, memory.Query{Text: "steady"}); err != nil {
					return err
				}
			}
			return nil
		}, "was accessed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := play{folder: t.TempDir()}
			if err := p.setTheScene(t.Context()); err != nil {
				t.Fatal(err)
			}
			behave(t, &p)
			s, err := sqlitestore.Open(t.Context(), p.database(), sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := c.cheat(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			h, err := readHistory(p.history())
			if err != nil {
				t.Fatal(err)
			}
			faults, err := judge(t.Context(), p.database(), h)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(faults, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("the judge says %q, want %q", got, c.want)
			}
		})
	}
}

// behave is the life of a worker that does one of each. Its store, update and
// forget are the calls 1, 2 and 4.
func behave(t *testing.T, p *play) {
	r, err := newRecorder(p.history())
	if err != nil {
		t.Fatal(err)
	}
	w := &worker{recorder: r, process: 1, rand: rand.New(rand.NewPCG(1, 1))}
	if w.store, err = sqlitestore.Open(t.Context(), p.database(), sqlitestore.Options{}); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	step := func(k kind, do func(*event) error, ids ...uuid.UUID) {
		if err := w.do(k, ids, do); err != nil {
			t.Fatal(err)
		}
	}
	id, other := poolID(1), poolID(2)
	stored := written(w.next(false), id)
	step(storing, func(*event) error { return w.store.Store(ctx, stored) }, id)
	updated := written(w.next(true), id)
	step(updating, func(*event) error {
		_, err := w.store.Update(ctx, id, changeTo(&updated))
		return err
	}, id)
	stored = written(w.next(false), other)
	step(storing, func(*event) error { return w.store.Store(ctx, stored) }, other)
	step(forgetting, func(*event) error {
		_, err := w.store.Forget(ctx, other)
		return err
	}, other)
	step(counting, func(e *event) error { return w.count(ctx, e) }, counterID)
	pair := []uuid.UUID{steadyID(0), steadyID(1)}
	step(linking, func(*event) error { return w.store.Link(ctx, pair[0], pair[1]) }, pair...)
	step(recalling, func(e *event) error { return w.recall(ctx, e) })
	step(retrieving, func(e *event) error { return w.retrieve(ctx, e) })
	step(consolidating, func(*event) error {
		_, err := w.store.Consolidate(ctx)
		return err
	})
	step(closing, func(*event) error { return w.store.Close() })
}

// TestJudgeSights shows the judge what queries saw.
func TestJudgeSights(t *testing.T) {
	id := poolID(1)
	for name, c := range map[string]struct {
		history []call
		want    string // within the only fault; none if empty
	}{
		"the counter as it was": {[]call{
			{event{Call: 1, Kind: counting, Outcome: done, Counted: new(1)}, 1, 2},
			{event{Call: 2, Kind: counting, Outcome: done, Counted: new(2)}, 3, 6},
			{event{Call: 3, Kind: retrieving, Outcome: done, Counted: new(1)}, 4, 5},
		}, ""},
		"an old counter": {[]call{
			{event{Call: 1, Kind: counting, Outcome: done, Counted: new(1)}, 1, 2},
			{event{Call: 2, Kind: recalling, Outcome: done, Counted: new(0)}, 3, 4},
		}, "saw the counter at 0, which had been at 1"},
		"missing": {[]call{
			{event{Call: 1, Kind: storing, Outcome: done, IDs: []uuid.UUID{id}}, 1, 2},
			{event{Call: 2, Kind: recalling, Outcome: done, IDs: []uuid.UUID{id}, Sought: 1}, 3, 4},
		}, "did not see entry"},
		"perhaps replaced": {[]call{
			{event{Call: 1, Kind: storing, Outcome: done, IDs: []uuid.UUID{id}}, 1, 2},
			{event{Call: 2, Kind: recalling, Outcome: done, IDs: []uuid.UUID{id}, Sought: 1}, 4, 5},
			{event{Process: 2, Call: 1, Kind: storing, IDs: []uuid.UUID{id}}, 3, never},
		}, ""},
		"perhaps merged": {[]call{
			{event{Call: 1, Kind: storing, Outcome: done, IDs: []uuid.UUID{id}}, 2, 3},
			{event{Call: 2, Kind: recalling, Outcome: done, IDs: []uuid.UUID{id}, Sought: 1}, 4, 6},
			{event{Process: 2, Call: 1, Kind: consolidating, Outcome: done}, 1, 5},
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := verdict{history: &history{byKey: make(map[[2]int]*call)}}
			for i := range c.history {
				one := &c.history[i]
				v.calls = append(v.calls, one)
				v.byKey[[2]int{one.Process, one.Call}] = one
			}
			v.sights()
			got := strings.Join(v.faults, "\n")
			if c.want == "" && got != "" || len(v.faults) > 1 || !strings.Contains(got, c.want) {
				t.Errorf("the judge says %q, want %q", got, c.want)
			}
		})
	}
}

// TestHistoryTorn reads a history into which a process has died.
func TestHistoryTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	r, err := newRecorder(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.record(event{Process: 1, Call: 1, Kind: storing}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(mustRead(t, path), "\n{\"process\":2,\"ca"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.record(event{Process: 1, Call: 1, Kind: storing, Outcome: done}); err != nil {
		t.Fatal(err)
	}
	h, err := readHistory(path)
	if err != nil || len(h.calls) != 1 || !h.calls[0].certain() || h.calls[0].end == never {
		t.Errorf("read as %+v and %v, want one call that is done", h.calls, err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
