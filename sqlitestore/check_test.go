package sqlitestore

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// TestCheck changes a sound database behind the back of the store, and wants
// to hear of it: as damage where something stored is concerned, else as an
// index that can be made anew.
func TestCheck(t *testing.T) {
	for name, c := range map[string]struct {
		statements string
		kind       Kind
		want       string // within one of the problems
	}{
		"nothing":             {`SELECT 1`, "", ""},
		"entry gone":          {`DELETE FROM entry WHERE row_id = 2`, Damage, "there are 4 entries, of the 5"},
		"all gone":            {`DELETE FROM entry`, Damage, "there are 0 entries, of the 5"},
		"store row gone":      {`DELETE FROM store`, Damage, "cannot be read"},
		"one for another":     {`UPDATE entry SET checksum = checksum + 1 WHERE row_id = 2`, Damage, "not those that were stored"},
		"text":                {`UPDATE entry SET memory = memory || '.' WHERE row_id = 2`, Damage, "the content is not"},
		"undecodable":         {`UPDATE entry SET tags = '[' WHERE row_id = 2`, Damage, "cannot be read"},
		"embedding":           {`UPDATE embedding SET vector = zeroblob(8) WHERE row_id = 2`, Damage, "the content is not"},
		"embedding gone":      {`DELETE FROM embedding WHERE row_id = 2`, Damage, "the content is not"},
		"relevance":           {`UPDATE entry_state SET relevance = 0.25 WHERE row_id = 2`, Damage, "the relevance, strength"},
		"order":               {`UPDATE entry_state SET position = 99 WHERE row_id = 2`, Damage, "the relevance, strength"},
		"state gone":          {`DELETE FROM entry_state WHERE row_id = 2`, Damage, "1 entries have no row"},
		"orphaned stamp":      {`INSERT INTO access_stamp VALUES (77, 1)`, Damage, "refers to a row of entry"},
		"orphaned link":       {`INSERT INTO link VALUES (zeroblob(16), 77)`, Damage, "refers to a row of entry"},
		"archive":             {`UPDATE archive SET entry = replace(entry, 'deploy', 'destroy')`, Damage, "not what was archived"},
		"table gone":          {`DROP TABLE archive`, Damage, "cannot be read"},
		"order by strength":   {`UPDATE entry_state SET fade = 0 WHERE row_id = 2`, Index, "the order by strength"},
		"piece gone":          {`DELETE FROM piece WHERE piece = 'vault,'`, Index, "is missing"},
		"piece changed":       {`UPDATE piece SET piece = 'valut,' WHERE piece = 'vault,'`, Index, "is missing"},
		"word":                {`UPDATE piece SET word = 'x' WHERE piece = 'vault,'`, Index, "the word of"},
		"piece of nobody":     {`INSERT INTO piece (piece) VALUES ('nobody')`, Index, "belong to no entry"},
		"tag":                 {`UPDATE tag SET lowered = 'x' WHERE tag = 'ops'`, Index, "the lower case"},
		"posting gone":        {`DELETE FROM posting WHERE rowid = 2`, Index, "row 2 is not indexed"},
		"posting of nobody":   {`INSERT INTO posting (rowid, tokens) VALUES (77, 'm1')`, Index, "row 77 is not indexed"},
		"trigrams gone":       {`DELETE FROM piece_trigram WHERE rowid = 1`, Index, "cannot be found"},
		"trigrams of nothing": {`INSERT INTO piece_trigram (rowid, piece) VALUES (777, 'ghost')`, Index, "it holds"},
		"link gone":           {`DELETE FROM link`, Index, "are not those it names"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "memory.db")
			mustMake(t, path, 5)
			s := mustOpen(t, path, Options{})
			mustExec(t, path, c.statements)
			problems, err := s.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && len(problems) == 0 {
				return
			}
			if !slices.ContainsFunc(problems, func(p Problem) bool {
				return p.Kind == c.kind && strings.Contains(p.String(), c.want)
			}) {
				t.Errorf("Check gave %v, want %s: ...%s...", problems, c.kind, c.want)
			}
		})
	}
}

// mustMake makes a database of so many entries and one that is archived.
func mustMake(t testing.TB, path string, entries int) {
	t.Helper()
	s := mustOpenAlone(t, path)
	var batch []memory.Entry
	for n := range entries + 1 {
		e := fixture(n)
		e.Pinned = n > 0
		e.Strength = min(1, e.Strength)
		batch = append(batch, e)
	}
	if _, err := s.StoreBatch(t.Context(), batch, memory.Fail); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Prune(t.Context(), 1, 0, ""); n != 1 || err != nil {
		t.Fatalf("Prune gave %d and %v, want 1", n, err)
	}
	mustClose(t, s)
}
