package sqlitestore

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"
)

// trigramLength is the least number of characters that the trigram index can
// look for.
const trigramLength = 3

// pieces returns the ids of the pieces that contain the word, or
// equal it once punctuation is cut off where exact is set. It stops beyond
// limit.
func (t *tx) pieces(word string, exact bool, limit int) (ids []int64, err error) {
	switch {
	case exact:
		err = t.collect(&ids, `
			SELECT piece_id FROM piece WHERE piece = ?1 AND word IS NULL
			UNION ALL
			SELECT piece_id FROM piece WHERE word = ?1
			LIMIT ?2`, word, limit+1)
	case strings.IndexByte(word, 0) >= 0:
		// No entry holds a NUL, and the engine would end the query there.
		return nil, nil
	case utf8.RuneCountInString(word) >= trigramLength:
		err = t.collect(&ids, `
			SELECT piece_id FROM piece
			WHERE piece_id IN (SELECT rowid FROM piece_trigram WHERE piece_trigram MATCH ?1)
			  AND instr(piece, ?2)
			LIMIT ?3`, trigrams(word), word, limit+1)
	default:
		err = t.collect(&ids, `SELECT piece_id FROM piece WHERE instr(piece, ?1) LIMIT ?2`, word, limit+1)
	}
	if err != nil {
		return nil, fmt.Errorf("look up %q: %w", word, err)
	}
	return ids, nil
}

// trigrams is the FTS5 query for the texts that have every run of three
// characters of the word. Quoted, nothing in it is syntax.
func trigrams(word string) string {
	runes := []rune(word)
	var terms []string
	for i := range len(runes) - trigramLength + 1 {
		term := string(runes[i : i+trigramLength])
		terms = append(terms, `"`+strings.ReplaceAll(term, `"`, `""`)+`"`)
	}
	return strings.Join(sortedSet(terms), " AND ")
}

// tokensAtOnce is how many ids a query of the posting index looks for. Each
// query takes a while to begin, and looks at all it looks for again for every
// row it finds.
const tokensAtOnce = 8

// manyPieces is from how many pieces on a word is so frequent a part of words
// that reading some number of rows is no slower than looking all of them up.
func manyPieces(rows int) int { return max(256, rows/8) }

// anyOf returns queries of the posting index that together find the rows which
// hold any of the ids as any of the kinds.
func anyOf(kinds string, ids ...int64) iter.Seq[string] {
	return func(yield func(string) bool) {
		for some := range slices.Chunk(ids, tokensAtOnce) {
			var tokens []string
			for _, id := range some {
				for _, kind := range kinds {
					tokens = append(tokens, token(string(kind), id))
				}
			}
			if !yield(strings.Join(tokens, " OR ")) {
				return
			}
		}
	}
}

// eachHolder calls visit for every row that matches a query, and again where it
// matches another.
func (t *tx) eachHolder(queries iter.Seq[string], visit func(rowID int64) error) error {
	for query := range queries {
		err := t.each(func(rows *sqlx.Rows) error {
			var rowID int64
			if err := rows.Scan(&rowID); err != nil {
				return err
			}
			return visit(rowID)
		}, `SELECT rowid FROM posting WHERE posting MATCH ?`, query)
		if err != nil {
			return err
		}
	}
	return nil
}

// holders adds to found the rows that match any of the queries.
func (t *tx) holders(found map[int64]bool, queries iter.Seq[string]) (err error) {
	var rowIDs []int64
	for query := range queries {
		if rowIDs, err = t.appendHolders(rowIDs[:0], query); err != nil {
			return err
		}
		for _, id := range rowIDs {
			found[id] = true
		}
	}
	return nil
}

// appendHolders appends all rows that match a query. A frequent word is in
// thousands of rows, and as one text they take a quarter of the time that as
// many rows of a result would.
func (t *tx) appendHolders(rowIDs []int64, query string) ([]int64, error) {
	var list []byte
	err := t.get(&list, `SELECT group_concat(rowid) FROM posting WHERE posting MATCH ?`, query)
	return appendIDs(rowIDs, list), err
}

// appendIDs appends the numbers of a comma-separated list.
func appendIDs(ids []int64, list []byte) []int64 {
	if len(list) == 0 {
		return ids
	}
	ids = slices.Grow(ids, bytes.Count(list, []byte(","))+1)
	var id int64
	for _, c := range list {
		if c == ',' {
			ids, id = append(ids, id), 0
		} else {
			id = 10*id + int64(c-'0')
		}
	}
	return append(ids, id)
}
