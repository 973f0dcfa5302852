package sqlitestore

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// TestChangesBounded replaces entries without end in a store that is never
// consolidated. A mirror that has not been asked since long ago cannot know
// from what is left which rows are gone, and must be made anew.
func TestChangesBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, asked := mustOpen(t, path, Options{}), mustOpen(t, path, Options{MirrorAfter: 1})
	const many = 2000
	batch := make([]memory.Entry, many)
	replace := func(word string) {
		t.Helper()
		for n := range batch {
			e := memory.NewEntry(memory.Fact, fmt.Sprintf("%s %d", word, n%10))
			e.ID = fixture(1).ID
			e.ID[0], e.ID[1] = byte(n), byte(n>>8)
			batch[n] = e
		}
		if _, err := s.StoreBatch(t.Context(), batch, memory.Replace); err != nil {
			t.Fatal(err)
		}
	}
	count := func(word string) (n int) {
		t.Helper()
		matches, err := asked.Retrieve(t.Context(), word, len(batch))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range matches {
			if m.Matched {
				n++
			}
		}
		return n
	}
	replace("first")
	if err := asked.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := count("first"); n != len(batch) || asked.mirroring.mirror == nil {
		t.Fatalf("found %d of %d before", n, len(batch))
	}
	remembered := asked.mirroring.version
	const rounds = rememberedChanges/many + 2
	for n := range rounds {
		replace(fmt.Sprint("later", n+1))
	}
	var kept int
	var now standing
	err := s.view(t.Context(), func(t *tx) (err error) {
		if now, err = t.standing(); err != nil {
			return err
		}
		return t.get(&kept, `SELECT count(*) FROM change`)
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept > rememberedChanges || now.ChangesSince <= remembered {
		t.Errorf("%d changes are kept, since version %d; want %d at most, of later than %d", kept, now.ChangesSince, rememberedChanges, remembered)
	}
	if n := count("first"); n != 0 {
		t.Errorf("%d entries are found that were replaced long ago", n)
	}
	if n := count(fmt.Sprint("later", rounds)); n != len(batch) {
		t.Errorf("%d of %d entries are found", n, len(batch))
	}
}
