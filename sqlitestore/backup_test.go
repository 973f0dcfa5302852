package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// mustHave compares the entries of a store with the fixtures of those numbers.
func mustHave(t testing.TB, s memory.Backend, numbers ...int) {
	t.Helper()
	mustLen(t, s, len(numbers))
	for _, n := range numbers {
		if _, err := s.Get(t.Context(), fixture(n).ID); err != nil {
			t.Error(err)
		}
	}
}

// mustContain lists a folder.
func mustContain(t testing.TB, folder string, want ...string) {
	t.Helper()
	var got []string
	for name := range files(t, folder) {
		got = append(got, name)
	}
	if a, b := sortedSet(got), sortedSet(want); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("the folder holds %v, want %v", a, b)
	}
}

// TestBackupWhileWriting has others write between any two steps of the copy:
// it must end all the same, and be the state of its beginning.
func TestBackupWhileWriting(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "memory.db"), Options{})
	var many []memory.Entry
	for n := range 100 { // some steps
		e := fixture(n)
		e.ID = memory.NewEntry(memory.Fact, "").ID
		e.Memory += " " + strings.Repeat("x", 43_000)
		many = append(many, e)
	}
	if _, err := s.StoreBatch(t.Context(), many, memory.Fail); err != nil {
		t.Fatal(err)
	}
	other := mustOpen(t, s.path, Options{})
	dest := filepath.Join(t.TempDir(), "copy.db")
	steps := 0
	var last, all int64
	err := s.Backup(t.Context(), dest, BackupOptions{Progress: func(done, total int64) {
		if done <= last {
			t.Errorf("the progress went from %d to %d", last, done)
		}
		last, all = done, total
		steps++
		if err := other.Store(t.Context(), memory.NewEntry(memory.Fact, "meanwhile")); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if steps < 3 || last != all {
		t.Errorf("the copy took %d steps and ended at %d of %d bytes", steps, last, all)
	}
	mustLen(t, other, len(many)+steps)
	if info, err := os.Stat(dest); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the backup has mode %v (%v), want 0600", info.Mode(), err)
	}
	mustContain(t, filepath.Dir(dest), "copy.db")
	mustLen(t, mustOpen(t, dest, Options{MustExist: true}), len(many))
}

func TestBackupRefused(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "memory.db"), Options{}, memory.WithEntries(fixture(1)))
	if err := s.In(memory.Scope{Namespace: "a"}).(*Store).Backup(t.Context(), filepath.Join(folder, "b"), BackupOptions{}); !errors.Is(err, memory.ErrScope) {
		t.Errorf("a part was backed up: %v", err)
	}
	if err := s.Backup(t.Context(), s.path, BackupOptions{Overwrite: true}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("backed up over itself: %v", err)
	}
	there := filepath.Join(folder, "there")
	mustWrite(t, there, []byte("precious"))
	if err := s.Backup(t.Context(), there, BackupOptions{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), there) {
		t.Errorf("over a file that exists: %v", err)
	}
	used := filepath.Join(folder, "used.db")
	if err := mustOpen(t, used, Options{}).Store(t.Context(), fixture(9)); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), used, BackupOptions{Overwrite: true}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("over a database in use: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Backup(ctx, there, BackupOptions{Overwrite: true, Progress: func(int64, int64) { cancel() }})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if content := files(t, folder)["there"]; string(content) != "precious" {
		t.Errorf("a backup that failed has changed the old one to %.20q", content)
	}
	if err := s.Backup(t.Context(), there, BackupOptions{Overwrite: true}); err != nil {
		t.Error(err)
	}
	mustHave(t, mustOpen(t, there, Options{MustExist: true}), 1)
}

func TestBackupDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	mustMake(t, path, 3)
	mustExec(t, path, `UPDATE entry SET memory = 'changed' WHERE row_id = 2`)
	dest := filepath.Join(t.TempDir(), "copy.db")
	err := mustOpen(t, path, Options{}).Backup(t.Context(), dest, BackupOptions{})
	if !errors.Is(err, ErrCorrupt) {
		t.Errorf("damage was backed up: %v", err)
	}
	mustContain(t, filepath.Dir(dest))
}

// TestRestore goes back to a backup, and back again to what was replaced.
func TestRestore(t *testing.T) {
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "memory.db"), filepath.Join(folder, "backup.db")
	s := mustOpenAlone(t, path)
	if err := errors.Join(s.Store(t.Context(), fixture(1)), s.Backup(t.Context(), backup, BackupOptions{}), s.Store(t.Context(), fixture(2))); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreBackup(t.Context(), path, backup, BackupOptions{}); !errors.Is(err, ErrInUse) || !errors.Is(err, memory.ErrBusy) {
		t.Errorf("restored over a store in use: %v", err)
	}
	mustHave(t, s, 1, 2)
	if err := s.Store(t.Context(), fixture(3)); err != nil {
		t.Errorf("after a restore that was refused: %v", err)
	}
	mustClose(t, s)

	replaced, err := RestoreBackup(t.Context(), path, backup, BackupOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mustContain(t, folder, "memory.db", "memory.db.lock", "backup.db", filepath.Base(replaced))
	s = mustOpenAlone(t, path)
	mustHave(t, s, 1)
	mustClose(t, s)

	if _, err := RestoreBackup(t.Context(), path, replaced, BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	mustHave(t, mustOpen(t, path, Options{MustExist: true}), 1, 2, 3)
	again, err := RestoreBackup(t.Context(), filepath.Join(folder, "new", "memory.db"), backup, BackupOptions{})
	if again != "" || err != nil {
		t.Errorf("restored to where nothing was: %q, %v", again, err)
	}
}

// TestRestoreBusy has another process write: a restore waits as long as it is
// told to.
func TestRestoreBusy(t *testing.T) {
	folder := t.TempDir()
	path, backup := filepath.Join(folder, "memory.db"), filepath.Join(folder, "backup.db")
	mustMake(t, path, 1)
	mustMake(t, backup, 2)
	other := newQueue(path + ".lock")
	if err := other.enter(t.Context()); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	_, err := RestoreBackup(t.Context(), path, backup, BackupOptions{BusyTimeout: time.Millisecond})
	if !errors.Is(err, memory.ErrBusy) || errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), path) {
		t.Errorf("RestoreBackup gave %v, want ErrBusy with the path", err)
	}
	if took := time.Since(begin); took > defaultBusyTimeout {
		t.Errorf("it took %v", took)
	}
	if err := other.leave(); err != nil {
		t.Fatal(err)
	}
	if _, err := RestoreBackup(t.Context(), path, backup, BackupOptions{}); err != nil {
		t.Error(err)
	}
}

// TestRestoreBesideLog restores where a crash has left a log. SQLite would
// take it for that of the restored file and show the old rows.
func TestRestoreBesideLog(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, path string){
		"with its database": func(*testing.T, string) {},
		"alone": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
		"of a damaged one": func(t *testing.T, path string) { mustWrite(t, path, []byte(strings.Repeat("no database ", 1000))) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path, backup := filepath.Join(folder, "memory.db"), filepath.Join(folder, "backup.db")
			s := mustOpen(t, filepath.Join(folder, "live.db"), Options{})
			if err := errors.Join(s.Store(t.Context(), fixture(1)), s.Backup(t.Context(), backup, BackupOptions{}), s.Store(t.Context(), fixture(2))); err != nil {
				t.Fatal(err)
			}
			for _, side := range []string{"", "-wal"} { // as after a crash
				mustWrite(t, path+side, files(t, folder)["live.db"+side])
			}
			leave(t, path)
			if _, err := RestoreBackup(t.Context(), path, backup, BackupOptions{}); err != nil {
				t.Fatal(err)
			}
			if size, err := sizeOf(path + "-wal"); size != 0 || err != nil {
				t.Errorf("a log of %d bytes is left (%v)", size, err)
			}
			mustHave(t, mustOpen(t, path, Options{MustExist: true}), 1)
		})
	}
}

func TestRestoreRefused(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "memory.db")
	mustMake(t, path, 3)
	damaged, newer, text, empty := filepath.Join(folder, "damaged"), filepath.Join(folder, "newer"), filepath.Join(folder, "text"), filepath.Join(folder, "empty")
	mustMake(t, damaged, 3)
	mustExec(t, damaged, `DELETE FROM entry WHERE row_id = 2`)
	mustMake(t, newer, 3)
	mustExec(t, newer, `PRAGMA user_version = 99`)
	mustWrite(t, text, []byte("to whom it may concern: this is no database"))
	mustWrite(t, empty, nil)
	before := files(t, folder)
	for backup, want := range map[string]error{
		damaged: ErrCorrupt, newer: ErrNewerSchema, text: ErrNotStore, empty: ErrNotStore, path: memory.ErrInvalid,
		filepath.Join(folder, "missing"): fs.ErrNotExist,
	} {
		if _, err := RestoreBackup(t.Context(), path, backup, BackupOptions{}); !errors.Is(err, want) {
			t.Errorf("%s was restored: %v, want %v", filepath.Base(backup), err, want)
		}
	}
	for name, content := range files(t, folder) {
		if string(content) != string(before[name]) {
			t.Errorf("%s has changed", name)
		}
	}
	mustHave(t, mustOpen(t, path, Options{}), 1, 2, 3)
}
