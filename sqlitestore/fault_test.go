package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// writeOperations is every way in which a store changes.
var writeOperations = map[string]func(context.Context, *Store) error{
	"Store new": func(ctx context.Context, s *Store) error {
		e := fixture(9)
		e.Memory = "words that nobody else has, and a tag"
		return s.Store(ctx, e)
	},
	"Store over": func(ctx context.Context, s *Store) error {
		e := fixture(1)
		e.Memory = "another text entirely"
		return s.Store(ctx, e)
	},
	"Store beyond the capacity": func(ctx context.Context, s *Store) error {
		s.settings.Capacity = 4
		defer func() { s.settings.Capacity = 0 }()
		return s.Store(ctx, fixture(8))
	},
	"StoreBatch": func(ctx context.Context, s *Store) error {
		_, err := s.StoreBatch(ctx, []memory.Entry{fixture(6), fixture(7), fixture(1)}, memory.Keep)
		return err
	},
	"Update": func(ctx context.Context, s *Store) error {
		_, err := s.Update(ctx, fixture(2).ID, memory.Change{
			Memory: new("a new text"), Tags: new([]string{"new"}), Keywords: new([]string{"other"}),
		})
		return err
	},
	"Link": func(ctx context.Context, s *Store) error { return s.Link(ctx, fixture(2).ID, fixture(4).ID) },
	"Forget": func(ctx context.Context, s *Store) error {
		_, err := s.Forget(ctx, fixture(3).ID)
		return err
	},
	"Prune": func(ctx context.Context, s *Store) error {
		_, err := s.Prune(ctx, 0.9, time.Hour, "")
		return err
	},
	"Consolidate": func(ctx context.Context, s *Store) error {
		_, err := s.Consolidate(ctx)
		return err
	},
	"Restore": func(ctx context.Context, s *Store) error {
		_, err := s.Restore(ctx, fixture(0).ID)
		return err
	},
	"PurgeArchive": func(ctx context.Context, s *Store) error {
		_, err := s.PurgeArchive(ctx, time.Hour)
		return err
	},
	"BindEmbeddingModel": func(ctx context.Context, s *Store) error {
		return s.BindEmbeddingModel(ctx, fixtureModel)
	},
	"SetEmbeddings": func(ctx context.Context, s *Store) error {
		record, err := s.Get(ctx, fixture(2).ID)
		if err != nil {
			return err
		}
		_, err = s.SetEmbeddings(ctx, fixtureModel, []memory.Embedded{
			{ID: record.Entry.ID, Version: record.Version, Vector: []float32{7, 7}},
		})
		return err
	},
	"DropEmbeddings, a portion": func(ctx context.Context, s *Store) error {
		return s.write(ctx, func(w *writeTx) error {
			_, err := w.dropSomeEmbeddings()
			return err
		})
	},
	"DropEmbeddings, of the archive": func(ctx context.Context, s *Store) error {
		return s.write(ctx, func(w *writeTx) error {
			_, err := w.dropArchivedEmbeddings()
			return err
		})
	},
	"book-keeping": func(ctx context.Context, s *Store) error {
		return s.write(ctx, func(w *writeTx) error {
			return w.applyPending(backlog{
				stamps:  map[int64]time.Time{1: w.now, 2: w.now},
				touches: []touch{{rowID: 3, at: w.now, reinforce: true}},
			})
		})
	},
}

// fixtureModel could have made the embeddings of the fixtures.
var fixtureModel = memory.Model{Name: "fixture", Dimensions: 2}

var fixtureTime = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is one of a few entries with something in every table.
func fixture(n int) memory.Entry {
	e := memory.NewEntry(memory.Fact, fmt.Sprintf("The deploy of service %d needs the vault, (really).", n/2))
	e.ID = uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(n)})
	e.Tags = []string{"ops", fmt.Sprint("service-", n)}
	e.Keywords = []string{"roll out"}
	e.CreatedAt = fixtureTime.Add(time.Duration(n) * time.Minute)
	e.Strength = 0.5 + float64(n)/100
	e.Embedding = []float32{float32(n), 1}
	e.RelatedIDs = []uuid.UUID{uuid.NewSHA1(uuid.NameSpaceOID, []byte{byte(n + 1)})}
	return e
}

// openFixture opens a store of five entries, three of them with a pending
// access, two days after they were stored; a sixth is in the archive.
func openFixture(t testing.TB) *Store {
	t.Helper()
	now := fixtureTime
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "memory.db"), Options{},
		memory.WithClock(func() time.Time { return now }),
		memory.WithEntries(fixture(1), fixture(2), fixture(3), fixture(4), fixture(5)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		problems, err := store.Check(context.Background())
		if err != nil || len(problems) > 0 {
			t.Errorf("the database is not sound: %v %v", problems, err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if _, err := store.Retrieve(t.Context(), "vault", 3); err != nil {
		t.Fatal(err)
	}
	if err := store.write(t.Context(), func(*writeTx) error { return nil }); err != nil {
		t.Fatal(err)
	}
	faded := fixture(0)
	faded.Strength, faded.CreatedAt = 0, fixtureTime.Add(-time.Hour)
	if err := store.Store(t.Context(), faded); err != nil {
		t.Fatal(err)
	}
	if n, err := store.Prune(t.Context(), 0.01, 0, ""); n != 1 || err != nil {
		t.Fatalf("Prune gave %d and %v", n, err)
	}
	now = now.Add(48 * time.Hour)
	return store
}

// dump returns all rows of all tables, those of the indexes included.
func dump(t testing.TB, s *Store) string {
	t.Helper()
	var out strings.Builder
	err := s.viewFresh(t.Context(), func(tx *tx) error {
		for _, table := range []string{
			"store", "entry", "entry_state", "embedding", "access_stamp", "change", "archive",
			"piece", "tag", "piece_term", "posting_instance", "link",
		} {
			stmt, err := tx.prepare("SELECT * FROM " + table + " ORDER BY 1, 2")
			if err != nil {
				return err
			}
			rows, err := stmt.QueryxContext(tx.ctx)
			if err != nil {
				return err
			}
			for rows.Next() {
				values, err := rows.SliceScan()
				if err != nil {
					return err
				}
				fmt.Fprintln(&out, table, values)
			}
			if err := errors.Join(rows.Err(), rows.Close()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// atStatement returns a fault hook that calls do at the n-th statement, and
// tells whether it came to that.
func atStatement(n int, do func() error) (hook func(string) error, reached *bool) {
	reached = new(bool)
	return func(string) error {
		if n--; n == 0 {
			*reached = true
			return do()
		}
		return nil
	}, reached
}

// TestWriteFailing fails every statement of every operation in turn. The
// store afterwards must be the store before, and the next call must work.
func TestWriteFailing(t *testing.T) {
	broken := errors.New("broken on purpose")
	for name, operate := range writeOperations {
		t.Run(name, func(t *testing.T) {
			s := openFixture(t)
			before := dump(t, s)
			for n := 1; ; n++ {
				hook, reached := atStatement(n, func() error { return broken })
				s.fault.set(hook)
				err := operate(t.Context(), s)
				s.fault.set(nil)
				if !*reached {
					if n < 3 || err != nil {
						t.Fatalf("statement %d was not reached; the operation gave %v", n, err)
					}
					break
				}
				if !errors.Is(err, broken) {
					t.Fatalf("statement %d failed, the operation gave %v", n, err)
				}
				if diff := cmp.Diff(before, dump(t, s)); diff != "" {
					t.Fatalf("statement %d failed and left something behind (-before +after):\n%s", n, diff)
				}
			}
			if dump(t, s) == before {
				t.Error("the operation that did not fail changed nothing")
			}
		})
	}
}

// TestWriteCancelled ends the caller's context at every statement of every
// operation in turn.
func TestWriteCancelled(t *testing.T) {
	for name, operate := range writeOperations {
		t.Run(name, func(t *testing.T) {
			s := openFixture(t)
			before := dump(t, s)
			for n := 1; ; n++ {
				ctx, cancel := context.WithCancel(t.Context())
				hook, reached := atStatement(n, func() error { cancel(); return nil })
				s.fault.set(hook)
				err := operate(ctx, s)
				s.fault.set(nil)
				cancel()
				if !*reached {
					break
				}
				if err == nil {
					// The last look at the context is before COMMIT. What
					// has been committed counts, and is reported so.
					break
				}
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("cancelled at statement %d, the operation gave %v", n, err)
				}
				if diff := cmp.Diff(before, dump(t, s)); diff != "" {
					t.Fatalf("cancelled at statement %d, it left something behind (-before +after):\n%s", n, diff)
				}
			}
			if dump(t, s) == before {
				t.Error("the operation that was not cancelled changed nothing")
			}
		})
	}
}

// TestWritePanicking lets a change panic: the lock must be free afterwards.
func TestWritePanicking(t *testing.T) {
	s := openFixture(t)
	before := dump(t, s)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach the caller")
			}
		}()
		_ = s.write(t.Context(), func(w *writeTx) error {
			if _, err := w.insert(new(fixture(7))); err != nil {
				t.Error(err)
			}
			panic("on purpose")
		})
	}()
	if diff := cmp.Diff(before, dump(t, s)); diff != "" {
		t.Errorf("the change that panicked left something behind:\n%s", diff)
	}
	if err := s.Store(t.Context(), fixture(7)); err != nil {
		t.Errorf("the next write fails: %v", err)
	}
}

// TestReadCancelled ends the context of a read in its middle.
func TestReadCancelled(t *testing.T) {
	s := openFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.fault.set(func(string) error { cancel(); return nil })
	_, err := s.Recall(ctx, memory.Query{Text: "vault"})
	s.fault.set(nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Recall gave %v, want context.Canceled", err)
	}
	for range 2 * readers { // every connection of the pool, the one that was interrupted included
		if result, err := s.Recall(t.Context(), memory.Query{Text: "vault"}); err != nil || len(result.Hits) != 5 {
			t.Fatalf("the next Recall gave %d hits and %v", len(result.Hits), err)
		}
	}
}
