package filestore_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
)

func TestStore_AppendsOneLineAndKeepsWhatIsThere(t *testing.T) {
	all := three()
	// Spacing and key order as no store of ours writes them: an append must
	// leave the bytes before it alone.
	odd := `{"memory":"by hand", "id":"00000000-0000-4000-8000-0000000000ff","category":"fact","tags":[],` +
		`"created_at":{"secs_since_epoch":1700000000,"nanos_since_epoch":0},"relevance":1,"access_count":0,"validated":false }` + "\n"
	path := mustWrite(t, odd)
	s := mustOpen(t, path)
	mustStore(t, s, all...)
	wantContent(t, path, odd+jsonl(all...))
}

func TestStore_ReplacementMovesToTheEndAndSurvivesReopening(t *testing.T) {
	all := three()
	path := mustWrite(t, jsonl(all...))
	s := mustOpen(t, path)
	changed := all[0]
	changed.Memory = "the deploy script needs nothing"
	mustStore(t, s, changed)
	wantEntries(t, s, all[1], all[2], changed)
	wantContent(t, path, jsonl(all[0], all[1], all[2], changed))

	mustClose(t, s)
	s = mustOpen(t, path)
	wantEntries(t, s, all[1], all[2], changed)
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, jsonl(all[1], all[2], changed))
}

func TestStoreBatch_WritesAllOrNothing(t *testing.T) {
	all := three()
	path := mustWrite(t, jsonl(all[0]))
	s := mustOpen(t, path)
	bad := all[2]
	bad.Category = ""
	if _, err := s.StoreBatch(t.Context(), []memory.Entry{all[1], bad}, memory.Keep); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("a batch with an invalid entry gave %v, want ErrInvalid", err)
	}
	wantContent(t, path, jsonl(all[0]))

	changed := all[0]
	changed.Memory = "not to be stored"
	result, err := s.StoreBatch(t.Context(), []memory.Entry{changed, all[1], all[2]}, memory.Keep)
	if want := (memory.BatchResult{Stored: 2, Kept: 1}); err != nil || result != want {
		t.Errorf("got %+v, %v, want %+v", result, err, want)
	}
	wantContent(t, path, jsonl(all...))
}

func TestStore_CapacityHoldsAfterReopening(t *testing.T) {
	all := three()
	path := mustWrite(t, "")
	s := mustOpen(t, path, memory.WithCapacity(2))
	mustStore(t, s, all...)
	// All are equally strong but for their age, so the oldest has to leave.
	wantEntries(t, s, all[0], all[2])
	wantContent(t, path, jsonl(all[0], all[2]))
}

func TestOpen_CreatesWhatIsMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new folder", "Ünï #1?%41.jsonl")
	s := mustOpen(t, path)
	wantFiles(t, path, filepath.Base(path))
	mustStore(t, s, three()...)
	wantContent(t, path, jsonl(three()...))
	if runtime.GOOS != "windows" {
		for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: got %v, %v, want the mode %v", name, info.Mode().Perm(), err, want)
			}
		}
	}
}

func TestOpen_RefusesWhatIsNoFile(t *testing.T) {
	if _, err := filestore.Open(t.TempDir()); err == nil {
		t.Error("a directory was opened as a file")
	}
	if _, err := filestore.OpenReadOnly(os.DevNull); err == nil {
		t.Error("a device was opened as a file")
	}
	if _, err := filestore.Open(""); err == nil {
		t.Error("the empty path was opened")
	}
}

func TestOpen_WithEntriesKeepsThoseThatExist(t *testing.T) {
	all := three()
	path := mustWrite(t, jsonl(all[0]))
	changed := all[0]
	changed.Memory = "not to be stored"
	s := mustOpen(t, path, memory.WithEntries(changed, all[1]))
	wantEntries(t, s, all[0], all[1])
	wantContent(t, path, jsonl(all[0], all[1]))
}

func TestNew_ReplacesTheFileWithItsFirstWrite(t *testing.T) {
	all := three()
	for name, write := range map[string]func(*filestore.Store) error{
		"Store": func(s *filestore.Store) error { return s.Store(t.Context(), all[2]) },
		"Flush": func(s *filestore.Store) error { return s.Flush(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			const unreadable = "no JSON at all\n"
			path := mustWrite(t, unreadable)
			s, err := filestore.New(path)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			wantEntries(t, s)
			wantContent(t, path, unreadable)
			if err := write(s); err != nil {
				t.Fatal(err)
			}
			wantContent(t, path, jsonl(mustList(t, s)...))
			mustStore(t, s, all[0])
			wantContent(t, path, jsonl(mustList(t, s)...))
		})
	}
}

func TestNew_SharesTheStateOfAnOpenFile(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	mustOpen(t, path)
	s, err := filestore.New(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantEntries(t, s, three()...)
}

func TestNew_LeavesTheDiskAloneUntilItWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.jsonl")
	s, err := filestore.New(path)
	if err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	wantFiles(t, path)
}

func TestHandles_HaveOptionsOfTheirOwn(t *testing.T) {
	secret := numbered(1, "the launch code")
	secret.Confidentiality = memory.Restricted
	path := mustWrite(t, jsonl(secret))
	lifted, plain := mustOpen(t, path, memory.WithRestricted()), mustOpen(t, path)
	for s, want := range map[*filestore.Store]int{lifted: 1, plain: 0} {
		matches, err := s.Retrieve(t.Context(), "launch", 5)
		if err != nil || len(matches) != want {
			t.Errorf("got %d entries, %v, want %d", len(matches), err, want)
		}
	}
}

func TestHandles_AreClosedOneByOne(t *testing.T) {
	path := mustWrite(t, "")
	first, second := mustOpen(t, path), mustOpen(t, path)
	scoped := first.In(memory.Scope{Namespace: "a"})
	mustClose(t, first)
	mustClose(t, first)
	if err := first.Store(t.Context(), three()[0]); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("Store on a closed handle gave %v, want ErrClosed", err)
	}
	if _, err := scoped.Len(t.Context()); !errors.Is(err, memory.ErrClosed) {
		t.Errorf("Len on a handle made by a closed one gave %v, want ErrClosed", err)
	}
	for _, err := range first.Entries(t.Context(), memory.Selection{}) {
		if !errors.Is(err, memory.ErrClosed) {
			t.Errorf("Entries on a closed handle gave %v, want ErrClosed", err)
		}
	}
	mustStore(t, second, three()...)
}

func TestIn_AppendsWithTheAgentOfTheScope(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	s := mustOpen(t, path)
	scoped := s.In(memory.Scope{Namespace: "tg:1"})
	note := numbered(9, "stays in its namespace")
	mustStore(t, scoped, note)
	note.Agent = "tg:1"
	wantEntries(t, scoped, note)
	wantContent(t, path, jsonl(append(three(), note)...))

	if _, err := scoped.Update(t.Context(), three()[0].ID, memory.Change{}); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("updating an entry outside the scope gave %v, want ErrNotFound", err)
	}
	if found, err := scoped.Forget(t.Context(), note.ID); !found || err != nil {
		t.Errorf("forgetting gave %t, %v", found, err)
	}
	wantContent(t, path, jsonl(three()...))
}

func TestRecall_AccessesAreWrittenByTheNextRewrite(t *testing.T) {
	for name, write := range map[string]func(*filestore.Store) error{
		"Close":  (*filestore.Store).Close,
		"Flush":  func(s *filestore.Store) error { return s.Flush(t.Context()) },
		"Forget": func(s *filestore.Store) error { _, err := s.Forget(t.Context(), three()[2].ID); return err },
	} {
		t.Run(name, func(t *testing.T) {
			path := mustWrite(t, jsonl(three()...))
			s := mustOpen(t, path)
			found, err := s.Recall(t.Context(), memory.Query{Text: "deploy"})
			if err != nil || len(found.Hits) != 1 {
				t.Fatalf("got %d hits, %v", len(found.Hits), err)
			}
			wantContent(t, path, jsonl(three()...))
			accessed := three()[0]
			accessed.Touch(noon, true)
			wantEntries(t, s, accessed, three()[1], three()[2])

			want := jsonl(mustList(t, s)...)
			if err := write(s); err != nil {
				t.Fatal(err)
			}
			if name == "Forget" {
				want = jsonl(accessed, three()[1])
			}
			wantContent(t, path, want)
		})
	}
}

func TestClose_WritesNothingWithoutNeed(t *testing.T) {
	content := "\n" + jsonl(three()...) // a rewrite would drop the blank line
	path := mustWrite(t, content)
	s := mustOpen(t, path)
	if _, err := s.Retrieve(t.Context(), "deploy", 3); err != nil {
		t.Fatal(err)
	}
	mustClose(t, s)
	wantContent(t, path, content)
}

func TestChanges_WithoutEffectLeaveTheFile(t *testing.T) {
	content := "\n" + jsonl(three()...)
	path := mustWrite(t, content)
	s := mustOpen(t, path)
	if found, err := s.Forget(t.Context(), numbered(9, "").ID); found || err != nil {
		t.Errorf("forgetting an unknown entry gave %t, %v", found, err)
	}
	if n, err := s.Prune(t.Context(), 0, time.Hour, ""); n != 0 || err != nil {
		t.Errorf("pruning nothing gave %d, %v", n, err)
	}
	if err := s.Link(t.Context(), three()[0].ID, numbered(9, "").ID); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("linking with an unknown entry gave %v, want ErrNotFound", err)
	}
	wantContent(t, path, content)
}

func TestRewrite_KeepsThePermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such permissions")
	}
	path := mustWrite(t, jsonl(three()...))
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := mustOpen(t, path).Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v, %v, want 0640", info.Mode().Perm(), err)
	}
}

func TestForeignChanges_AreNotWrittenOver(t *testing.T) {
	foreign := jsonl(numbered(9, "written by another program"))
	for name, change := range map[string]func(path string) error{
		"appended": func(path string) error {
			return overwrite(path, jsonl(three()...)+foreign)
		},
		"replaced by one of the same length": func(path string) error {
			if err := overwrite(path+".new", jsonl(three()...)); err != nil {
				return err
			}
			return os.Rename(path+".new", path)
		},
		"removed": os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			path := mustWrite(t, jsonl(three()...))
			s := mustOpen(t, path)
			if err := change(path); err != nil {
				t.Fatal(err)
			}
			if err := s.Store(t.Context(), numbered(8, "too late")); !errors.Is(err, filestore.ErrChanged) {
				t.Errorf("Store gave %v, want ErrChanged", err)
			}
			if _, err := s.Consolidate(t.Context()); !errors.Is(err, filestore.ErrChanged) {
				t.Errorf("Consolidate gave %v, want ErrChanged", err)
			}
			wantEntries(t, s, three()...)
			mustClose(t, s)
			want := mustList(t, mustOpen(t, path))
			if name == "removed" && len(want) != 0 || name != "removed" && len(want) < 3 {
				t.Errorf("after reopening there are %d entries", len(want))
			}
		})
	}
}

func TestStore_ConcurrentHandlesLoseNothing(t *testing.T) {
	path := mustWrite(t, "")
	first := mustOpen(t, path, memory.WithConsolidation(memory.Consolidation{PruneFloor: 0}))
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		s := mustOpen(t, path)
		wg.Go(func() {
			for i := range each {
				if err := s.Store(t.Context(), numbered(byte(w*each+i), "text")); err != nil {
					t.Error(err)
				}
				if i == each/2 {
					if _, err := first.Consolidate(t.Context()); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if n, err := first.Len(t.Context()); n != writers*each || err != nil {
		t.Errorf("the store holds %d entries, %v, want %d", n, err, writers*each)
	}
	want := mustList(t, first)
	if err := first.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantContent(t, path, jsonl(want...))
}

func TestOpenReadOnly_ChangesNothing(t *testing.T) {
	torn := jsonl(three()...) + `{"id":"00000000`
	path := mustWrite(t, torn)
	s, err := filestore.OpenReadOnly(path, memory.WithClock(atNoon))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	wantEntries(t, s, three()...)
	if found, err := s.Recall(t.Context(), memory.Query{}); err != nil || len(found.Hits) != 3 {
		t.Errorf("recalling gave %d hits, %v", len(found.Hits), err)
	}
	id := three()[0].ID
	for name, write := range map[string]func() error{
		"Store":       func() error { return s.Store(t.Context(), numbered(9, "new")) },
		"Consolidate": func() error { _, err := s.Consolidate(t.Context()); return err },
		"Update":      func() error { _, err := s.Update(t.Context(), id, memory.Change{}); return err },
		"Forget":      func() error { _, err := s.Forget(t.Context(), id); return err },
		"Link":        func() error { return s.Link(t.Context(), id, three()[1].ID) },
		"Prune":       func() error { _, err := s.Prune(t.Context(), 1, 0, ""); return err },
		"Flush":       func() error { return s.Flush(t.Context()) },
	} {
		if err := write(); !errors.Is(err, filestore.ErrReadOnly) {
			t.Errorf("%s gave %v, want ErrReadOnly", name, err)
		}
	}
	mustClose(t, s)
	wantContent(t, path, torn)
	if _, err := os.Stat(path + ".lock"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a lock was taken: %v", err)
	}
}

func TestOpenReadOnly_BesideAWriter(t *testing.T) {
	path := mustWrite(t, jsonl(three()[:2]...))
	writer := mustOpen(t, path)
	reader, err := filestore.OpenReadOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	mustStore(t, writer, three()[2])
	wantEntries(t, reader, three()[:2]...)
}

func TestOpenReadOnly_MissingFileIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.jsonl")
	if _, err := filestore.OpenReadOnly(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
	wantFiles(t, path)
}
