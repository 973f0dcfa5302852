package filestore_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/memory/filestore/filestoretest"
)

// twins are a file store and the reference beside it, with the same history.
type twins struct {
	file      *filestore.Store
	reference *memory.Store
	path      string
}

// mustTwins returns twins of three entries, the first of which was retrieved
// and so has a pending stamp.
func mustTwins(t *testing.T) *twins {
	t.Helper()
	w := &twins{path: mustWrite(t, jsonl(three()...))}
	options := []memory.Option{memory.WithCapacity(3), memory.WithConsolidation(memory.Consolidation{Decay: true, HalfLife: time.Hour})}
	w.file = mustOpen(t, w.path, options...)
	reference, err := memory.NewStore(append(options, memory.WithClock(atNoon), memory.WithEntries(three()...))...)
	if err != nil {
		t.Fatal(err)
	}
	w.reference = reference
	for _, s := range []memory.Backend{w.file, w.reference} {
		if _, err := s.Retrieve(t.Context(), "deploy", 1); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// wantEqual compares the entries of the twins.
func (w *twins) wantEqual(t *testing.T) {
	t.Helper()
	wantEntries(t, w.file, mustList(t, w.reference)...)
}

// rewrites are the operations that rewrite the file.
var rewrites = map[string]func(*testing.T, memory.Backend) (any, error){
	"Consolidate": func(t *testing.T, s memory.Backend) (any, error) { return s.Consolidate(t.Context()) },
	"Update": func(t *testing.T, s memory.Backend) (any, error) {
		record, err := s.Update(t.Context(), three()[1].ID, memory.Change{Summary: new("changed")})
		return record.Entry, err
	},
	"Forget": func(t *testing.T, s memory.Backend) (any, error) { return s.Forget(t.Context(), three()[1].ID) },
	"Link": func(t *testing.T, s memory.Backend) (any, error) {
		return nil, s.Link(t.Context(), three()[0].ID, three()[1].ID)
	},
	"Prune": func(t *testing.T, s memory.Backend) (any, error) {
		return s.Prune(t.Context(), 1, 2*time.Hour, "")
	},
	"Store beyond the capacity": func(t *testing.T, s memory.Backend) (any, error) {
		return nil, s.Store(t.Context(), numbered(9, "makes another leave"))
	},
	"Flush": func(t *testing.T, s memory.Backend) (any, error) {
		if s, ok := s.(*filestore.Store); ok {
			return nil, s.Flush(t.Context())
		}
		return nil, nil
	},
}

func TestRewrite_FailureBeforeTheRenameChangesNothing(t *testing.T) {
	for name, rewrite := range rewrites {
		for _, stage := range []filestoretest.Stage{
			filestoretest.TempCreate, filestoretest.Write, filestoretest.Sync, filestoretest.Rename,
		} {
			t.Run(name+" at "+string(stage), func(t *testing.T) {
				w := mustTwins(t)
				filestoretest.FailNext(t, w.path, stage)
				result, err := rewrite(t, w.file)
				if !errors.Is(err, filestoretest.ErrInjected) || errors.Is(err, filestore.ErrNotSynced) {
					t.Fatalf("got %v, want the injected fault", err)
				}
				if result != nil && !reflect.ValueOf(result).IsZero() {
					t.Errorf("what did not happen is reported as %v", result)
				}
				wantContent(t, w.path, jsonl(three()...))
				wantFiles(t, w.path, "memory.jsonl")
				w.wantEqual(t)

				// The pending stamp is still there, and the store works.
				for _, s := range []memory.Backend{w.file, w.reference} {
					if _, err := s.Consolidate(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				if first := mustList(t, w.file)[0]; first.AccessCount != 1 {
					t.Errorf("the pending stamp was folded %d times, want once", first.AccessCount)
				}
				w.wantEqual(t)
				wantContent(t, w.path, jsonl(mustList(t, w.reference)...))
			})
		}
	}
}

func TestRewrite_FailureAfterTheRenameStands(t *testing.T) {
	for name, rewrite := range rewrites {
		t.Run(name, func(t *testing.T) {
			w := mustTwins(t)
			filestoretest.FailNext(t, w.path, filestoretest.DirectorySync)
			got, err := rewrite(t, w.file)
			if !errors.Is(err, filestore.ErrNotSynced) || !errors.Is(err, filestoretest.ErrInjected) {
				t.Fatalf("got %v, want ErrNotSynced for the injected fault", err)
			}
			want, err := rewrite(t, w.reference)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("another result (-want +got):\n%s", diff)
			}
			w.wantEqual(t)
			wantContent(t, w.path, jsonl(mustList(t, w.reference)...))
			wantFiles(t, w.path, "memory.jsonl")

			// A stamp that the pass has folded must not be folded again.
			for _, s := range []memory.Backend{w.file, w.reference} {
				if _, err := s.Consolidate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			w.wantEqual(t)
		})
	}
}

func TestNew_FailedFirstWriteLeavesTheOldFile(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	s, err := filestore.New(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	filestoretest.FailNext(t, path, filestoretest.Rename)
	if err := s.Store(t.Context(), numbered(9, "new")); !errors.Is(err, filestoretest.ErrInjected) {
		t.Fatalf("got %v, want the injected fault", err)
	}
	wantEntries(t, s)
	wantContent(t, path, jsonl(three()...))
}

func TestClose_ReleasesTheFileEvenIfItCannotWrite(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	s := mustOpen(t, path)
	if _, err := s.Recall(t.Context(), memory.Query{}); err != nil {
		t.Fatal(err)
	}
	filestoretest.FailNext(t, path, filestoretest.Write)
	if err := s.Close(); !errors.Is(err, filestoretest.ErrInjected) {
		t.Errorf("Close gave %v, want the injected fault", err)
	}
	wantContent(t, path, jsonl(three()...))
	wantEntries(t, mustOpen(t, path), three()...)
}

func TestOpen_FailedRepairLeavesTheTornFile(t *testing.T) {
	torn := jsonl(three()...) + `{"id":`
	path := mustWrite(t, torn)
	filestoretest.FailNext(t, path, filestoretest.Sync)
	if _, err := filestore.Open(path); !errors.Is(err, filestoretest.ErrInjected) {
		t.Fatalf("got %v, want the injected fault", err)
	}
	wantContent(t, path, torn)
	mustOpen(t, path)
	wantContent(t, path, jsonl(three()...))
}

func TestStore_FailedAppendIsCutBack(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	s := mustOpen(t, path)
	filestoretest.FailNext(t, path, filestoretest.AppendWrite)
	if err := s.Store(t.Context(), numbered(8, "lost")); !errors.Is(err, filestoretest.ErrInjected) {
		t.Fatalf("got %v, want the injected fault", err)
	}
	wantEntries(t, s, three()...)
	wantContent(t, path, jsonl(three()...))

	next := numbered(9, "the store goes on")
	mustStore(t, s, next)
	wantContent(t, path, jsonl(append(three(), next)...))
}

func TestStore_FailedReplacementKeepsTheEntryAndItsStamp(t *testing.T) {
	w := mustTwins(t)
	filestoretest.FailNext(t, w.path, filestoretest.AppendWrite)
	newer := three()[0]
	newer.Memory = "never stored"
	if err := w.file.Store(t.Context(), newer); !errors.Is(err, filestoretest.ErrInjected) {
		t.Fatalf("got %v, want the injected fault", err)
	}
	w.wantEqual(t)
	for _, s := range []memory.Backend{w.file, w.reference} {
		if _, err := s.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.wantEqual(t)
}

// An append that can be neither finished nor taken back stops every writer,
// until the file is opened afresh.
func TestStore_AppendThatCannotBeCutBack(t *testing.T) {
	path := mustWrite(t, jsonl(three()...))
	first, second := mustOpen(t, path), mustOpen(t, path)
	filestoretest.FailNext(t, path, filestoretest.AppendWrite, filestoretest.Truncate)
	lost := numbered(8, "lost")
	if err := first.Store(t.Context(), lost); !errors.Is(err, filestore.ErrDamaged) || !errors.Is(err, filestoretest.ErrInjected) {
		t.Fatalf("got %v, want ErrDamaged for the injected fault", err)
	}
	torn := mustRead(t, path)
	if half, ok := strings.CutPrefix(torn, jsonl(three()...)); !ok || half == "" || !strings.HasPrefix(jsonl(lost), half) {
		t.Fatalf("the file does not end in a torn line: %q", torn)
	}

	refused := func(s *filestore.Store) {
		t.Helper()
		for name, write := range map[string]func() error{
			"Store":       func() error { return s.Store(t.Context(), lost) },
			"Consolidate": func() error { _, err := s.Consolidate(t.Context()); return err },
			"Flush":       func() error { return s.Flush(t.Context()) },
			"Forget":      func() error { _, err := s.Forget(t.Context(), three()[0].ID); return err },
		} {
			if err := write(); !errors.Is(err, filestore.ErrDamaged) {
				t.Errorf("%s gave %v, want ErrDamaged", name, err)
			}
		}
		wantContent(t, path, torn)
		wantEntries(t, s, three()...)
	}
	refused(first)
	refused(second)
	mustClose(t, first)
	third := mustOpen(t, path) // shares the state, so this is no fresh open
	refused(third)
	mustClose(t, second)
	mustClose(t, third)

	s := mustOpen(t, path)
	wantContent(t, path, jsonl(three()...))
	mustStore(t, s, lost)
	wantContent(t, path, jsonl(append(three(), lost)...))
}
