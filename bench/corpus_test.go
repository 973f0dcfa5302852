package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// lines writes entries as JSONL, to compare corpora in every field.
func lines(entries []memory.Entry) []byte {
	var out []byte
	for i := range entries {
		out = append(entries[i].AppendJSON(out), '\n')
	}
	return out
}

func TestLoadCorpus_sameSeedSameEntries(t *testing.T) {
	for _, name := range []string{"template", "zipf"} {
		load := func(n int, seed uint64) []byte {
			entries, err := loadCorpus(t.Context(), name, n, seed)
			if err != nil {
				t.Fatal(err)
			}
			return lines(entries)
		}
		first := load(200, 7)
		if !bytes.Equal(first, load(200, 7)) {
			t.Errorf("%s: two runs differ", name)
		}
		if bytes.Equal(first, load(200, 8)) {
			t.Errorf("%s: two seeds do not differ", name)
		}
		if !bytes.HasPrefix(load(300, 7), first) {
			t.Errorf("%s: a larger corpus does not begin with the smaller", name)
		}
	}
}

func TestTemplate_text(t *testing.T) {
	want := "this is memory entry 11 about rust performance optimization, async runtimes, and tokio internals; topic networking"
	if got := template(12, 1)[11].Memory; got != want {
		t.Errorf("got %q", got)
	}
}

func TestZipf_shape(t *testing.T) {
	entries := zipf(2000, 1)
	counts := make(map[string]int)
	tags := make(map[string]bool)
	for _, e := range entries {
		words := strings.Fields(e.Memory)
		if len(words) < 8 || len(words) > 40 {
			t.Fatalf("%d words", len(words))
		}
		for _, w := range words {
			counts[w]++
		}
		for _, tag := range e.Tags {
			tags[tag] = true
		}
	}
	if len(tags) != 30 {
		t.Errorf("%d tags", len(tags))
	}
	words := vocabulary(1)
	if len(words) != 50_000 || len(slices.Compact(slices.Sorted(slices.Values(words)))) != 50_000 {
		t.Errorf("%d words, or some of them twice", len(words))
	}
	if first, hundredth := counts[words[0]], counts[words[99]]; first < 10*hundredth || hundredth == 0 {
		t.Errorf("the first word comes %d times, the hundredth %d times", first, hundredth)
	}
}

func TestNearDuplicates_share(t *testing.T) {
	entries := nearDuplicates(1000, 1)
	s := newScan(false)
	if _, err := s.StoreBatch(t.Context(), entries, memory.Replace); err != nil {
		t.Fatal(err)
	}
	stats, err := s.Consolidate(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stats.Merged < 150 || stats.Merged > 350 {
		t.Errorf("%d of 1000 merge", stats.Merged)
	}
}

func TestNewCorpus_fromFile(t *testing.T) {
	entries := zipf(110, 1)
	path := filepath.Join(t.TempDir(), "corpus.jsonl")
	if err := writeLines(path, entries); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{50, 100, 1000} {
		c, err := newCorpus(t.Context(), path, n, 1)
		if err != nil {
			t.Fatal(err)
		}
		if want := min(n, 100); len(c.entries) != want {
			t.Errorf("%d asked for: %d entries, want %d", n, len(c.entries), want)
		}
		if diff := cmp.Diff(string(lines(entries[:len(c.entries)+len(c.more)])), string(lines(slices.Concat(c.entries, c.more)))); diff != "" {
			t.Errorf("%d asked for: %s", n, diff)
		}
	}
}

// The names of the questions promise how many entries hold the words.
func TestNewQuestions_frequency(t *testing.T) {
	for _, name := range []string{"template", "zipf"} {
		entries, err := loadCorpus(t.Context(), name, 1000, 1)
		if err != nil {
			t.Fatal(err)
		}
		q := newQuestions(entries)
		for _, c := range []struct {
			kind        string
			texts       []string
			least, most int
		}{
			{"one", q.one, 1, 1},
			{"tenth", q.tenth, 80, 120},
			{"none", q.none, 0, 0},
		} {
			if len(c.texts) == 0 {
				t.Errorf("%s, %s: no questions", name, c.kind)
			}
			for _, text := range c.texts {
				if n := holders(entries, text); n < c.least || n > c.most {
					t.Errorf("%s, %s: %q is in %d entries", name, c.kind, text, n)
				}
			}
		}
		for _, text := range strings.Fields(q.all[0]) {
			if n := holders(entries, text); name == "template" && n != len(entries) || n < len(entries)/3 {
				t.Errorf("%s: %q, said to be in all, is in %d entries", name, text, n)
			}
		}
	}
}

// holders counts the entries that hold a word.
func holders(entries []memory.Entry, word string) int {
	n := 0
	for i := range entries {
		pieces := memory.Pieces(entries[i].Memory)
		if slices.ContainsFunc(pieces, func(piece string) bool { return memory.Word(piece) == word }) {
			n++
		}
	}
	return n
}

// Repeated entries are other entries with the same texts, each round as it was
// first.
func TestLoadCorpus_again(t *testing.T) {
	entries := zipf(10, 1)
	path := filepath.Join(t.TempDir(), "corpus.jsonl")
	if err := writeLines(path, entries); err != nil {
		t.Fatal(err)
	}
	got, err := loadCorpus(t.Context(), path+":again", 25, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 25 {
		t.Fatalf("%d entries, want 25", len(got))
	}
	ids := make(map[uuid.UUID]bool)
	for i := range got {
		ids[got[i].ID] = true
		if first := entries[i%10]; got[i].Memory != first.Memory || !strings.HasSuffix(got[i].Agent, first.Agent) {
			t.Errorf("entry %d is %+v, want a copy of %+v", i, got[i], first)
		}
	}
	if len(ids) != len(got) {
		t.Errorf("%d ids of %d entries", len(ids), len(got))
	}
}
