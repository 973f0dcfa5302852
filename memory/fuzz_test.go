package memory_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/loopmem/loopmem/memory"
)

// Whatever decodes is a valid entry, whose own form decodes to an equal one
// and does not change any more. Whatever does not decode says why.
func FuzzDecodeJSON(f *testing.F) {
	for _, line := range goldenLines(f) {
		f.Add(line)
		f.Add(line[:len(line)/2])
	}
	f.Add([]byte(strings.ToUpper(plain)))
	f.Add([]byte(extended(`"x":[{}],"embedding":[1,2e-3],"attributes":{"k":"\u00e9"}`)))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := memory.DecodeJSON(line)
		if err != nil {
			decode, ok := errors.AsType[*memory.DecodeError](err)
			if !ok || decode.Reason == "" || decode.Offset < 0 || decode.Offset > len(line) || !utf8.ValidString(err.Error()) {
				t.Fatalf("the error is %#v", err)
			}
			return
		}
		if err := e.Validate(); err != nil {
			t.Fatalf("decoded to an entry that is not valid: %v", err)
		}
		form := e.AppendJSON(nil)
		if bytes.IndexByte(form, '\n') >= 0 || !utf8.Valid(form) {
			t.Fatalf("the form is not one line of UTF-8: %q", form)
		}
		again, err := memory.DecodeJSON(form)
		if err != nil {
			t.Fatalf("its own form does not decode: %v\n%s", err, form)
		}
		if diff := cmp.Diff(e, again); diff != "" {
			t.Fatalf("its own form decodes to another entry:\n%s", diff)
		}
		if got := again.AppendJSON(nil); !bytes.Equal(got, form) {
			t.Fatalf("the form changes from\n%s\nto\n%s", form, got)
		}
	})
}

// What indexes rest on: a word of a query is a substring of a text exactly if
// it is one of a piece of the text.
func FuzzPieces(f *testing.F) {
	f.Add("ΟΔΟΣ.", "the ΟΔΟΣ ΟΔΟΣ.\u00a0end")
	f.Add("ist", "İstanbul 東京\u2028x")
	f.Add("\xff", "a\xff b")
	f.Fuzz(func(t *testing.T, query, text string) {
		q := memory.NewRetrieveQuery(query)
		lowered, pieces := memory.Lower(text), memory.Pieces(text)
		for _, word := range q.Words {
			in := false
			for _, piece := range pieces {
				in = in || strings.Contains(piece, word)
			}
			if got := strings.Contains(lowered, word); got != in {
				t.Errorf("%q in %q: %t, but %t in its pieces %q", word, lowered, got, in, pieces)
			}
		}
	})
}

// Scores stay within their bounds, and matching has a share in each.
func FuzzRetrieveQuery(f *testing.F) {
	f.Add("alpha beta", "alpha", "tag", float32(0.5))
	f.Add(" Σ ", "ΑΣ", "σς", float32(-1))
	f.Fuzz(func(t *testing.T, query, text, tag string, relevance float32) {
		q := memory.NewRetrieveQuery(query)
		e := memory.NewEntry(memory.Fact, text)
		e.Tags, e.Relevance = []string{tag}, relevance
		m := q.Match(&e)
		if !(m.Score >= 0.1 && m.Score <= 1.3000002) {
			t.Errorf("the score is %g", m.Score)
		}
		none := memory.NewRetrieveQuery("")
		if baseline := none.Match(&e); m.Matched != (m.Score > baseline.Score) || baseline.Matched {
			t.Errorf("matched is %t at a score of %g over %g", m.Matched, m.Score, baseline.Score)
		}
	})
}
