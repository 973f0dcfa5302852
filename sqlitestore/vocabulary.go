package sqlitestore

import (
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

func remember(words map[string]int64, word string, id int64) {
	if len(words) >= rememberedWords {
		clear(words)
	}
	words[word] = id
}

// pieceID returns the id of a piece, which becomes part of the vocabulary if
// it is not.
func (w *writeTx) pieceID(piece string) (int64, error) {
	if id, ok := w.vocabulary.pieces[piece]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find(&id, `SELECT piece_id FROM piece WHERE piece = ?`, piece)
	if err != nil {
		return 0, err
	}
	if !found {
		if id, err = w.addPiece(piece); err != nil {
			return 0, err
		}
	}
	remember(w.vocabulary.pieces, piece, id)
	return id, nil
}

func (w *writeTx) addPiece(piece string) (int64, error) {
	var word *string
	if form := memory.Word(piece); form != piece {
		word = &form
	}
	result, err := w.exec(`INSERT INTO piece (piece, word) VALUES (?, ?)`, piece, word)
	if err != nil {
		return 0, err
	}
	id, err := result.LastInsertId()
	if err != nil {
		return 0, err
	}
	_, err = w.exec(`INSERT INTO piece_trigram (rowid, piece) VALUES (?, ?)`, id, piece)
	return id, err
}

// tagID is pieceID for tags.
func (w *writeTx) tagID(tag string) (int64, error) {
	if id, ok := w.vocabulary.tags[tag]; ok {
		return id, nil
	}
	var id int64
	found, err := w.find(&id, `SELECT tag_id FROM tag WHERE tag = ?`, tag)
	if err != nil {
		return 0, err
	}
	if !found {
		result, err := w.exec(`INSERT INTO tag (tag, lowered) VALUES (?, ?)`, tag, memory.Lower(tag))
		if err != nil {
			return 0, err
		}
		if id, err = result.LastInsertId(); err != nil {
			return 0, err
		}
	}
	remember(w.vocabulary.tags, tag, id)
	return id, nil
}

// dropPiece takes a piece out of the vocabulary if no entry holds it.
func (w *writeTx) dropPiece(piece string) error {
	var id int64
	found, err := w.find(&id, `SELECT piece_id FROM piece WHERE piece = ?`, piece)
	if !found || err != nil {
		return err
	}
	held, err := w.held(token(inText, id) + " OR " + token(inKeyword, id))
	if held || err != nil {
		return err
	}
	if err := w.newEpoch(); err != nil {
		return err
	}
	delete(w.vocabulary.pieces, piece)
	if _, err := w.exec(`DELETE FROM piece_trigram WHERE rowid = ?`, id); err != nil {
		return err
	}
	_, err = w.exec(`DELETE FROM piece WHERE piece_id = ?`, id)
	return err
}

// dropTag is dropPiece for tags.
func (w *writeTx) dropTag(tag string) error {
	var id int64
	found, err := w.find(&id, `SELECT tag_id FROM tag WHERE tag = ?`, tag)
	if !found || err != nil {
		return err
	}
	held, err := w.held(token(inTags, id))
	if held || err != nil {
		return err
	}
	if err := w.newEpoch(); err != nil {
		return err
	}
	delete(w.vocabulary.tags, tag)
	_, err = w.exec(`DELETE FROM tag WHERE tag_id = ?`, id)
	return err
}

// held reports whether any row matches the query of the posting index.
func (w *writeTx) held(query string) (bool, error) {
	var rowID int64
	return w.find(&rowID, `SELECT rowid FROM posting WHERE posting MATCH ? LIMIT 1`, query)
}

// newEpoch makes the other processes forget what they remember. What this one
// remembers stays true: the caller takes out the word that goes.
func (w *writeTx) newEpoch() error {
	var epoch int64
	err := w.get(&epoch, `
		UPDATE store SET vocabulary_epoch = vocabulary_epoch + 1 WHERE only_row = 1
		RETURNING vocabulary_epoch`)
	w.vocabulary.epoch = epoch
	return err
}
