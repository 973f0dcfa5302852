package sqlitestore_test

import (
	"compress/gzip"
	"database/sql"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// TestProcessesOpenNew has many processes open a file that does not exist, all
// at once.
func TestProcessesOpenNew(t *testing.T) {
	rounds := 25
	if testing.Short() {
		rounds = 3
	}
	for range rounds {
		path := filepath.Join(t.TempDir(), "new", "memory.db")
		together(t, startChildren(t, 16, "open", path))
		mustHold(t, path, nil)
	}
}

// TestProcessesOpenOlder has several processes open a store whose indexes are
// those of an older version, all at once: one of them brings it up to date.
func TestProcessesOpenOlder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	var ids []uuid.UUID
	var entries []memory.Entry
	for n := range 300 {
		e := memory.NewEntry(memory.Fact, "an entry from before the upgrade")
		e.ID[15] = byte(n)
		ids, entries = append(ids, e.ID), append(entries, e)
	}
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{}, memory.WithEntries(entries...))
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	version := func() (n int) {
		if err := db.QueryRow(`SELECT version FROM store`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := db.Exec(`DELETE FROM posting; DELETE FROM link; UPDATE store SET index_version = 0`); err != nil {
		t.Fatal(err)
	}
	before := version()
	together(t, startChildren(t, 8, "open", path))
	if n := version() - before; n != 1 {
		t.Errorf("the store was written %d times, want once", n)
	}
	mustHold(t, path, ids)
}

// TestProcessesOpenSchema1 has several processes open a file that the first
// version of the program made, all at once. Its entries, archive included, are
// then those that it had.
func TestProcessesOpenSchema1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	unpack(t, filepath.Join("testdata", "schema1.db.gz"), path)
	want, err := os.ReadFile(filepath.Join("testdata", "schema1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := sqlitestore.Diagnose(t.Context(), path); err != nil || !d.Healthy() {
		t.Errorf("before, the doctor says %v, %v", d.Problems, err)
	}
	together(t, startChildren(t, 8, "open", path))
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	var got []byte
	for e, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(e.AppendJSON(got), '\n')
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("entries (-before +after):\n%s", diff)
	}
	archived, err := s.Archive(t.Context())
	if err != nil || len(archived) != 2 {
		t.Errorf("the archive has %d entries, want 2: %v", len(archived), err)
	}
	found, err := s.Recall(t.Context(), memory.Query{Text: "What does Alice prefer?", Ranking: memory.RankingQuestion, Limit: 1})
	if err != nil || len(found.Hits) != 1 || found.Hits[0].Entry.Memory != "Alice prefers short answers" {
		t.Errorf("asked by terms: %v, %v", found.Hits, err)
	}
}

// unpack writes what a gzip file holds.
func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProcessKilledRestoring kills a process at any point of a restore: what
// is there then is the store of before or that of the backup.
func TestProcessKilledRestoring(t *testing.T) {
	rounds := 60
	if testing.Short() {
		rounds = 10
	}
	const longest = 60 * time.Millisecond // about what a restore takes
	folder := t.TempDir()
	path := filepath.Join(folder, "memory.db")
	old, current := memory.NewEntry(memory.Fact, "old"), memory.NewEntry(memory.Fact, "current")
	restored := 0
	for round := range rounds {
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{}, memory.WithEntries(old))
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			if err := s.Backup(t.Context(), path+".backup", sqlitestore.BackupOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Store(t.Context(), current); err != nil {
			t.Fatal(err)
		}
		closeStore(t, s)
		c := startChildren(t, 1, "restore", path)[0]
		c.tell()
		time.Sleep(rand.N(longest))
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.cmd.Wait()
		if s, err = sqlitestore.Open(t.Context(), path, sqlitestore.Options{MustExist: true}); err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		if _, err := s.Get(t.Context(), old.ID); err != nil {
			t.Errorf("after a kill: %v", err)
		}
		if _, err := s.Get(t.Context(), current.ID); err != nil {
			restored++
		}
		closeStore(t, s)
	}
	t.Logf("restored in %d of %d rounds", restored, rounds)
}

// TestProcessKilledOpening kills a process at any point of its first open. The
// next one must be able to go on from there.
func TestProcessKilledOpening(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	const longest = 15 * time.Millisecond // about what an open takes
	for range rounds {
		path := filepath.Join(t.TempDir(), "memory.db")
		c := startChildren(t, 1, "open", path)[0]
		c.tell()
		time.Sleep(rand.N(longest)) // any moment is as good as another
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.cmd.Wait()
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
		if err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		if err := s.Store(t.Context(), memory.NewEntry(memory.Fact, "after the kill")); err != nil {
			t.Errorf("the next write: %v", err)
		}
		closeStore(t, s)
	}
}

// TestTemporaryFiles kills processes in the middle of a copy. What they leave
// is swept by the next copy in that folder, which leaves alone what is still in
// the making, and what only looks like it.
func TestTemporaryFiles(t *testing.T) {
	for _, role := range []string{"back up slowly", "restore slowly"} {
		t.Run(role, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "memory.db")
			s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer closeStore(t, s)
			if err := s.Backup(t.Context(), path+".backup", sqlitestore.BackupOptions{}); err != nil {
				t.Fatal(err)
			}
			foreign := filepath.Join(folder, ".memory.db-1.tmp")
			if err := os.WriteFile(foreign, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			hidden := func() int {
				names, err := filepath.Glob(filepath.Join(folder, ".*"))
				if err != nil {
					t.Fatal(err)
				}
				return len(names) - 1 // the foreign one
			}
			children := startChildren(t, 2, role, path)
			for _, c := range children {
				c.tell()
				if !c.output.Scan() || c.output.Text() != "copying" {
					t.Fatalf("a child does not copy: %s", c.errors)
				}
			}
			if err := children[0].cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			children[0].cmd.Wait()
			if n := hidden(); n != 4 {
				t.Errorf("there are %d temporary files, want two of each process", n)
			}
			err = s.Backup(t.Context(), filepath.Join(folder, "another.db"), sqlitestore.BackupOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if n := hidden(); n != 2 {
				t.Errorf("there are %d temporary files, want those of the process that lives", n)
			}
			children[1].tell()
			if err := children[1].cmd.Wait(); err != nil {
				t.Errorf("the other child: %v: %s", err, children[1].errors)
			}
			if n := hidden(); n != 0 {
				t.Errorf("there are %d temporary files in the end", n)
			}
			if _, err := os.Stat(foreign); err != nil {
				t.Error(err)
			}
		})
	}
}
