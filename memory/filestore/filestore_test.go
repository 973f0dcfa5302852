package filestore_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
)

// noon is the time in most tests: the stores under test never ask for another.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)

func atNoon() time.Time { return noon }

// numbered returns an entry that is the same in every run.
func numbered(n byte, text string) memory.Entry {
	e := memory.NewEntry(memory.Fact, text)
	e.ID = uuid.UUID{6: 0x40, 8: 0x80, 15: n}
	e.CreatedAt = noon.Add(-time.Duration(n) * time.Hour)
	return e
}

// three are the entries of most tests. They share no words, lest they merge.
func three() []memory.Entry {
	return []memory.Entry{
		numbered(1, "the deploy script needs a VPN"),
		numbered(2, "Grüße: naïve café, 日本語 🎉"),
		numbered(3, "prefer small commits"),
	}
}

// jsonl returns the entries as the store writes them.
func jsonl(entries ...memory.Entry) string {
	var text []byte
	for i := range entries {
		text = append(entries[i].AppendJSON(text), '\n')
	}
	return string(text)
}

// mustWrite makes a file of that content in a new directory.
func mustWrite(tb testing.TB, content string) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "memory.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func mustRead(tb testing.TB, path string) string {
	tb.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// mustOpen opens the file with the clock at noon and closes it in the end.
func mustOpen(tb testing.TB, path string, options ...memory.Option) *filestore.Store {
	tb.Helper()
	s, err := filestore.Open(path, append([]memory.Option{memory.WithClock(atNoon)}, options...)...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { mustClose(tb, s) })
	return s
}

func mustClose(tb testing.TB, s *filestore.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Fatal(err)
	}
}

func mustStore(tb testing.TB, s memory.LoopMemory, entries ...memory.Entry) {
	tb.Helper()
	for _, e := range entries {
		if err := s.Store(tb.Context(), e); err != nil {
			tb.Fatal(err)
		}
	}
}

// mustList returns all entries of a store, in their order.
func mustList(tb testing.TB, s memory.Lister) []memory.Entry {
	tb.Helper()
	var all []memory.Entry
	for e, err := range s.Entries(tb.Context(), memory.Selection{}) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func wantEntries(tb testing.TB, s memory.Lister, want ...memory.Entry) {
	tb.Helper()
	if diff := cmp.Diff(cloned(want), mustList(tb, s)); diff != "" {
		tb.Errorf("the store holds other entries (-want +got):\n%s", diff)
	}
}

// cloned brings the entries into the form in which stores return them.
func cloned(entries []memory.Entry) []memory.Entry {
	var out []memory.Entry
	for i := range entries {
		out = append(out, entries[i].Clone())
	}
	return out
}

func wantContent(tb testing.TB, path, want string) {
	tb.Helper()
	if diff := cmp.Diff(strings.SplitAfter(want, "\n"), strings.SplitAfter(mustRead(tb, path), "\n")); diff != "" {
		tb.Errorf("%s holds other lines (-want +got):\n%s", filepath.Base(path), diff)
	}
}

// wantFiles checks what lies beside the file, other than its lock.
func wantFiles(tb testing.TB, path string, want ...string) {
	tb.Helper()
	siblings, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		tb.Fatal(err)
	}
	var got []string
	for _, sibling := range siblings {
		if sibling.Name() != filepath.Base(path)+".lock" {
			got = append(got, sibling.Name())
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		tb.Errorf("other files in the directory (-want +got):\n%s", diff)
	}
}

// overwrite changes the content of a file in place.
func overwrite(path, content string) error { return os.WriteFile(path, []byte(content), 0o600) }
