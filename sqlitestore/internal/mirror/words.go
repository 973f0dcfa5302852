package mirror

import (
	"bytes"

	"github.com/loopmem/loopmem/memory"
)

// words is the vocabulary of all pieces (see [memory.Pieces]) with the slots
// that hold them.
type words struct {
	numbers map[string]uint32
	// all is every piece, each behind a separator that none of them contains,
	// so that one search finds a part of any; starts says where each begins.
	all    []byte
	starts []int
	texts  [][]uint32 // by piece: the slots of the texts with it, once for each time
	// keywords are the slots of keywords with a piece; few pieces have any.
	keywords map[uint32][]uint32
	forms    map[string][]uint32 // pieces by memory.Word, where that differs
	terms    map[string][]uint32 // pieces by memory.Terms

	size int
}

// separator is white space, of which there is none in a piece.
const separator = '\n'

// pieceSize is what a piece takes, besides its text and its slots; termSize
// what a term does.
const (
	pieceSize = 120
	termSize  = 30
)

func newWords() words {
	return words{
		numbers:  make(map[string]uint32),
		keywords: make(map[uint32][]uint32),
		forms:    make(map[string][]uint32),
		terms:    make(map[string][]uint32),
	}
}

func (w *words) number(piece string) uint32 {
	if n, ok := w.numbers[piece]; ok {
		return n
	}
	n := uint32(len(w.starts))
	w.numbers[piece] = n
	w.starts = append(w.starts, len(w.all))
	w.all = append(append(w.all, piece...), separator)
	w.texts = append(w.texts, nil)
	if form := memory.Word(piece); form != piece {
		w.forms[form] = append(w.forms[form], n)
		w.size += termSize
	}
	for _, term := range memory.Terms(piece) {
		w.terms[term] = append(w.terms[term], n)
		w.size += termSize
	}
	w.size += pieceSize + 3*len(piece)
	return n
}

// putText notes the pieces of a text and returns how many there are.
func (w *words) putText(text string, slot uint32) int {
	pieces := memory.Pieces(text)
	for _, piece := range pieces {
		n := w.number(piece)
		w.texts[n] = append(w.texts[n], slot)
	}
	w.size += slotSize * len(pieces)
	return len(pieces)
}

func (w *words) putKeyword(keyword string, slot uint32) {
	for _, piece := range memory.Pieces(keyword) {
		n := w.number(piece)
		w.keywords[n] = append(w.keywords[n], slot)
		w.size += slotSize
	}
}

// containing calls visit for every piece that contains the word, until that
// returns false.
func (w *words) containing(word string, visit func(piece uint32) bool) {
	sought := []byte(word)
	piece := 0
	for from := 0; from < len(w.all); {
		at := bytes.Index(w.all[from:], sought)
		if at < 0 {
			return
		}
		at += from
		for piece+1 < len(w.starts) && w.starts[piece+1] <= at {
			piece++
		}
		if !visit(uint32(piece)) || piece+1 == len(w.starts) {
			return
		}
		from = w.starts[piece+1]
	}
}

// being returns the pieces that equal the word without the punctuation around
// them.
func (w *words) being(word string) []uint32 {
	pieces := w.forms[word]
	if n, ok := w.numbers[word]; ok && memory.Word(word) == word {
		pieces = append(pieces[:len(pieces):len(pieces)], n)
	}
	return pieces
}

// lookUp returns the pieces that a token of a recall stands for.
func (w *words) lookUp(token string, exact bool) (pieces []uint32) {
	if exact {
		return w.being(token)
	}
	w.containing(token, func(piece uint32) bool {
		pieces = append(pieces, piece)
		return true
	})
	return pieces
}
