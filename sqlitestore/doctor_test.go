package sqlitestore

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/migrations"
)

func mustDiagnose(t testing.TB, path string) Diagnosis {
	t.Helper()
	d, err := Diagnose(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiagnose(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, path string)
		kind   Kind
		want   string // within one of the problems; none if empty
	}{
		"sound":      {func(*testing.T, string) {}, "", ""},
		"with a log": {func(t *testing.T, path string) { mustOpen(t, path, Options{}); mustStoreElsewhere(t, path) }, "", ""},
		"entry gone": {sqlChange(`DELETE FROM entry WHERE row_id = 2`), Damage, "there are 4 entries, of the 5"},
		"account":    {sqlChange(`DELETE FROM store`), Damage, "cannot be read"},
		"posting":    {sqlChange(`DELETE FROM posting`), Index, "not indexed"},
		"index":      {sqlChange(`DROP INDEX entry_by_agent`), Damage, "index entry_by_agent is missing"},
		"orphaned stamp": {sqlChange(`INSERT INTO access_stamp VALUES (99, 1)`), Damage,
			"access_stamp: a row refers to a row of entry that is not there"},
		"orphaned link": {sqlChange(`INSERT INTO link VALUES (x'00', 99)`), Damage,
			"link: a row refers to a row of entry that is not there"},
		"long log": {func(t *testing.T, path string) {
			mustWrite(t, path+"-wal", nil)
			if err := os.Truncate(path+"-wal", longLog+1); err != nil {
				t.Fatal(err)
			}
		}, Notice, "the log has grown to 64 MiB"},
		"trigger": {sqlChange(`CREATE TRIGGER x AFTER DELETE ON entry BEGIN SELECT 1; END`), Notice, "trigger x is not of loopmem"},
		"older":   {sqlChange(`PRAGMA user_version = 0`), Notice, "version 0"},
		"foreign": {sqlChange(`PRAGMA application_id = 7`), Damage, "another program"},
		"text":    {func(t *testing.T, path string) { mustWrite(t, path, []byte(strings.Repeat("no database ", 999))) }, Damage, "not a database"},
		"empty":   {func(t *testing.T, path string) { mustWrite(t, path, nil) }, Damage, "it is empty"},
		"cut": {func(t *testing.T, path string) {
			if err := os.Truncate(path, 40960); err != nil {
				t.Fatal(err)
			}
		}, Damage, ""},
		"open to all": {func(t *testing.T, path string) {
			if runtime.GOOS == "windows" {
				t.Skip("the system has no such permissions")
			}
			if err := os.Chmod(path, 0o644); err != nil {
				t.Fatal(err)
			}
		}, Notice, "others may read it (mode 0644)"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			if err := os.Chmod(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			mustMake(t, path, 5)
			c.change(t, path)
			before := files(t, filepath.Dir(path))
			d := mustDiagnose(t, path)
			if d.Healthy() != (c.kind == "" || c.kind == Notice) {
				t.Errorf("healthy: %v", d.Healthy())
			}
			if c.kind == "" && len(d.Problems) > 0 || c.kind != "" && !slices.ContainsFunc(d.Problems, func(p Problem) bool {
				return p.Kind == c.kind && strings.Contains(p.String(), c.want)
			}) {
				t.Errorf("Diagnose gave %v, want %s: ...%s...", d.Problems, c.kind, c.want)
			}
			for name, content := range files(t, filepath.Dir(path)) {
				if !strings.HasSuffix(name, "-shm") && string(content) != string(before[name]) {
					t.Errorf("%s has changed", name)
				}
			}
		})
	}
	foreign := filepath.Join(t.TempDir(), "bookmarks.db")
	mustExec(t, foreign, `CREATE TABLE bookmark (url TEXT)`)
	if d, err := Diagnose(t.Context(), foreign); !errors.Is(err, ErrNotStore) || !d.Healthy() {
		t.Errorf("of another program's database: %v, %v; want an error and no damage", d.Problems, err)
	}
	newer := filepath.Join(t.TempDir(), "memory.db")
	mustMake(t, newer, 5)
	mustExec(t, newer, `PRAGMA user_version = 99`)
	if _, err := Diagnose(t.Context(), newer); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("of a newer file: %v, which may not be called damage", err)
	}
	if _, err := Diagnose(t.Context(), filepath.Join(t.TempDir(), "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of a missing file: %v", err)
	}
}

// TestDiagnoseWhileOpened opens and changes a store that was idle when the
// doctor began to look at it. It must not take for damage what it saw of two
// states.
func TestDiagnoseWhileOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	mustMakeMany(t, path, 50)
	looks := 0
	err := look(t.Context(), path, func(tx *tx) error {
		if looks++; looks == 1 {
			if _, err := tx.schema(); err != nil {
				return err
			}
			s := mustOpenAlone(t, path)
			for n := range 40 {
				e := fixture(n)
				e.Memory = strings.Repeat(e.Memory, 100)
				if err := s.Store(t.Context(), e); err != nil {
					return err
				}
			}
			mustClose(t, s)
		}
		problems, err := tx.problems(false)
		if looks == 1 && len(problems) == 0 {
			t.Log("it saw one state; this test shows nothing")
		}
		if looks == 2 && len(problems) > 0 {
			t.Errorf("called damaged: %v", problems)
		}
		return err
	})
	if err != nil || looks != 2 {
		t.Errorf("it looked %d times (%v), want twice", looks, err)
	}
}

func sqlChange(statements string) func(*testing.T, string) {
	return func(t *testing.T, path string) { mustExec(t, path, statements) }
}

func mustStoreElsewhere(t *testing.T, path string) {
	t.Helper()
	if err := mustOpen(t, path, Options{}).Store(t.Context(), fixture(77)); err != nil {
		t.Fatal(err)
	}
}

func TestRepairIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	mustMake(t, path, 5)
	mustExec(t, path, `DELETE FROM posting WHERE rowid = 2; DELETE FROM tag; UPDATE entry_state SET fade = 0, strength_base = 0`)
	r, err := Repair(t.Context(), path)
	if err != nil || !r.Rebuilt || r.Salvaged != "" {
		t.Fatalf("Repair gave %+v and %v, want rebuilt indexes", r, err)
	}
	if d := mustDiagnose(t, path); !d.Healthy() {
		t.Errorf("afterwards: %v", d.Problems)
	}
}

// TestRepairNewer leaves alone what it may not know all of.
func TestRepairNewer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	mustClose(t, mustOpenAlone(t, path))
	mustExec(t, path, fmt.Sprintf(`PRAGMA user_version = %d`, migrations.Latest+1))
	if repaired, err := Repair(t.Context(), path); !errors.Is(err, ErrNewerSchema) {
		t.Errorf("Repair gave %+v and %v, want ErrNewerSchema", repaired, err)
	}
}

// TestRepairSalvages destroys a page in the middle of the table of entries
// and one entry's text.
func TestRepairSalvages(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	mustMakeMany(t, path, 200)
	mustExec(t, path, `UPDATE entry SET memory = 'Another text.' WHERE row_id = 3; DELETE FROM entry_state WHERE row_id = 5;
		INSERT OR REPLACE INTO access_stamp (row_id, accessed_at) VALUES (7, 1772366400000000000), (8, 9000000000000000000)`)
	content := files(t, filepath.Dir(path))["memory.db"]
	at := strings.Index(string(content), "The 100th text")
	if at < 0 {
		t.Fatal("the page was not found")
	}
	const page = 4096
	clear(content[at/page*page : at/page*page+page])
	mustWrite(t, path, content)

	r, err := Repair(t.Context(), path)
	if err != nil || r.Salvaged == "" || r.Rebuilt {
		t.Fatalf("Repair gave %+v and %v, want a salvaged file", r, err)
	}
	if r.Entries < 150 || r.Entries >= 200 || r.Archived != 1 || r.Unreadable == 0 || !slices.Contains(r.Doubtful, fixture(2).ID) {
		t.Errorf("Repair gave %d entries, %d archived, %d unreadable, doubtful %v", r.Entries, r.Archived, r.Unreadable, r.Doubtful)
	}
	if string(files(t, filepath.Dir(path))["memory.db"]) != string(content) {
		t.Error("the damaged file was changed")
	}
	if d := mustDiagnose(t, r.Salvaged); !d.Healthy() {
		t.Errorf("the salvaged file: %v", d.Problems)
	}
	if _, err := RestoreBackup(t.Context(), path, r.Salvaged, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path, Options{})
	mustLen(t, s, r.Entries)
	if stats, err := s.Stats(t.Context()); stats.PendingStamps != 1 || err != nil {
		t.Errorf("%d stamps were salvaged (%v), want the one that can be true", stats.PendingStamps, err)
	}
}

// mustMakeMany is mustMake with longer texts, so that every table has several
// pages.
func mustMakeMany(t testing.TB, path string, entries int) {
	t.Helper()
	mustMake(t, path, 1)
	s := mustOpenAlone(t, path)
	var batch []memory.Entry
	for n := range entries - 1 {
		e := fixture(n%100 + 2)
		e.ID = fixture(n + 2).ID
		e.Memory = fmt.Sprintf("The %dth text is here. %s", n+2, e.Memory)
		batch = append(batch, e)
	}
	if _, err := s.StoreBatch(t.Context(), batch, memory.Fail); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
}

// TestDiagnoseFlippedBytes flips bytes at random all over a database. The
// doctor must survive it, and must not call healthy what has lost or changed
// an entry.
func TestDiagnoseFlippedBytes(t *testing.T) {
	rounds, entries := 500, 150
	if testing.Short() {
		rounds, entries = 25, 40
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "memory.db")
	mustMakeMany(t, path, entries)
	original := files(t, folder)["memory.db"]
	want := export(t, mustOpenAlone(t, path))

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d, %d bytes", seed, len(original))
	r := rand.New(rand.NewPCG(seed, 0))
	sound := 0
	for round := range rounds {
		damaged := slices.Clone(original)
		for range 1 + r.IntN(3) {
			damaged[r.IntN(len(damaged))] ^= byte(1 + r.IntN(255))
		}
		path := filepath.Join(t.TempDir(), "memory.db")
		mustWrite(t, path, damaged)
		d, err := Diagnose(t.Context(), path)
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if d.Healthy() {
			sound++
			if got := export(t, mustOpenAlone(t, path)); got != want {
				t.Fatalf("round %d: called healthy with other entries:\n%s\nwant\n%s", round, got, want)
			}
			continue
		}
		if round%10 == 0 {
			mustSurviveRepair(t, path, want)
		}
	}
	t.Logf("%d of %d were sound", sound, rounds)
}

// mustSurviveRepair repairs a damaged file. It need not succeed, but what it
// salvages must be sound, and what it vouches for must be what was stored.
func mustSurviveRepair(t *testing.T, path, want string) {
	t.Helper()
	r, err := Repair(t.Context(), path)
	if err != nil || r.Salvaged == "" {
		return
	}
	s := mustOpenAlone(t, r.Salvaged)
	defer mustClose(t, s)
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("salvaged: %v %v", problems, err)
	}
	for e, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(r.Doubtful, e.ID) && !strings.Contains(want, e.Memory) {
			t.Errorf("salvaged without doubt, but changed: %s", e.AppendJSON(nil))
		}
	}
}

// export lists everything in a store, archive included, and closes it.
func export(t testing.TB, s *Store) string {
	t.Helper()
	defer mustClose(t, s)
	var b []byte
	for e, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		b = append(e.AppendJSON(b), '\n')
	}
	archived, err := s.Archive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range archived {
		b = append(a.Entry.AppendJSON(append(b, a.Reason...)), '\n')
	}
	return string(b)
}
