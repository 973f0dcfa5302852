//go:build unix

package sqlitestore_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// addAsUser has a child without the rights of root store an entry, and returns
// what it complains about, or "".
func addAsUser(t *testing.T, path string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"=add", childPath+"="+path, childName+"=a user")
	cmd.Stdin = strings.NewReader("go\n")
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if os.Geteuid() == 0 {
		const nobody = 65534
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		cmd.Path = readableByAll(t, cmd.Path)
	}
	if err := cmd.Run(); err != nil && complaint.Len() == 0 {
		t.Skipf("no child can be started as another user: %v", err)
	}
	return complaint.String()
}

// readableByAll copies a program to where every user can start it.
func readableByAll(t *testing.T, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(openFolder(t), "program")
	if err := os.WriteFile(program, content, 0o700); err != nil {
		t.Fatal(err)
	}
	mustChmod(t, program, 0o755)
	return program
}

// openFolder makes a temporary folder that every user can look into.
func openFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	mustChmod(t, filepath.Dir(folder), 0o755)
	mustChmod(t, folder, 0o755)
	return folder
}

func mustChmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestPermissions takes from a user the right to write to the file or to its
// folder, in every way. The error names the file and says what to do; nothing
// is changed, and nothing is taken for an empty store.
func TestPermissions(t *testing.T) {
	const all = 0o777
	for name, c := range map[string]struct {
		folder, file fs.FileMode
		want         string
	}{
		"all rights":        {all, 0o666, ""},
		"folder read-only":  {0o555, 0o666, "make files in"},
		"file read-only":    {all, 0o444, "cannot be written"},
		"file not readable": {all, 0o000, "cannot be written"},
		"both read-only":    {0o555, 0o444, "make files in"},
		"folder locked":     {0o000, 0o666, "cannot be written"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(openFolder(t), "folder")
			if err := os.Mkdir(folder, all); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(folder, "memory.db")
			s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{}, memory.WithEntries(memory.NewEntry(memory.Fact, "there")))
			if err != nil {
				t.Fatal(err)
			}
			closeStore(t, s)
			if err := os.Remove(path + ".lock"); err != nil { // which is root's, here
				t.Fatal(err)
			}
			mustChmod(t, path, c.file)
			mustChmod(t, folder, c.folder)
			complaint := addAsUser(t, path)
			mustChmod(t, folder, all)
			mustChmod(t, path, 0o600)

			want := 1
			if c.want == "" {
				want = 2
			}
			if c.want == "" && complaint != "" || !strings.Contains(complaint, c.want) ||
				c.want != "" && (!strings.Contains(complaint, path) || !strings.Contains(complaint, "let this user write")) {
				t.Errorf("the child says %q, want %q with the path and what to do", complaint, c.want)
			}
			if s, err = sqlitestore.Open(t.Context(), path, sqlitestore.Options{MustExist: true}); err != nil {
				t.Fatal(err)
			}
			defer closeStore(t, s)
			if n, err := s.Len(t.Context()); n != want || err != nil {
				t.Errorf("there are %d entries (%v), want %d", n, err, want)
			}
		})
	}
}
