package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// mountSmall makes a file system of a few megabytes in memory. That takes the
// rights of root.
func mountSmall(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(folder, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return folder
}

// TestDiskFull fills the disk under an open store. Writes fail with a clear
// error and change nothing, reads go on, and once there is room again the
// store goes on too, without being opened again.
func TestDiskFull(t *testing.T) {
	folder := mountSmall(t)
	path, ballast := filepath.Join(folder, "memory.db"), filepath.Join(folder, "ballast")
	mustWrite(t, ballast, make([]byte, 1<<20))
	s := mustOpen(t, path, Options{})
	var stored []uuid.UUID
	var full error
	for n := 0; full == nil; n++ {
		if n == 5000 {
			t.Fatal("the disk does not get full")
		}
		e := memory.NewEntry(memory.Fact, fmt.Sprintf("text %d %s", n, strings.Repeat("and much more ", 300)))
		if full = s.Store(t.Context(), e); full == nil {
			stored = append(stored, e.ID)
		}
	}
	if !errors.Is(full, ErrDiskFull) || !strings.Contains(full.Error(), path) {
		t.Errorf("the last Store gave %v, want ErrDiskFull with the path", full)
	}
	mustRead := func() {
		t.Helper()
		mustLen(t, s, len(stored))
		for _, id := range stored {
			if _, err := s.Get(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
	mustRead()
	if err := s.Store(t.Context(), memory.NewEntry(memory.Fact, strings.Repeat("still too much ", 9000))); !errors.Is(err, ErrDiskFull) {
		t.Errorf("the next Store gave %v, want ErrDiskFull", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	e := memory.NewEntry(memory.Fact, "there is room again")
	if err := s.Store(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	stored = append(stored, e.ID)
	mustRead()
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("afterwards: %v %v", problems, err)
	}
}

// TestReadOnly opens a store where nothing can be written, and has that happen
// to an open one. It must say so, with the path, and must not take what it
// cannot read for an empty store.
func TestReadOnly(t *testing.T) {
	folder := mountSmall(t) // the permissions of files do not stop root
	path := filepath.Join(folder, "memory.db")
	mustMake(t, path, 3)
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", folder, "", syscall.MS_REMOUNT|flags, "size=4m"); err != nil {
			t.Skipf("the file system cannot be made read-only: %v", err)
		}
	}
	wantReadOnly := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s gave %v, want ErrReadOnly with the path", what, err)
		}
	}
	remount(syscall.MS_RDONLY)
	_, err := Open(t.Context(), path, Options{})
	wantReadOnly("Open", err)
	_, err = Open(t.Context(), filepath.Join(folder, "deeper", "memory.db"), Options{})
	if !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), folder) {
		t.Errorf("Open in a folder that cannot be made gave %v", err)
	}
	if d := mustDiagnose(t, path); !d.Healthy() || d.Entries != 3 {
		t.Errorf("Diagnose gave %+v, want a healthy store of 3 entries", d)
	}
	remount(0)
	mustHave(t, mustOpen(t, path, Options{}), 1, 2, 3)
}
