package sqlitestore

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/migrations"
)

func mustOpen(t testing.TB, path string, options Options, common ...memory.Option) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, options, common...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

func mustLen(t testing.TB, s memory.LoopMemory, want int) {
	t.Helper()
	if n, err := s.Len(t.Context()); n != want || err != nil {
		t.Errorf("Len gave %d and %v, want %d", n, err, want)
	}
}

// mustExec runs SQL on a file by other means than the store.
func mustExec(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

// TestOpenOddPaths opens exactly the file that was named, whatever its name.
func TestOpenOddPaths(t *testing.T) {
	for _, name := range []string{
		"with space.db", "what?.db", "hash#1.db", "100%.db", "%41.db", "Gedächtnis.db", "記憶.db",
		"a&b=c.db", "semi;colon.db", "plus+.db", "quote'\".db", "~", ":memory:", "file:x.db", "deep/er/memory.db",
	} {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" && strings.ContainsAny(name, `?":`) {
				t.Skip("the system has no such names")
			}
			path := filepath.Join(t.TempDir(), name)
			s := mustOpen(t, path, Options{})
			if err := s.Store(t.Context(), fixture(1)); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() == 0 {
				t.Errorf("the file is not where it was named: %v", err)
			}
			mustLen(t, mustOpen(t, path, Options{MustExist: true}), 1)
		})
	}
}

// TestOpenSpellings opens one store by several ways to its file, one of them
// before the file exists.
func TestOpenSpellings(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("real", 0o700); err != nil {
		t.Fatal(err)
	}
	for target, link := range map[string]string{"real": "folder", "real/memory.db": "dangling", "loop": "loop"} {
		if err := os.Symlink(target, link); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for i, spelling := range []string{"dangling", "folder/memory.db", "./real/../real/memory.db"} {
		s := mustOpen(t, spelling, Options{})
		if err := s.Store(t.Context(), fixture(i)); err != nil {
			t.Fatal(err)
		}
		mustLen(t, s, i+1)
	}
	if _, err := os.Stat("real/memory.db.lock"); err != nil {
		t.Errorf("the lock is not beside the file: %v", err)
	}
	if _, err := Open(t.Context(), "loop", Options{}); err == nil {
		t.Error("a link to itself was opened")
	}
}

func TestOpenPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system has no such permissions")
	}
	folder := filepath.Join(t.TempDir(), "made", "for it")
	path := filepath.Join(folder, "memory.db")
	s := mustOpen(t, path, Options{})
	if err := s.Store(t.Context(), fixture(1)); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]fs.FileMode{
		folder: 0o700, filepath.Dir(folder): 0o700,
		path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600, path + ".lock": 0o600,
	} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has mode %v (%v), want %v", file, info.Mode().Perm(), err, want)
		}
	}
}

// TestOpenRefused opens what is no store: a clear error, nothing changed and
// nothing made.
func TestOpenRefused(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, path string)
		options Options
		want    error
	}{
		"missing": {func(*testing.T, string) {}, Options{MustExist: true}, fs.ErrNotExist},
		"folder": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, Options{}, memory.ErrInvalid},
		"text": {func(t *testing.T, path string) {
			mustWrite(t, path, []byte(strings.Repeat("this is no database\n", 100)))
		}, Options{}, ErrNotStore},
		"short text": {func(t *testing.T, path string) { mustWrite(t, path, []byte("hello")) }, Options{}, ErrNotStore},
		"database of another program": {func(t *testing.T, path string) {
			mustExec(t, path, `CREATE TABLE notes (text); INSERT INTO notes VALUES ('mine')`)
		}, Options{}, ErrNotStore},
		"marked by another program": {func(t *testing.T, path string) {
			mustExec(t, path, `PRAGMA application_id = 7; CREATE TABLE t (x); DROP TABLE t`)
		}, Options{}, ErrNotStore},
		"another program in WAL mode": {func(t *testing.T, path string) {
			mustExec(t, path, `PRAGMA journal_mode = WAL; PRAGMA application_id = 7; CREATE TABLE notes (text)`)
		}, Options{}, ErrNotStore},
		"newer schema": {func(t *testing.T, path string) {
			mustClose(t, mustOpenAlone(t, path))
			mustExec(t, path, fmt.Sprintf(`PRAGMA user_version = %d`, migrations.Latest+1))
		}, Options{}, ErrNewerSchema},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, "memory.db")
			test.prepare(t, path)
			before := files(t, folder)
			_, err := Open(t.Context(), path, test.options)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("Open gave %v, want %v with the path", err, test.want)
			}
			after := files(t, folder)
			for file, content := range before {
				if !bytes.Equal(content, after[file]) && !strings.HasSuffix(file, "-shm") { // which holds no data
					t.Errorf("%s was changed", file)
				}
			}
			for file := range after {
				if _, was := before[file]; !was {
					t.Errorf("%s was made", file)
				}
			}
		})
	}
	if _, err := Open(t.Context(), "", Options{}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("an empty path gave %v", err)
	}
}

func mustWrite(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustOpenAlone(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustClose(t testing.TB, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// files reads all regular files of a folder.
func files(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	contents := make(map[string][]byte)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		contents[e.Name()] = content
	}
	return contents
}

// TestOpenEmptyFile takes a file without content for a new one, as SQLite
// does: programs that make temporary files leave such. Who asks for a store
// that exists is not given one there.
func TestOpenEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	mustWrite(t, path, nil)
	if _, err := Open(t.Context(), path, Options{MustExist: true}); !errors.Is(err, ErrNotStore) {
		t.Errorf("an empty file was opened as a store that exists: %v", err)
	}
	s := mustOpen(t, path, Options{})
	if err := s.Store(t.Context(), fixture(1)); err != nil {
		t.Fatal(err)
	}
	mustLen(t, s, 1)
}

// TestOpenWhileItIsMade asks for a store that exists while another handle makes
// it. It is missing until it is there; what is half made is neither.
func TestOpenWhileItIsMade(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "memory.db")
		made := make(chan error, 1)
		go func() {
			s, err := Open(t.Context(), path, Options{})
			if err == nil {
				err = s.Close()
			}
			made <- err
		}()
		for {
			s, err := Open(t.Context(), path, Options{MustExist: true})
			if err == nil {
				mustLen(t, s, 0)
				err = s.Close()
			}
			if err == nil {
				break
			}
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a store that is being made: %v", err)
				break
			}
		}
		if err := <-made; err != nil {
			t.Fatal(err)
		}
	}
}

func TestParseSynchronous(t *testing.T) {
	for _, level := range []Synchronous{SynchronousNormal, SynchronousFull} {
		if got, err := ParseSynchronous(level.String()); got != level || err != nil {
			t.Errorf("%v is read as %v, %v", level, got, err)
		}
	}
	if _, err := ParseSynchronous("off"); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("off: %v, want ErrInvalid", err)
	}
}

// TestConnectionsAgree asks every connection for its settings: a pragma sent
// through a pool reaches one of them only.
func TestConnectionsAgree(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{BusyTimeout: 7 * time.Second, Synchronous: SynchronousFull})
	type settings struct {
		Busy        int    `db:"timeout"`
		Journal     string `db:"journal_mode"`
		ForeignKeys int    `db:"foreign_keys"`
		Synchronous int    `db:"synchronous"`
		Secure      int    `db:"secure_delete"`
		AutoVacuum  int    `db:"auto_vacuum"`
		QueryOnly   int    `db:"query_only"`
	}
	const query = `
		SELECT timeout, journal_mode, foreign_keys, synchronous, secure_delete, auto_vacuum, query_only
		FROM pragma_busy_timeout, pragma_journal_mode, pragma_foreign_keys, pragma_synchronous,
		     pragma_secure_delete, pragma_auto_vacuum, pragma_query_only`
	want := settings{Busy: 7000, Journal: "wal", ForeignKeys: 1, Synchronous: 2, Secure: 1, AutoVacuum: 2, QueryOnly: 1}
	var ask func(left int)
	ask = func(left int) { // holds all readers at once
		if left == 0 {
			return
		}
		err := s.view(t.Context(), func(tx *tx) error {
			var got settings
			err := tx.get(&got, query)
			if got != want {
				t.Errorf("reader %d has %+v, want %+v", left, got, want)
			}
			ask(left - 1)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	ask(readers)
	want.QueryOnly = 0
	err := s.write(t.Context(), func(w *writeTx) error {
		var got settings
		err := w.get(&got, query)
		if got != want {
			t.Errorf("the writer has %+v, want %+v", got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMigrateUpDownUp makes sure that each migration undoes itself and that
// the version of the file follows.
func TestMigrateUpDownUp(t *testing.T) {
	db, err := sqlx.Open("sqlite", filepath.Join(t.TempDir(), "memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.DB, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	schema := func() (version int, tables string) {
		t.Helper()
		if err := db.Get(&version, `PRAGMA user_version`); err != nil {
			t.Fatal(err)
		}
		err := db.Get(&tables, `SELECT ifnull(group_concat(sql), '') FROM sqlite_schema WHERE name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%'`)
		if err != nil {
			t.Fatal(err)
		}
		return version, tables
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	version, tables := schema()
	if version != migrations.Latest || tables == "" {
		t.Errorf("the version after all migrations is %d, want %d", version, migrations.Latest)
	}
	if _, err := provider.DownTo(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if version, tables := schema(); version != 0 || tables != "" {
		t.Errorf("after all are undone, version %d and these are left: %s", version, tables)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if again, same := schema(); again != version || same != tables {
		t.Error("the schema differs after up, down and up")
	}
}

// TestOpenFillsIndexes opens a store whose indexes were filled by other code.
func TestOpenFillsIndexes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpenAlone(t, path)
	if _, err := s.StoreBatch(t.Context(), []memory.Entry{fixture(1), fixture(2)}, memory.Keep); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	mustExec(t, path, `
		UPDATE store SET index_version = 0;
		DELETE FROM posting; DELETE FROM link; DELETE FROM piece WHERE piece = 'vault,'; DELETE FROM tag`)
	problems, err := mustOpen(t, path, Options{}).Check(t.Context())
	if err != nil || len(problems) > 0 {
		t.Errorf("after the indexes were filled: %v %v", problems, err)
	}
}

// TestReplacedFile takes the file away from under an open store. Writing
// into a deleted file would succeed, and nobody would ever see it.
func TestReplacedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system does not let go of open files")
	}
	for name, replace := range map[string]func(path string) error{
		"deleted": os.Remove,
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, nil, 0o600))
		},
		"log deleted":           func(path string) error { return os.Remove(path + "-wal") },
		"shared memory deleted": func(path string) error { return os.Remove(path + "-shm") },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			s := mustOpen(t, path, Options{})
			if err := s.Store(t.Context(), fixture(1)); err != nil {
				t.Fatal(err)
			}
			if err := replace(path); err != nil {
				t.Fatal(err)
			}
			err := s.Store(t.Context(), fixture(2))
			if !errors.Is(err, ErrReplaced) || !strings.Contains(err.Error(), path) {
				t.Errorf("Store gave %v, want ErrReplaced with the path", err)
			}
		})
	}
}

// TestCancelledInUse cancels calls until no connection of the pools is open. The
// file is in use all the same, and the log goes on.
func TestCancelledInUse(t *testing.T) {
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "memory.db"), filepath.Join(folder, "backup.db")
	mustMake(t, backup, 1)
	s := mustOpen(t, path, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	s.fault.set(func(string) error { cancel(); return nil })
	if _, err := s.Len(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Len gave %v, want context.Canceled", err)
	}
	s.fault.set(nil)
	mustClose(t, mustOpenAlone(t, path)) // as the last, it would take the log away
	if _, err := RestoreBackup(t.Context(), path, backup, BackupOptions{}); !errors.Is(err, ErrInUse) {
		t.Errorf("RestoreBackup gave %v, want ErrInUse", err)
	}
	if err := s.Store(t.Context(), fixture(1)); err != nil {
		t.Error(err)
	}
}

// TestBusy holds the write lock elsewhere.
func TestBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpen(t, path, Options{BusyTimeout: 50 * time.Millisecond}, memory.WithEntries(fixture(1)))
	lock, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	lock.SetMaxOpenConns(1)
	exec := func(statement string) {
		t.Helper()
		if _, err := lock.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	exec(`BEGIN IMMEDIATE`)
	err = s.Store(t.Context(), fixture(2))
	if !errors.Is(err, memory.ErrBusy) || !strings.Contains(err.Error(), path) {
		t.Errorf("Store gave %v, want ErrBusy with the path", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Store(ctx, fixture(2)); !errors.Is(err, context.Canceled) {
		t.Errorf("Store with a context that has ended gave %v", err)
	}

	// Reads go on, and a recall that cannot count its accesses says so.
	result, err := s.Recall(t.Context(), memory.Query{Text: "vault"})
	if err != nil || !result.Deferred || len(result.Hits) != 1 {
		t.Fatalf("Recall gave %+v and %v, want one hit, deferred", result, err)
	}
	if record, err := s.Get(t.Context(), fixture(1).ID); err != nil || record.Entry.AccessCount != 0 {
		t.Errorf("the access was counted: %+v %v", record, err)
	}
	exec(`ROLLBACK`)
	if err := s.Store(t.Context(), fixture(2)); err != nil {
		t.Fatal(err)
	}
	if record, err := s.Get(t.Context(), fixture(1).ID); err != nil || record.Entry.AccessCount != 1 {
		t.Errorf("the next write did not count the access: %+v %v", record, err)
	}
}

// TestCloseReleases makes sure that nothing of a closed store is left open:
// SQLite then takes the log into the file and removes it.
func TestCloseReleases(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "memory.db")
	for range 2 { // the first also makes the file
		s := mustOpenAlone(t, path)
		if err := s.Store(t.Context(), fixture(1)); err != nil {
			t.Fatal(err)
		}
		mustLen(t, s, 1)
		ctx, cancel := context.WithCancel(t.Context())
		s.fault.set(func(string) error { cancel(); return nil })
		if _, err := s.Len(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Len gave %v, want context.Canceled", err)
		}
		s.fault.set(nil)
		mustClose(t, s)
		mustContain(t, folder, "memory.db", "memory.db.lock")
	}
}

// TestCloseCounts closes a store that still owes access book-keeping.
func TestCloseCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := Open(t.Context(), path, Options{}, memory.WithEntries(fixture(1), fixture(2)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retrieve(t.Context(), "vault", 1); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	stats, err := mustOpen(t, path, Options{}).Stats(t.Context())
	if err != nil || stats.PendingStamps != 1 {
		t.Errorf("after Close there are %d stamps (%v), want 1", stats.PendingStamps, err)
	}
}

// TestCloseWhileBusy closes a store that owes book-keeping while another process
// holds the lock: it gives up sooner than a write would, and says what is lost.
func TestCloseWhileBusy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	const timeout = time.Minute
	s := mustOpen(t, path, Options{BusyTimeout: timeout}, memory.WithEntries(fixture(1)))
	err := mustOpen(t, path, Options{}).write(t.Context(), func(*writeTx) error {
		if _, err := s.Retrieve(t.Context(), "vault", 1); err != nil {
			t.Error(err)
		}
		begin := time.Now()
		err := s.Close()
		if !errors.Is(err, memory.ErrBusy) || !strings.Contains(err.Error(), path) {
			t.Errorf("Close gave %v, want ErrBusy with the path", err)
		}
		if took := time.Since(begin); took > timeout/2 {
			t.Errorf("Close took %v", took)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestEntriesLoop uses the store in every way inside of loops over it: more
// loops at once than there are readers, one in the other, and Close.
func TestEntriesLoop(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{}, memory.WithEntries(fixture(1), fixture(2)))
	loops := 0
	var nest func(depth int)
	nest = func(depth int) {
		for e, err := range s.Entries(t.Context(), memory.Selection{}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Get(t.Context(), e.ID); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Update(t.Context(), e.ID, memory.Change{Summary: new("seen")}); err != nil {
				t.Fatal(err)
			}
			loops++
			if depth > 0 {
				nest(depth - 1)
			}
			break
		}
	}
	nest(2 * readers)
	if loops != 2*readers+1 {
		t.Errorf("%d loops ran", loops)
	}
	seen := 0
	for _, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen++
		mustClose(t, s)
	}
	if seen != 2 {
		t.Errorf("the loop that closed the store saw %d entries, want 2", seen)
	}
}
