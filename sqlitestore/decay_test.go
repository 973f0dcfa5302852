package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopmem/loopmem/memory"
)

// decaying are entries of as many relevances and ages, which decay into an order
// that is not the one they had.
func decaying(n int) []memory.Entry {
	entries := make([]memory.Entry, n)
	for i := range entries {
		e := memory.NewEntry([]memory.Category{memory.Fact, memory.Working}[i%2], fmt.Sprint("word", i))
		e.Relevance = 0.5 + float32(i*37%n)/float32(2*n)
		e.CreatedAt = fixtureTime.Add(-time.Duration(i*i) * time.Minute)
		entries[i] = e
	}
	return entries
}

// TestConsolidateManyRows has more rows decay than one statement writes, and no
// multiple of that, some of them along with other changes. The state of the
// store must be the one that was planned, and its order by relevance too, also
// for another handle that has read before.
func TestConsolidateManyRows(t *testing.T) {
	entries := decaying(2*decaysAtOnce + decaysAtOnce/2)
	entries[3].Relevance = 1.5 // to be set aside
	entries[4].Pinned = true
	entries[5].Memory = entries[7].Memory // a near duplicate
	path := filepath.Join(t.TempDir(), "memory.db")
	now := fixtureTime.Add(24 * time.Hour)
	clock := memory.WithClock(func() time.Time { return now })
	s := mustOpen(t, path, Options{}, memory.WithEntries(entries...), clock)
	other := mustOpen(t, path, Options{MirrorBytes: -1}, clock)
	if _, err := other.Retrieve(t.Context(), "", 3); err != nil {
		t.Fatal(err)
	}
	for pass := range 2 {
		plan := memory.DefaultConsolidation().Plan(now, entries, nil)
		if _, err := s.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var want, got []memory.Entry
		for _, survivor := range plan.Survivors {
			want = append(want, survivor.Entry)
		}
		for e, err := range s.Entries(t.Context(), memory.Selection{}) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("after pass %d (-want +got):\n%s", pass+1, diff)
		}
		reference, err := memory.NewStore(memory.WithEntries(got...), clock)
		if err != nil {
			t.Fatal(err)
		}
		best, err := reference.Retrieve(t.Context(), "", 50)
		if err != nil {
			t.Fatal(err)
		}
		found, err := other.Retrieve(t.Context(), "", 50)
		if diff := cmp.Diff(best, found); diff != "" || err != nil {
			t.Fatalf("another handle, after pass %d: %v (-want +got):\n%s", pass+1, err, diff)
		}
		entries, now = got, now.Add(100*time.Hour)
	}
	if problems, err := s.Check(t.Context()); len(problems) > 0 || err != nil {
		t.Errorf("the database is not sound: %v, %v", problems, err)
	}
}

// TestConsolidateKeepsIndexes has every row decay: all indexes must be there
// afterwards, and one that was missing before must not keep it from that.
func TestConsolidateKeepsIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	now := fixtureTime
	s := mustOpen(t, path, Options{}, memory.WithEntries(decaying(20)...), memory.WithClock(func() time.Time { return now }))
	schema := func() (schema map[string]string) {
		t.Helper()
		err := s.view(t.Context(), func(tx *tx) (err error) {
			schema, err = tx.schema()
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return schema
	}
	whole := schema()
	for _, missing := range []string{"", "index entry_state_by_relevance"} {
		if missing != "" {
			mustExec(t, path, "DROP "+missing)
		}
		now = now.Add(time.Hour)
		if _, err := s.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := maps.Clone(whole)
		delete(want, missing)
		if diff := cmp.Diff(want, schema()); diff != "" {
			t.Errorf("with %q missing, the schema changes (-want +got):\n%s", missing, diff)
		}
	}
}

// TestConsolidateTakesLogIn looks after a pass whether all of the log is in the
// file, and whether later commits take the log in by themselves again.
func TestConsolidateTakesLogIn(t *testing.T) {
	now := fixtureTime
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{},
		memory.WithEntries(decaying(20)...), memory.WithClock(func() time.Time { return now }))
	for range 2 {
		now = now.Add(time.Hour)
		if _, err := s.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		var log struct {
			Busy         int `db:"busy"`
			Pages        int `db:"log"`
			Checkpointed int `db:"checkpointed"`
		}
		var pages int
		err := s.lineUp(t.Context(), time.Minute, func(ctx context.Context, conn *connection) (bool, error) {
			return false, errors.Join(
				conn.GetContext(ctx, &log, `PRAGMA wal_checkpoint(NOOP)`),
				conn.GetContext(ctx, &pages, `PRAGMA wal_autocheckpoint`))
		})
		if err != nil || log.Pages == 0 || log.Checkpointed != log.Pages {
			t.Errorf("of the log, %d of %d pages are in the file; %v", log.Checkpointed, log.Pages, err)
		}
		if want := usualLog / pageSize; pages != want {
			t.Errorf("a commit takes the log in from %d pages on, want %d", pages, want)
		}
	}
}
