package sqlitestore

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// among are entries of which, in the order of their ids, 0 to 2 and 3 to 4 are
// near duplicates, 5 is to be pruned, 6 is alone and links to 1 and 4.
func among() []memory.Entry {
	texts := []string{
		"the tests need a running database", "the tests need a running database now", "the tests need a running database here",
		"deploy on friday after lunch", "deploy on friday after lunch only",
		"nobody needs this", "linked",
	}
	entries := make([]memory.Entry, len(texts))
	for i, text := range texts {
		e := memory.NewEntry(memory.Fact, text)
		e.ID = uuid.UUID{15: byte(i + 1)}
		e.CreatedAt = time.Now().Add(-time.Hour)
		entries[i] = e
	}
	entries[0].Keywords = []string{"linked"} // so that 5 has the latest words
	entries[5].Relevance = 0.01
	entries[6].RelatedIDs = []uuid.UUID{entries[1].ID, entries[4].ID}
	return entries
}

// TestConsolidateWhileOthersWrite has another handle write between the moment
// for which a pass is planned and the moment in which it is carried out. What
// was written must stand, nothing may be lost, and no link may lead to what
// was merged away.
func TestConsolidateWhileOthersWrite(t *testing.T) {
	entries := among()
	added := memory.NewEntry(memory.Fact, "the tests need a running database too")
	same := memory.NewEntry(memory.Fact, "anybody else?")
	same.Keywords = []string{"nobody"}
	other := memory.NewEntry(memory.Fact, "quite another matter altogether")
	for name, c := range map[string]struct {
		write func(ctx context.Context, s *Store) error
		// recall, in place of write, is asked by the handle that consolidates.
		recall string
		// left is what the texts of the store may be afterwards, in order.
		left []string
	}{
		"nothing": {
			write: func(context.Context, *Store) error { return nil },
			left:  []string{entries[0].Memory, entries[3].Memory, "linked"},
		},
		"store": {
			write: func(ctx context.Context, s *Store) error { return s.Store(ctx, added) },
			left:  []string{entries[0].Memory, entries[3].Memory, "linked", added.Memory},
		},
		"update the first of a cluster": {
			write: func(ctx context.Context, s *Store) error {
				_, err := s.Update(ctx, entries[0].ID, memory.Change{Memory: new("something else")})
				return err
			},
			left: []string{"something else", entries[1].Memory, entries[3].Memory, "linked"},
		},
		"forget the first of a cluster": {
			write: func(ctx context.Context, s *Store) error { _, err := s.Forget(ctx, entries[0].ID); return err },
			left:  []string{entries[1].Memory, entries[3].Memory, "linked"},
		},
		"forget one that is linked": {
			write: func(ctx context.Context, s *Store) error { _, err := s.Forget(ctx, entries[4].ID); return err },
			left:  []string{entries[0].Memory, entries[3].Memory, "linked"},
		},
		"recall another of a cluster": {
			write: func(ctx context.Context, s *Store) error {
				_, err := s.Recall(ctx, memory.Query{Text: "here", Limit: 1})
				return err
			},
			left: []string{entries[2].Memory, entries[3].Memory, "linked"}, // the best is kept
		},
		"link to one that is to be merged": {
			write: func(ctx context.Context, s *Store) error { return s.Link(ctx, entries[2].ID, entries[6].ID) },
			left:  []string{entries[0].Memory, entries[3].Memory, "linked"},
		},
		"make what is to be pruned worth keeping": {
			write: func(ctx context.Context, s *Store) error {
				e := entries[5]
				e.Relevance = 1
				return s.Store(ctx, e)
			},
			left: []string{entries[0].Memory, entries[3].Memory, "linked", entries[5].Memory},
		},
		"store the words of what is to be pruned": {
			write: func(ctx context.Context, s *Store) error { return s.Store(ctx, same) },
			left:  []string{entries[0].Memory, entries[3].Memory, "linked", same.Memory},
		},
		// Others take over the ids of the words, which get new ones.
		"forget what is to be pruned, and store it again": {
			write: func(ctx context.Context, s *Store) error {
				if _, err := s.Forget(ctx, entries[5].ID); err != nil {
					return err
				}
				_, err := s.StoreBatch(ctx, []memory.Entry{other, entries[5]}, memory.Fail)
				return err
			},
			left: []string{entries[0].Memory, entries[3].Memory, "linked", other.Memory},
		},
		"recall what stays alone": {recall: "linked", left: []string{entries[0].Memory, entries[4].Memory, "linked"}}, // and what it is linked to
		"recall what is merged":   {recall: "deploy", left: []string{entries[0].Memory, entries[3].Memory, "linked"}},
		"change everything": {
			write: func(ctx context.Context, s *Store) error {
				for _, e := range entries {
					if _, err := s.Update(ctx, e.ID, memory.Change{Importance: new(uint8(9))}); err != nil {
						return err
					}
				}
				return nil
			},
			left: []string{entries[0].Memory, entries[3].Memory, "linked"},
		},
		"consolidate": {
			write: func(ctx context.Context, s *Store) error { _, err := s.Consolidate(ctx); return err },
			left:  []string{entries[0].Memory, entries[3].Memory, "linked"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			s := mustOpen(t, path, Options{}, memory.WithEntries(entries...))
			elsewhere := mustOpen(t, path, Options{})
			done := false
			s.fault.set(func(query string) error {
				if done || !strings.Contains(query, "access_stamp") {
					return nil
				}
				done = true // the plan's snapshot is open, its lock not taken
				if c.recall != "" {
					// The lock is taken, so that the accesses are counted later.
					return elsewhere.write(t.Context(), func(*writeTx) error {
						found, err := s.Recall(t.Context(), memory.Query{Text: c.recall})
						if err == nil && !found.Deferred {
							t.Error("the recall was not put off")
						}
						return err
					})
				}
				return c.write(t.Context(), elsewhere)
			})
			stats, err := s.Consolidate(t.Context())
			s.fault.set(nil)
			if err != nil || !done {
				t.Fatalf("consolidate: %v; the other has written: %v", err, done)
			}
			var left []string
			there := make(map[uuid.UUID]bool)
			var links []uuid.UUID
			for e, err := range s.Entries(t.Context(), memory.Selection{}) {
				if err != nil {
					t.Fatal(err)
				}
				left = append(left, e.Memory)
				there[e.ID] = true
				links = append(links, e.RelatedIDs...)
			}
			if got, want := strings.Join(left, "\n"), strings.Join(c.left, "\n"); got != want {
				t.Errorf("left are\n%s\nwant\n%s", got, want)
			}
			if stats.EntriesAfter != len(left) || stats.EntriesBefore-stats.Merged-stats.Pruned != len(left) {
				t.Errorf("%+v, and %d are left", stats, len(left))
			}
			archived, err := s.Archive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			merged := make(map[uuid.UUID]bool)
			for _, a := range archived {
				there[a.Entry.ID] = true
				merged[a.Entry.ID] = a.Reason == ReasonMerged
			}
			for _, id := range links {
				if merged[id] {
					t.Errorf("a link leads to %s, which was merged", id)
				}
			}
			for _, e := range entries {
				if !there[e.ID] && !strings.HasPrefix(name, "forget") {
					t.Errorf("%q is lost", e.Memory)
				}
			}
			problems, err := s.Check(t.Context())
			if len(problems) > 0 || err != nil {
				t.Errorf("the database is not sound: %v, %v", problems, err)
			}
		})
	}
}
