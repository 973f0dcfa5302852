package sqlitestore

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// Problem is something that Check found to be wrong with a database.
type Problem struct {
	// Subject is what it concerns: a table, an index, an entry's id.
	Subject string `json:"subject"`
	// Detail is what is wrong with it.
	Detail string `json:"detail"`
}

// Check reads the whole database, whatever the scope of the handle, and
// reports what is wrong with it: pages that SQLite finds damaged, rows whose
// checksum does not fit what they hold, references to rows that are not
// there, and indexes that differ from the rows they are made of. No problem
// means that every entry is what was stored and can be found by every word.
//
// It changes nothing and blocks nobody; the time it takes grows with the
// store, and it holds one snapshot for that long.
func (s *Store) Check(ctx context.Context) (problems []Problem, err error) {
	// SQLite's check of an FTS5 table trusts what the connection remembers of
	// it, and calls it damage when another connection has written since.
	err = s.viewFresh(ctx, func(t *tx) error {
		c := check{tx: t, problems: &problems, seed: maphash.MakeSeed()}
		for _, step := range []func() error{c.pages, c.references, c.rows, c.vocabulary, c.trigrams, c.postings, c.links} {
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return problems, fmt.Errorf("check: %w", err)
	}
	return problems, nil
}

// check is one run of Check.
type check struct {
	*tx
	problems *[]Problem
	seed     maphash.Seed

	pieceIDs map[string]int64
	tagIDs   map[string]int64
}

func (c *check) report(subject, detail string, args ...any) {
	*c.problems = append(*c.problems, Problem{subject, fmt.Sprintf(detail, args...)})
}

// pages has SQLite look at its own structures, indexes of tables included.
func (c *check) pages() error {
	var lines []string
	if err := c.collect(&lines, `PRAGMA integrity_check`); err != nil {
		return err
	}
	for _, line := range lines {
		if line != "ok" {
			c.report("database", "%s", line)
		}
	}
	return nil
}

func (c *check) references() error {
	return c.each(func(rows *sqlx.Rows) error {
		var table, parent string
		var rowID *int64
		var key int
		if err := rows.Scan(&table, &rowID, &parent, &key); err != nil {
			return err
		}
		c.report(table, "a row refers to a row of %s that is not there", parent)
		return nil
	}, `PRAGMA foreign_key_check`)
}

// rows compares every entry with its checksums and with what is computed
// from it beside it.
func (c *check) rows() error {
	var lonely int
	err := c.get(&lonely, `SELECT (SELECT count(*) FROM entry) - (SELECT count(*) FROM entry JOIN entry_state USING (row_id))`)
	if err != nil {
		return err
	}
	if lonely != 0 {
		c.report("entry", "%d entries have no row in entry_state", lonely)
	}
	var derived struct {
		Fade float64 `db:"fade"`
		Base int64   `db:"strength_base"`
	}
	return c.eachRow(func(r row) error {
		id := r.entry.ID.String()
		if contentSum(&r.entry) != r.contentSum {
			c.report(id, "the content is not what was stored")
		}
		if stateSum(r.rowID, r.position, &r.entry) != r.stateSum {
			c.report(id, "the relevance, strength or access fields are not what was stored")
		}
		err := c.get(&derived, `SELECT fade, strength_base FROM entry_state WHERE row_id = ?`, r.rowID)
		if err == nil && (derived.Fade != fadeOf(&r.entry) || derived.Base != nanos(r.entry.StrengthBase())) {
			c.report(id, "the order by strength is not that of its strength")
		}
		return err
	}, condition{}, "")
}

// vocabulary reads the pieces and tags and compares what they carry with
// what it should be.
func (c *check) vocabulary() error {
	c.pieceIDs, c.tagIDs = make(map[string]int64), make(map[string]int64)
	err := c.each(func(rows *sqlx.Rows) error {
		var id int64
		var piece string
		var word *string
		if err := rows.Scan(&id, &piece, &word); err != nil {
			return err
		}
		c.pieceIDs[piece] = id
		form := memory.Word(piece)
		if word == nil && form != piece || word != nil && (*word != form || form == piece) {
			c.report("piece", "the word of %q is wrong", piece)
		}
		return nil
	}, `SELECT piece_id, piece, word FROM piece`)
	if err != nil {
		return err
	}
	return c.each(func(rows *sqlx.Rows) error {
		var id int64
		var tag, lowered string
		if err := rows.Scan(&id, &tag, &lowered); err != nil {
			return err
		}
		c.tagIDs[tag] = id
		if lowered != memory.Lower(tag) {
			c.report("tag", "the lower case of %q is wrong", tag)
		}
		return nil
	}, `SELECT tag_id, tag, lowered FROM tag`)
}

// trigrams looks every piece up by its trigrams.
func (c *check) trigrams() error {
	var indexed int
	if err := c.get(&indexed, `SELECT count(*) FROM piece_trigram`); err != nil {
		return err
	}
	if indexed != len(c.pieceIDs) {
		c.report("piece_trigram", "it holds %d pieces of %d", indexed, len(c.pieceIDs))
	}
	for piece, id := range c.pieceIDs {
		if len([]rune(piece)) < trigramLength {
			continue
		}
		found, err := c.find(new(int64), `SELECT rowid FROM piece_trigram WHERE piece_trigram MATCH ? AND rowid = ?`, trigrams(piece), id)
		if err != nil {
			return err
		}
		if !found {
			c.report("piece_trigram", "%q cannot be found", piece)
		}
	}
	return nil
}

// postings compares the posting index with what each entry calls for. FTS5
// can check neither the content of an index without content nor entries that
// it holds too many. A hash a row keeps the memory small.
func (c *check) postings() error {
	wanted := make(map[int64]tokenSet)
	usedPieces, usedTags := make(map[string]bool), make(map[string]bool)
	err := c.eachRow(func(r row) error {
		words := indexedOf(&r.entry)
		var set tokenSet
		add := func(kind byte, texts []string, ids map[string]int64, used map[string]bool) {
			for _, text := range texts {
				used[text] = true
				id, known := ids[text]
				if !known {
					c.report("vocabulary", "%q of entry %s is missing", text, r.entry.ID)
				}
				set.add(c.seed, token(kind, id))
			}
		}
		add(inText, words.pieces, c.pieceIDs, usedPieces)
		add(inKeyword, words.keywords, c.pieceIDs, usedPieces)
		add(inTags, words.tags, c.tagIDs, usedTags)
		wanted[r.rowID] = set
		return nil
	}, condition{}, "")
	if err != nil {
		return err
	}
	if n := len(c.pieceIDs) - len(usedPieces); n > 0 {
		c.report("piece", "%d pieces belong to no entry", n)
	}
	if n := len(c.tagIDs) - len(usedTags); n > 0 {
		c.report("tag", "%d tags belong to no entry", n)
	}
	err = c.each(func(rows *sqlx.Rows) error {
		var term string
		var rowID int64
		if err := rows.Scan(&term, &rowID); err != nil {
			return err
		}
		set := wanted[rowID]
		set.remove(c.seed, term)
		wanted[rowID] = set
		return nil
	}, `SELECT term, doc FROM posting_instance`)
	if err != nil {
		return err
	}
	for rowID, left := range wanted {
		if left != (tokenSet{}) {
			c.report("posting", "row %d is not indexed by the words it holds", rowID)
		}
	}
	return nil
}

// tokenSet stands for a set of tokens by their number and the sum of their
// hashes.
type tokenSet struct {
	count int
	sum   uint64
}

func (s *tokenSet) add(seed maphash.Seed, token string) {
	s.count++
	s.sum += maphash.String(seed, token)
}

func (s *tokenSet) remove(seed maphash.Seed, token string) {
	s.count--
	s.sum -= maphash.String(seed, token)
}

func (c *check) links() error {
	found := make(map[int64][]string)
	err := c.each(func(rows *sqlx.Rows) error {
		var rowID int64
		var target []byte
		if err := rows.Scan(&rowID, &target); err != nil {
			return err
		}
		found[rowID] = append(found[rowID], string(target))
		return nil
	}, `SELECT row_id, target FROM link`)
	if err != nil {
		return err
	}
	return c.eachRow(func(r row) error {
		var wanted []string
		for _, id := range r.entry.RelatedIDs {
			wanted = append(wanted, string(id[:]))
		}
		if !slices.Equal(sortedSet(wanted), sortedSet(found[r.rowID])) {
			c.report("link", "the links of entry %s are not those it names", r.entry.ID)
		}
		return nil
	}, condition{}, "")
}

// String returns the problem as one line.
func (p Problem) String() string { return strings.TrimSpace(p.Subject + ": " + p.Detail) }
