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

// Kind is how much a problem matters.
type Kind string

const (
	// Damage means that something that was stored is gone, changed or cannot
	// be read.
	Damage Kind = "damage"
	// Index means that something derived is wrong, so that entries may not be
	// found. It can be made anew from the entries.
	Index Kind = "index"
	// Notice is nothing wrong with what is stored.
	Notice Kind = "notice"
)

// Problem is something that [Store.Check] or [Diagnose] found to be wrong
// with a database.
type Problem struct {
	Kind Kind `json:"kind"`
	// Subject is what it concerns: a table, an index, an entry's id.
	Subject string `json:"subject"`
	// Detail is what is wrong with it.
	Detail string `json:"detail"`
	// Advice is what to do about it, if that does not follow from the kind.
	Advice string `json:"advice,omitempty"`
}

// Check reads the whole database, whatever the scope of the handle, and
// reports what is wrong with it: pages that SQLite finds damaged, rows that are
// missing or whose checksum does not fit what they hold, references to rows
// that are not there, and indexes that differ from the rows they are made of.
// What cannot be read at all is such a problem too, not an error. No problem
// means that every entry is what was stored and can be found by every word.
//
// It changes nothing and blocks nobody; the time it takes grows with the
// store, and it holds one snapshot for that long.
func (s *Store) Check(ctx context.Context) (problems []Problem, err error) {
	// SQLite's check of an FTS5 table trusts what the connection remembers of
	// it, and calls it damage when another connection has written since.
	err = s.viewFresh(ctx, func(t *tx) (err error) {
		problems, err = t.problems(false)
		return err
	})
	if err != nil {
		return problems, fmt.Errorf("check: %w", err)
	}
	return problems, nil
}

// check is one run of Check.
type check struct {
	*tx
	problems []Problem
	seed     maphash.Seed

	pieceIDs map[string]int64
	tagIDs   map[string]int64
}

// step is a part of Check.
type step struct {
	subject string
	run     func() error
}

// problems checks everything, or where the schema is an older one, all that is
// not filled anew when the file is brought up to date.
func (t *tx) problems(older bool) ([]Problem, error) {
	c := check{tx: t, seed: maphash.MakeSeed()}
	steps := []step{
		{"database", c.pages},
		{"database", c.references},
		{"entry", c.account},
		{"entry", c.rows},
		{"archive", c.archive},
	}
	if !older {
		steps = append(steps,
			step{"entry_state", c.derived},
			step{"piece", c.vocabulary},
			step{"piece_trigram", c.trigrams},
			step{"posting", c.postings},
			step{"link", c.links},
		)
	}
	for _, step := range steps {
		err := step.run()
		if end := t.caller.Err(); end != nil {
			return c.problems, end
		}
		if err != nil {
			c.damage(step.subject, "it cannot be read: %v", err)
		}
	}
	return c.problems, nil
}

func (c *check) report(kind Kind, subject, detail string, args ...any) {
	c.problems = append(c.problems, Problem{Kind: kind, Subject: subject, Detail: fmt.Sprintf(detail, args...)})
}

func (c *check) damage(subject, detail string, args ...any) {
	c.report(Damage, subject, detail, args...)
}

func (c *check) index(subject, detail string, args ...any) {
	c.report(Index, subject, detail, args...)
}

// pages has SQLite look at its own structures, indexes of tables included.
func (c *check) pages() error {
	var lines []string
	if err := c.collect(&lines, `PRAGMA integrity_check`); err != nil {
		return err
	}
	for _, line := range lines {
		if line != "ok" {
			c.damage("database", "%s", line)
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
		c.damage(table, "a row refers to a row of %s that is not there", parent)
		return nil
	}, `PRAGMA foreign_key_check`)
}

// account compares the entries that are there with those that should be.
func (c *check) account() error {
	var want struct {
		Entries int   `db:"entries"`
		Sum     int64 `db:"content_sum"`
	}
	if err := c.get(&want, `SELECT entries, content_sum FROM store`); err != nil {
		return err
	}
	var got tally
	err := c.each(func(rows *sqlx.Rows) error {
		var sum int64
		err := rows.Scan(&sum)
		got.add(sum)
		return err
	}, `SELECT checksum FROM entry`)
	switch {
	case err != nil:
		return err
	case got.entries != want.Entries:
		c.damage("entry", "there are %d entries, of the %d that were stored and not removed", got.entries, want.Entries)
	case got.sum != want.Sum:
		c.damage("entry", "the entries are not those that were stored, though their number is right")
	}
	return nil
}

// archive compares what was archived with its checksums.
func (c *check) archive() error {
	return c.each(func(rows *sqlx.Rows) error {
		var r archivedRow
		if err := rows.StructScan(&r); err != nil {
			return err
		}
		if r.damage() != 0 {
			c.damage("archive", "archived entry %d is not what was archived", r.ArchiveID)
		}
		return nil
	}, selectArchived)
}

// rows compares every entry with its checksums.
func (c *check) rows() error {
	var lonely int
	err := c.get(&lonely, `SELECT (SELECT count(*) FROM entry) - (SELECT count(*) FROM entry JOIN entry_state USING (row_id))`)
	if err != nil {
		return err
	}
	if lonely != 0 {
		c.damage("entry", "%d entries have no row in entry_state", lonely)
	}
	return c.eachRow(func(r row) error {
		id := r.entry.ID.String()
		if r.contentDamage() != 0 {
			c.damage(id, "the content is not what was stored")
		}
		if r.stateDamage() != 0 {
			c.damage(id, "the relevance, strength or access fields are not what was stored")
		}
		return nil
	}, condition{}, "")
}

// derived compares every entry with what is computed from it beside it.
func (c *check) derived() error {
	var beside struct {
		Base  int64   `db:"strength_base"`
		Fade  float64 `db:"fade"`
		Found bool    `db:"found"`
		Root  string  `db:"root"`
		Told  bool    `db:"told"`
	}
	return c.eachRow(func(r row) error {
		id := r.entry.ID.String()
		err := c.get(&beside, `
			SELECT strength_base, fade, ahead OR strength_base <= written_at AS found, root,
			       ?2 <= changes_since OR EXISTS (SELECT * FROM change AS c WHERE c.version = ?2 AND c.row_id = ?1) AS told
			FROM entry_state, store
			WHERE row_id = ?1`, r.rowID, r.version)
		if err != nil {
			return err
		}
		if beside.Base != nanos(r.entry.StrengthBase()) || beside.Fade != fadeOf(&r.entry) || !beside.Found {
			c.index(id, "the order by strength is not that of its strength")
		}
		if beside.Root != memory.Root(r.entry.Agent) {
			c.index(id, "it is not among the entries of its agent root")
		}
		if !beside.Told {
			c.index(id, "processes that remember it are not told that it has changed")
		}
		return nil
	}, condition{}, "")
}

// vocabulary reads the pieces and tags and compares what they carry, terms
// included, with what it should be.
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
			c.index("piece", "the word of %q is wrong", piece)
		}
		return nil
	}, `SELECT piece_id, piece, word FROM piece`)
	if err != nil {
		return err
	}
	err = c.each(func(rows *sqlx.Rows) error {
		var piece, terms string
		if err := rows.Scan(&piece, &terms); err != nil {
			return err
		}
		found, err := decodeList(terms)
		if err == nil && !slices.Equal(sortedSet(found), sortedSet(memory.Terms(piece))) {
			c.index("piece_term", "the terms of %q are wrong", piece)
		}
		return err
	}, `
		SELECT piece, (SELECT json_group_array(term) FROM piece_term WHERE piece_id = piece.piece_id)
		FROM piece`)
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
			c.index("tag", "the lower case of %q is wrong", tag)
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
		c.index("piece_trigram", "it holds %d pieces of %d", indexed, len(c.pieceIDs))
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
			c.index("piece_trigram", "%q cannot be found", piece)
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
		add := func(kind string, texts []string, ids map[string]int64, used map[string]bool) {
			for _, text := range texts {
				used[text] = true
				id, known := ids[text]
				if !known {
					c.index("vocabulary", "%q of entry %s is missing", text, r.entry.ID)
				}
				set.add(c.seed, token(kind, id))
			}
		}
		add(inText, words.pieces, c.pieceIDs, usedPieces)
		add(inKeyword, words.keywords, c.pieceIDs, usedPieces)
		add(inSpeaker, words.speaker, c.pieceIDs, usedPieces)
		add(inTags, words.tags, c.tagIDs, usedTags)
		wanted[r.rowID] = set
		return nil
	}, condition{}, "")
	if err != nil {
		return err
	}
	if n := len(c.pieceIDs) - len(usedPieces); n > 0 {
		c.index("piece", "%d pieces belong to no entry", n)
	}
	if n := len(c.tagIDs) - len(usedTags); n > 0 {
		c.index("tag", "%d tags belong to no entry", n)
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
			c.index("posting", "row %d is not indexed by the words it holds", rowID)
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
			c.index("link", "the links of entry %s are not those it names", r.entry.ID)
		}
		return nil
	}, condition{}, "")
}

// String returns the problem as one line.
func (p Problem) String() string { return strings.TrimSpace(p.Subject + ": " + p.Detail) }
