package memorytest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var handleRules = []rule{
	{"CancelledContext", "A call whose context has ended fails with the context's error and changes nothing.", func(t *trial) {
		s := t.with(entry(1, "one", age(time.Hour)), entry(2, "two"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for name, call := range everyCall(s) {
			t.refused(name, call(ctx), context.Canceled)
		}
		s.holds(entry(1, "one", age(time.Hour)), entry(2, "two"))
		s.put(entry(3, "a write afterwards"))
		s.consolidate()
		t.same("access counts", s.accessCounts(), []uint64{0, 0, 0})
	}},
	{"Closed", "A closed store gives ErrClosed for every call, through every handle.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"))
		handle := s.in(memory.Scope{Namespace: "a"})
		s.must("Close", s.Close())
		for name, call := range everyCall(s) {
			t.refused(name, call(t.Context()), memory.ErrClosed)
		}
		for name, call := range everyCall(handle) {
			t.refused(name+" through a scoped handle", call(t.Context()), memory.ErrClosed)
		}
	}},
	{"CallersOwnWhatTheyGet", "Entries that go in are copied, entries that come out belong to the caller.", func(t *trial) {
		s := t.with()
		given := everyField(1)
		given.Confidentiality = memory.Public
		want := line(given)
		s.put(given)
		scribble(&given)
		change := memory.Change{Attributes: new(map[string]string{"k": "v"}), Tags: new([]string{"t"})}
		for _, use := range []struct {
			name string
			call func() memory.Entry
		}{
			{"Get", func() memory.Entry { return s.get(1).Entry }},
			{"Entries", func() memory.Entry { return s.list()[0] }},
			{"Retrieve", func() memory.Entry { return s.retrieve("quoted", 1)[0].Entry }},
			{"Recall", func() memory.Entry { return s.recall(memory.Query{Text: "quoted"})[0].Entry }},
			{"Update", func() memory.Entry { return s.update(1, change).Entry }},
		} {
			got := use.call()
			if use.name == "Recall" || use.name == "Update" {
				want = line(got)
			}
			t.same("what came from "+use.name, line(got), want)
			scribble(&got)
			if use.name == "Update" {
				(*change.Attributes)["k"], (*change.Tags)[0] = "scribbled", "scribbled"
			}
			t.same("the entry after the caller changed what came from "+use.name, line(s.get(1).Entry), want)
		}
	}},
	{"ConcurrentUse", "All methods may run at the same time; what was acknowledged is there afterwards.", func(t *trial) {
		const workers, rounds = 6, 8
		s := t.with(entry(1, "common words", pinned), entry(2, "other common words", pinned))
		var wait sync.WaitGroup
		for w := range workers {
			wait.Go(func() {
				for r := range rounds {
					mine := entry(100+w*rounds+r, fmt.Sprintf("common words of %d in %d", w, r), pinned)
					if err := s.Store(t.Context(), mine); err != nil {
						t.Errorf("Store: %v", err)
					}
					for name, call := range everyRead(s) {
						if err := call(t.Context()); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
					if _, err := s.Consolidate(t.Context()); err != nil {
						t.Errorf("Consolidate: %v", err)
					}
				}
			})
		}
		wait.Wait()
		stored := make(map[string]int)
		for _, e := range s.list() {
			stored[e.ID.String()]++
		}
		for w := range workers {
			for r := range rounds {
				t.same("how often an acknowledged entry is listed", stored[id(100+w*rounds+r).String()], 1)
			}
		}
		t.same("the number of entries", len(stored), 2+workers*rounds)
	}},
}

// everyCall has one call of each method of a backend that can fail.
func everyCall(s memory.Backend) map[string]func(context.Context) error {
	calls := everyRead(s)
	for name, call := range map[string]func(context.Context) error{
		"Store": func(ctx context.Context) error { return s.Store(ctx, entry(9, "new", agent("a"))) },
		"StoreBatch": func(ctx context.Context) error {
			_, err := s.StoreBatch(ctx, []memory.Entry{entry(9, "new", agent("a"))}, memory.Replace)
			return err
		},
		"Consolidate": func(ctx context.Context) error {
			_, err := s.Consolidate(ctx)
			return err
		},
		"Update": func(ctx context.Context) error {
			_, err := s.Update(ctx, id(1), memory.Change{Summary: new("changed")})
			return err
		},
		"Forget": func(ctx context.Context) error {
			_, err := s.Forget(ctx, id(1))
			return err
		},
		"Link": func(ctx context.Context) error { return s.Link(ctx, id(1), id(2)) },
		"Prune": func(ctx context.Context) error {
			_, err := s.Prune(ctx, 2, 0, "")
			return err
		},
		"BindEmbeddingModel": func(ctx context.Context) error { return s.BindEmbeddingModel(ctx, flat) },
		"SetEmbeddings": func(ctx context.Context) error {
			_, err := s.SetEmbeddings(ctx, flat, nil)
			return err
		},
		"DropEmbeddings": func(ctx context.Context) error { return s.DropEmbeddings(ctx) },
	} {
		calls[name] = call
	}
	return calls
}

// everyRead has those calls that leave the content of a store as it is, but
// for the book-keeping of accesses. They find entries 1 and 2.
func everyRead(s memory.Backend) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Retrieve": func(ctx context.Context) error {
			_, err := s.Retrieve(ctx, "one", 5)
			return err
		},
		"Recall": func(ctx context.Context) error {
			_, err := s.Recall(ctx, memory.Query{Text: "one", Limit: 3})
			return err
		},
		"Len": func(ctx context.Context) error {
			_, err := s.Len(ctx)
			return err
		},
		"Get": func(ctx context.Context) error {
			_, err := s.Get(ctx, id(1))
			return err
		},
		"Resolve": func(ctx context.Context) error {
			_, err := s.Resolve(ctx, id(2).String())
			return err
		},
		"PreviewConsolidation": func(ctx context.Context) error {
			_, err := s.PreviewConsolidation(ctx)
			return err
		},
		"EmbeddingModel": func(ctx context.Context) error {
			_, err := s.EmbeddingModel(ctx)
			return err
		},
		"Unembedded": func(ctx context.Context) error {
			_, err := s.Unembedded(ctx)
			return err
		},
		"Entries": func(ctx context.Context) error {
			for _, err := range s.Entries(ctx, memory.Selection{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// scribble changes everything that an entry refers to.
func scribble(e *memory.Entry) {
	e.Tags[0] = "scribbled"
	if len(e.Keywords) > 0 {
		e.Keywords[0] = "scribbled"
	}
	if len(e.Embedding) > 0 {
		e.Embedding[0] = 42
	}
	if len(e.RelatedIDs) > 0 {
		e.RelatedIDs[0] = id(666)
	}
	if len(e.SourceIDs) > 0 {
		e.SourceIDs[0] = id(666)
	}
	*e.LastAccessed = e.LastAccessed.Add(time.Hour)
	if e.LastDecayed != nil {
		*e.LastDecayed = e.LastDecayed.Add(time.Hour)
	}
	e.Attributes["scribbled"] = "yes"
}
