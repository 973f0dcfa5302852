package filestore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/loopmem/loopmem/memory/filestore"
)

// Every spelling of a path is a handle on the same state, before the file
// exists as well as after. All are open at once here: had two of them states
// of their own, the second would find the lock taken or miss an entry.
func TestOpen_SpellingsOfOnePath(t *testing.T) {
	for _, exists := range []bool{false, true} {
		t.Run(map[bool]string{false: "missing file", true: "existing file"}[exists], func(t *testing.T) {
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			if err := os.MkdirAll(in("real/deep"), 0o700); err != nil {
				t.Fatal(err)
			}
			for link, target := range map[string]string{
				"linked-folder": "real",
				"linked-file":   "real/memory.jsonl",
				"chain":         "linked-file",
				"absolute":      in("linked-folder/memory.jsonl"),
			} {
				if err := os.Symlink(target, in(link)); err != nil {
					t.Fatal(err)
				}
			}
			if exists {
				if err := os.WriteFile(in("real/memory.jsonl"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(in("real"))

			var handles []*filestore.Store
			for _, path := range []string{
				in("real/memory.jsonl"),
				"memory.jsonl",
				"./deep/../memory.jsonl",
				"../linked-folder/memory.jsonl",
				in("linked-file"),
				in("chain"),
				in("absolute"),
			} {
				handles = append(handles, mustOpen(t, path))
			}
			for i, s := range handles {
				mustStore(t, s, numbered(byte(i+1), "text"))
			}
			for _, s := range handles {
				if s.Path() != handles[0].Path() {
					t.Errorf("one handle says its file is %s, another %s", s.Path(), handles[0].Path())
				}
				if n, err := s.Len(t.Context()); n != len(handles) || err != nil {
					t.Errorf("one handle sees %d entries, %v, want %d", n, err, len(handles))
				}
			}
			if err := handles[0].Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantContent(t, "memory.jsonl", jsonl(mustList(t, handles[0])...))
			if info, err := os.Lstat(in("chain")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
				t.Errorf("the rewrite replaced the link: %v, %v", info, err)
			}
		})
	}
}

func TestOpen_FilesOfOneNameInTwoFoldersAreTwo(t *testing.T) {
	a, b := mustOpen(t, mustWrite(t, "")), mustOpen(t, mustWrite(t, ""))
	mustStore(t, a, three()...)
	wantEntries(t, b)
}

// As documented: a rewrite parts the file from its hard links.
func TestRewrite_LeavesHardLinksBehind(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	link := filepath.Join(filepath.Dir(path), "link.jsonl")
	if err := os.Link(path, link); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no hard links here")
	} else if err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, path)
	if _, err := s.Forget(t.Context(), three()[0].ID); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, jsonl(three()[1:]...))
	wantContent(t, link, jsonl(three()...))
}
