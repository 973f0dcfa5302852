package sqlitestore

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/loopmem/loopmem/memory"
)

// indexVersion is the version of what reindex writes. A store with another
// one is indexed anew when it is opened; raise it with every change.
const indexVersion = 5

// The kinds of token in the posting index.
const (
	inText    = "m" // a piece of the memory text
	inKeyword = "k" // a piece of a keyword
	inSpeaker = "a" // a piece of the speaker's name
	inTags    = "t" // a tag

	inAnyText = inText + inKeyword + inSpeaker
)

// token names a piece or tag in the posting index. It consists of ASCII
// letters and digits only, whatever the word is made of.
func token(kind string, id int64) string {
	return kind + strconv.FormatInt(id, 36)
}

// indexed is what the indexes hold of an entry.
type indexed struct {
	pieces   []string // distinct pieces of the text
	keywords []string // distinct pieces of all keywords
	speaker  []string // distinct pieces of the speaker's name
	tags     []string // distinct tags
}

func indexedOf(e *memory.Entry) indexed {
	return indexed{
		pieces:   sortedSet(memory.Pieces(e.Memory)),
		keywords: sortedSet(keywordPieces(e)),
		speaker:  sortedSet(memory.Pieces(memory.Speaker(e.Agent))),
		tags:     sortedSet(slices.Clone(e.Tags)),
	}
}

func keywordPieces(e *memory.Entry) (pieces []string) {
	for _, keyword := range e.Keywords {
		pieces = append(pieces, memory.Pieces(keyword)...)
	}
	return pieces
}

// piecesOf returns all pieces of an entry, some of them several times.
func piecesOf(e *memory.Entry) []string {
	return slices.Concat(memory.Pieces(e.Memory), keywordPieces(e), memory.Pieces(memory.Speaker(e.Agent)))
}

func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// reindex writes everything that is derived from an entry's content: the
// vocabulary, the postings and the links. Store, migration and repair all
// come here.
func (w *writeTx) reindex(rowID int64, e *memory.Entry) error {
	words := indexedOf(e)
	w.loose.keep(words)
	var tokens []string
	add := func(kind string, texts []string, idOf func(string) (int64, error)) error {
		for _, text := range texts {
			id, err := idOf(text)
			if err != nil {
				return err
			}
			tokens = append(tokens, token(kind, id))
		}
		return nil
	}
	if err := add(inText, words.pieces, w.pieceID); err != nil {
		return err
	}
	if err := add(inKeyword, words.keywords, w.pieceID); err != nil {
		return err
	}
	if err := add(inSpeaker, words.speaker, w.pieceID); err != nil {
		return err
	}
	if err := add(inTags, words.tags, w.tagID); err != nil {
		return err
	}
	_, err := w.exec(`INSERT INTO posting (rowid, tokens) VALUES (?, ?)`, rowID, strings.Join(tokens, " "))
	if err != nil {
		return err
	}
	for _, id := range e.RelatedIDs {
		if _, err := w.exec(`INSERT OR IGNORE INTO link (target, row_id) VALUES (?, ?)`, id[:], rowID); err != nil {
			return err
		}
	}
	return nil
}

// indexedAlike reports whether the indexes hold the same of two entries, as
// they do before and after most changes that are none of the text.
func indexedAlike(a, b *memory.Entry) bool {
	return a.Memory == b.Memory && a.Agent == b.Agent && slices.Equal(a.Tags, b.Tags) &&
		slices.Equal(a.Keywords, b.Keywords) && slices.Equal(a.RelatedIDs, b.RelatedIDs)
}

// unindex takes back what reindex wrote for rows. The words that no other
// entry has are dropped at the end of the transaction; see dropLoose.
func (w *writeTx) unindex(some []replacement) error {
	rowIDs := make([]int64, len(some))
	for i, r := range some {
		rowIDs[i] = r.old.rowID
		w.loose.add(indexedOf(&r.old.entry))
	}
	list, err := json.Marshal(rowIDs)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM posting WHERE rowid IN (SELECT value FROM json_each(?))`,
		`DELETE FROM link WHERE row_id IN (SELECT value FROM json_each(?))`,
	} {
		if _, err := w.exec(statement, string(list)); err != nil {
			return err
		}
	}
	return nil
}

// fillIndexes indexes every row anew if that was done by code of another
// version, or not at all.
func (d *database) fillIndexes(ctx context.Context) error {
	return d.pass(ctx, d.options.BusyTimeout, func(w *writeTx) error {
		var version int
		if err := w.get(&version, `SELECT index_version FROM store`); err != nil {
			return err
		}
		if version == indexVersion {
			return nil
		}
		return w.rebuildIndexes()
	})
}

// rebuildIndexes drops all derived rows and fills them from the entries.
func (w *writeTx) rebuildIndexes() error {
	if _, err := w.bump(); err != nil {
		return err
	}
	w.allChange = true
	for _, statement := range []string{
		`INSERT INTO posting (posting) VALUES ('delete-all')`,
		`INSERT INTO piece_trigram (piece_trigram) VALUES ('delete-all')`,
		`DELETE FROM piece_term`,
		`DELETE FROM piece`,
		`DELETE FROM tag`,
		`DELETE FROM link`,
		`UPDATE store SET vocabulary_epoch = vocabulary_epoch + 1`,
	} {
		if _, err := w.exec(statement); err != nil {
			return err
		}
	}
	w.vocabulary.forgetAll()
	err := w.eachRow(func(r row) error {
		_, err := w.exec(`UPDATE entry_state SET strength_base = ?, fade = ?, ahead = ?, root = ? WHERE row_id = ?`,
			nanos(r.entry.StrengthBase()), fadeOf(&r.entry), w.ahead(&r.entry), memory.Root(r.entry.Agent), r.rowID)
		if err != nil {
			return err
		}
		return w.reindex(r.rowID, &r.entry)
	}, condition{}, "")
	if err != nil {
		return err
	}
	if err := w.trustClock(); err != nil {
		return err
	}
	_, err = w.exec(`UPDATE store SET index_version = ?`, indexVersion)
	return err
}
