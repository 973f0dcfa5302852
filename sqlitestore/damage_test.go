package sqlitestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// TestDamageStaysInSight damages an entry and then changes it in every way
// that keeps something of it: none may give it a checksum that fits.
func TestDamageStaysInSight(t *testing.T) {
	const damaged = 1 // the fixture
	id := fixture(damaged).ID
	// beside consolidates with a double of that relevance.
	beside := func(relevance float32) func(context.Context, *Store) error {
		return func(ctx context.Context, s *Store) error {
			double := fixture(damaged)
			double.ID, double.Relevance = fixture(9).ID, relevance
			if err := s.Store(ctx, double); err != nil {
				return err
			}
			stats, err := s.Consolidate(ctx)
			if err != nil {
				return err
			}
			if n, err := s.Len(ctx); stats.EntriesBefore != 3 || stats.EntriesAfter != n || err != nil {
				return fmt.Errorf("the pass gave %+v, and there are %d (%v)", stats, n, err)
			}
			if _, err := s.Get(ctx, id); err != nil {
				return fmt.Errorf("what is damaged was merged: %w", err)
			}
			_, err = s.PurgeArchive(ctx, 0)
			return err
		}
	}
	evict := func(ctx context.Context, s *Store) error {
		s.settings.Capacity = 1
		defer func() { s.settings.Capacity = 0 }()
		return s.Store(ctx, fixture(7))
	}
	operations := map[string]func(context.Context, *Store) error{
		"Recall": func(ctx context.Context, s *Store) error {
			_, err := s.Recall(ctx, memory.Query{Text: "vault"})
			return err
		},
		"Update of the text": func(ctx context.Context, s *Store) error {
			_, err := s.Update(ctx, id, memory.Change{Memory: new("another text")})
			return err
		},
		"Link": func(ctx context.Context, s *Store) error { return s.Link(ctx, id, fixture(4).ID) },
		"Prune": func(ctx context.Context, s *Store) error {
			n, err := s.Prune(ctx, 1, time.Hour, "")
			if n != 1 {
				err = fmt.Errorf("%d were pruned, want the other alone: %w", n, err)
			}
			return err
		},
		"eviction": evict,
		"eviction and Restore": func(ctx context.Context, s *Store) error {
			if err := evict(ctx, s); err != nil {
				return err
			}
			_, err := s.Restore(ctx, id)
			return err
		},
		"Consolidate, nothing to do": func(ctx context.Context, s *Store) error {
			s.settings.Consolidation = memory.Consolidation{}
			_, err := s.Consolidate(ctx)
			return err
		},
		"Consolidate": func(ctx context.Context, s *Store) error {
			_, err := s.Consolidate(ctx)
			return err
		},
		"Consolidate, as the one that is merged": beside(1),
		"Consolidate, as the one that is kept":   beside(0.01),
		"SetEmbeddings": func(ctx context.Context, s *Store) error {
			record, err := s.Get(ctx, id)
			if err != nil {
				return err
			}
			_, err = s.SetEmbeddings(ctx, fixtureModel, []memory.Embedded{{ID: id, Version: record.Version, Vector: []float32{7, 7}}})
			return err
		},
		"DropEmbeddings": func(ctx context.Context, s *Store) error { return s.DropEmbeddings(ctx) },
		"Retrieve, and what it puts off": func(ctx context.Context, s *Store) error {
			if _, err := s.Retrieve(ctx, "vault", 10); err != nil {
				return err
			}
			_, err := s.Consolidate(ctx)
			return err
		},
	}
	flips := map[string]string{
		"content": `UPDATE entry SET summary = summary || 'x' WHERE id = x'%x'`,
		"state": `UPDATE entry_state SET access_count = access_count + 64
		          WHERE row_id = (SELECT row_id FROM entry WHERE id = x'%x')`,
	}
	for what, flip := range flips {
		for name, operate := range operations {
			t.Run(what+", "+name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "memory.db")
				s := mustOpen(t, path, Options{},
					memory.WithClock(func() time.Time { return fixtureTime.Add(48 * time.Hour) }),
					memory.WithEntries(fixture(damaged), fixture(4)))
				mustExec(t, path, fmt.Sprintf(flip, id[:]))
				if err := operate(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				problems, err := s.Check(t.Context())
				if err != nil || len(problems) == 0 {
					t.Errorf("the check finds %v, %v; want the damage that was done", problems, err)
				}
				for _, problem := range problems {
					if problem.Kind != Damage || problem.Subject == "entry" {
						t.Errorf("the check finds %v, which is not what was done", problem)
					}
				}
			})
		}
	}
}

// TestUnreadable has rows that hold what no entry can have: the error says
// which, in which file, and what to do, and the others stay within reach.
func TestUnreadable(t *testing.T) {
	for name, change := range map[string]string{
		"tags":      `UPDATE entry SET tags = 'none' WHERE row_id = 1`,
		"embedding": `INSERT OR REPLACE INTO embedding VALUES (1, x'00')`,
		"count":     `UPDATE entry_state SET access_count = -1 WHERE row_id = 1`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			s := mustOpen(t, path, Options{}, memory.WithEntries(fixture(1), fixture(2)))
			mustExec(t, path, change)
			_, err := s.Get(t.Context(), fixture(1).ID)
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), fixture(1).ID.String()) || !strings.Contains(err.Error(), "doctor") {
				t.Errorf("Get gave %v", err)
			}
			if _, err := s.Get(t.Context(), fixture(2).ID); err != nil {
				t.Errorf("of the other: %v", err)
			}
		})
	}
}

// TestEntriesWarn lists an entry that is damaged but can be read.
func TestEntriesWarn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var log bytes.Buffer
	s := mustOpen(t, path, Options{}, memory.WithEntries(fixture(1), fixture(2)), memory.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	mustExec(t, path, `UPDATE entry SET summary = summary || 'x' WHERE row_id = 2`)
	for _, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := log.String(); strings.Count(got, "damaged") != 1 || !strings.Contains(got, fixture(2).ID.String()) {
		t.Errorf("the log is %q, want a warning of the second entry", got)
	}
}

func TestUnreadableArchive(t *testing.T) {
	s, _ := openArchiving(t)
	mustExec(t, s.path, `UPDATE archive SET entry = '{' WHERE reason = 'pruned'`)
	mustArchive(t, s, fixture(3).ID)
	if _, err := s.Restore(t.Context(), fixture(6).ID); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Restore of the unreadable one: %v, want ErrCorrupt", err)
	}
	if problems, err := s.Check(t.Context()); len(problems) != 1 || problems[0].Kind != Damage || err != nil {
		t.Errorf("the check finds %v, %v; want the one that is damaged", problems, err)
	}
	if n, err := s.PurgeArchive(t.Context(), 0); n != 2 || err != nil {
		t.Errorf("the purge took %d, %v; want both", n, err)
	}
}

// TestPassBesideDamagedText consolidates where a byte of a text was changed, so
// that its postings have a word that it has no more. The word stays in the
// vocabulary: its id must not become that of another, which the damaged entry
// would then be found by.
func TestPassBesideDamagedText(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpen(t, path, Options{MirrorBytes: -1})
	weak := memory.NewEntry(memory.Fact, "uniqueword")
	weak.Relevance = 0.01
	for _, e := range []memory.Entry{memory.NewEntry(memory.Fact, "something uniqueword"), weak} {
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	mustExec(t, path, `UPDATE entry SET memory = 'something uniquewore' WHERE memory = 'something uniqueword'`)
	if stats, err := s.Consolidate(t.Context()); err != nil || stats.Pruned != 1 {
		t.Fatalf("consolidate: %+v, %v", stats, err)
	}
	if err := s.Store(t.Context(), memory.NewEntry(memory.Fact, "zebra")); err != nil {
		t.Fatal(err)
	}
	matches, err := s.Retrieve(t.Context(), "zebra", 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matches {
		if m.Matched != (m.Entry.Memory == "zebra") {
			t.Errorf("%q, matched: %t", m.Entry.Memory, m.Matched)
		}
	}
}
