package sqlitestore

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/loopmem/loopmem/memory"
)

// vocabulary remembers, for the writer, the ids of words met before, so that
// an import does not look up every word of every text. It is used only with
// the writer's connection in hand.
//
// An id stays that of its word until the word is dropped, by whichever
// process; the store counts an epoch up then, and sync notices.
type vocabulary struct {
	epoch  int64
	pieces map[string]int64
	tags   map[string]int64
}

// rememberedWords bounds the memory of the vocabulary to a few megabytes.
const rememberedWords = 50_000

func newVocabulary() *vocabulary {
	v := &vocabulary{}
	v.forgetAll()
	return v
}

// forgetAll is for when ids may have been remembered that were rolled back.
func (v *vocabulary) forgetAll() {
	v.pieces = make(map[string]int64)
	v.tags = make(map[string]int64)
}

// sync brings the vocabulary to the epoch of the store.
func (v *vocabulary) sync(epoch int64) {
	if epoch != v.epoch {
		v.forgetAll()
		v.epoch = epoch
	}
}

func remember[T any](words map[string]T, word string, value T) {
	if len(words) >= rememberedWords {
		clear(words)
	}
	words[word] = value
}

// wordID returns the id of a word, which becomes part of the vocabulary if it
// is not.
func (w *writeTx) wordID(known map[string]int64, word, look string, add func() (int64, error)) (int64, error) {
	if id, ok := known[word]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find(&id, look, word)
	if err != nil {
		return 0, err
	}
	if !found {
		if id, err = add(); err != nil {
			return 0, err
		}
	}
	remember(known, word, id)
	return id, nil
}

const (
	lookUpPiece = `SELECT piece_id FROM piece WHERE piece = ?`
	lookUpTag   = `SELECT tag_id FROM tag WHERE tag = ?`
)

func (w *writeTx) pieceID(piece string) (int64, error) {
	return w.wordID(w.vocabulary.pieces, piece, lookUpPiece, func() (int64, error) { return w.addPiece(piece) })
}

func (w *writeTx) tagID(tag string) (int64, error) {
	return w.wordID(w.vocabulary.tags, tag, lookUpTag, func() (int64, error) {
		return w.add(`INSERT INTO tag (tag, lowered) VALUES (?, ?)`, tag, memory.Lower(tag))
	})
}

// add inserts a row and returns its id.
func (w *writeTx) add(insert string, args ...any) (int64, error) {
	result, err := w.exec(insert, args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

func (w *writeTx) addPiece(piece string) (int64, error) {
	var word *string
	if form := memory.Word(piece); form != piece {
		word = &form
	}
	id, err := w.add(`INSERT INTO piece (piece, word) VALUES (?, ?)`, piece, word)
	if err != nil {
		return 0, err
	}
	if _, err := w.exec(`INSERT INTO piece_trigram (rowid, piece) VALUES (?, ?)`, id, piece); err != nil {
		return 0, err
	}
	for _, term := range memory.Terms(piece) {
		if _, err := w.exec(`INSERT INTO piece_term (term, piece_id) VALUES (?, ?)`, term, id); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// looseWords are words of entries that were taken out of the indexes by a
// transaction. Whether others hold them is looked up once, at its end: entries
// that go together share most of their words, and one that is replaced keeps
// most of its own.
type looseWords struct {
	pieces, tags map[string]bool
	// unheld are pieces that no entry will hold at the end of the transaction,
	// with their ids, as far as that is known without looking.
	unheld map[string]int64
}

func (l *looseWords) add(words indexed) {
	if l.pieces == nil {
		l.pieces, l.tags = make(map[string]bool), make(map[string]bool)
	}
	l.each(words, func(set map[string]bool, word string) { set[word] = true })
}

// keep takes back what an entry holds that is indexed later in the transaction,
// so that replacing an entry by much the same one looks up nothing.
func (l *looseWords) keep(words indexed) {
	l.each(words, func(set map[string]bool, word string) { delete(set, word) })
}

// areHeld takes back the pieces that have holders.
func (l *looseWords) areHeld(holders map[string]int) {
	for piece, n := range holders {
		if n > 0 {
			delete(l.pieces, piece)
		}
	}
}

func (l *looseWords) each(words indexed, do func(set map[string]bool, word string)) {
	for _, list := range []struct {
		words []string
		set   map[string]bool
	}{{words.pieces, l.pieces}, {words.keywords, l.pieces}, {words.speaker, l.pieces}, {words.tags, l.tags}} {
		for _, word := range list.words {
			do(list.set, word)
		}
	}
}

// dropLoose drops the loose words that no entry holds any more.
func (w *writeTx) dropLoose() error {
	loose := w.loose
	w.loose = looseWords{}
	pieces, err := w.unheld(loose.pieces, loose.unheld, lookUpPiece, inAnyText)
	if err != nil {
		return err
	}
	tags, err := w.unheld(loose.tags, nil, lookUpTag, inTags)
	if err != nil || len(pieces)+len(tags) == 0 {
		return err
	}
	if err := w.newEpoch(); err != nil {
		return err
	}
	err = w.dropWords(w.vocabulary.pieces, pieces,
		`DELETE FROM piece_trigram WHERE rowid IN (SELECT value FROM json_each(?))`,
		`DELETE FROM piece WHERE piece_id IN (SELECT value FROM json_each(?))`)
	if err != nil {
		return err
	}
	return w.dropWords(w.vocabulary.tags, tags,
		`DELETE FROM tag WHERE tag_id IN (SELECT value FROM json_each(?))`)
}

// unheld returns those of the words that no entry holds as one of the kinds,
// with their ids. Of some that may be known already.
func (w *writeTx) unheld(words map[string]bool, known map[string]int64, look, kinds string) (map[string]int64, error) {
	unheld := make(map[string]int64)
	for _, word := range slices.Sorted(maps.Keys(words)) {
		id, ok := known[word]
		if ok {
			unheld[word] = id
			continue
		}
		found, err := w.find(&id, look, word)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		held, err := w.held(kinds, id)
		if err != nil {
			return nil, err
		}
		if !held {
			unheld[word] = id
		}
	}
	return unheld, nil
}

// held reports whether any row holds the id as one of the kinds.
func (t *tx) held(kinds string, id int64) (bool, error) {
	err := t.eachHolder(anyOf(kinds, id), func(int64) error { return errEnough })
	return err == errEnough, ifNotEnough(err)
}

// dropWords takes words out of the vocabulary.
func (w *writeTx) dropWords(known map[string]int64, words map[string]int64, deletes ...string) error {
	if len(words) == 0 {
		return nil
	}
	for word := range words {
		delete(known, word)
	}
	ids, err := json.Marshal(slices.Sorted(maps.Values(words)))
	if err != nil {
		return err
	}
	for _, statement := range deletes {
		if _, err := w.exec(statement, string(ids)); err != nil {
			return err
		}
	}
	return nil
}

// dropTrigrams drops the parts of words that are gone, which are only marked in
// the index when the word goes. It is for what is forgotten: it rewrites the
// index if it marks any, which takes 5 ms in a store of 10,000 words.
func (w *writeTx) dropTrigrams() error {
	_, err := w.exec(`INSERT INTO piece_trigram (piece_trigram) VALUES ('optimize')`)
	return err
}

// newEpoch makes the other processes forget what they remember, once a
// transaction. What this one remembers stays true: the caller takes out the
// word that goes.
func (w *writeTx) newEpoch() error {
	if w.epochBegun {
		return nil
	}
	w.epochBegun = true
	var epoch int64
	err := w.get(&epoch, `
		UPDATE store SET vocabulary_epoch = vocabulary_epoch + 1 WHERE only_row = 1
		RETURNING vocabulary_epoch`)
	w.vocabulary.epoch = epoch
	return err
}
