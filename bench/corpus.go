package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// now is the time of every clock in a run. Strengths and ages thus do not
// depend on how fast the machine is, and stores can be compared to the bit.
var now = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// loadCorpus returns up to n entries of the corpus of that name: template,
// zipf, or the path of a JSONL file in any form that loopmem imports; behind a
// path, :again has the file begin anew until there are enough. The same seed
// gives the same entries.
func loadCorpus(ctx context.Context, name string, n int, seed uint64) ([]memory.Entry, error) {
	switch name {
	case "template":
		return template(n, seed), nil
	case "zipf":
		return zipf(n, seed), nil
	}
	path, repeated := strings.CutSuffix(name, ":again")
	entries, err := fromFile(ctx, path, n)
	if err == nil && repeated {
		entries = again(entries, n, seed)
	}
	return entries, err
}

// The streams of random numbers, one for each purpose, so that a change of
// one corpus leaves the others as they are.
const (
	templateStream = iota
	zipfStream
	vocabularyStream
	nearStream
	againStream
)

func random(seed, stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

var topics = [...]string{
	"scheduling", "networking", "filesystems", "allocation", "tracing",
	"backpressure", "cancellation", "serialization", "testing", "deployment",
}

// template returns entries that differ in a number and a topic only. It is
// the corpus of the Rust store's own benchmark, and hard for an index: most
// words are in every text.
func template(n int, seed uint64) []memory.Entry {
	r := random(seed, templateStream)
	entries := make([]memory.Entry, n)
	for i := range entries {
		text := fmt.Sprintf("this is memory entry %d about rust performance optimization, async runtimes, "+
			"and tokio internals; topic %s", i, topics[i%len(topics)])
		entries[i] = generated(r, text)
	}
	return entries
}

// zipf returns entries of 8 to 40 words whose frequencies follow Zipf's law,
// as those of natural language do.
func zipf(n int, seed uint64) []memory.Entry {
	r := random(seed, zipfStream)
	words := vocabulary(seed)
	frequency := rand.NewZipf(r, 1.1, 3, uint64(len(words)-1))
	entries := make([]memory.Entry, n)
	for i := range entries {
		text := make([]string, 8+r.IntN(33))
		for k := range text {
			text[k] = words[frequency.Uint64()]
		}
		entries[i] = generated(r, strings.Join(text, " "))
		for range 1 + r.IntN(3) {
			entries[i].Tags = append(entries[i].Tags, words[firstTag+r.IntN(tags)])
		}
	}
	return entries
}

const (
	vocabularySize = 50_000
	// The tags are words of some frequency, so that queries meet them.
	firstTag, tags = 200, 30
)

// vocabulary makes distinct words that can be pronounced, the short ones
// among the frequent ones.
func vocabulary(seed uint64) []string {
	const consonants, vowels = "bcdfghklmnprstvz", "aeiou"
	r := random(seed, vocabularyStream)
	known := make(map[string]bool, vocabularySize)
	words := make([]string, 0, vocabularySize)
	for len(words) < vocabularySize {
		var b strings.Builder
		for range 1 + r.IntN(2) + min(len(words)/500, 2) {
			b.WriteByte(consonants[r.IntN(len(consonants))])
			b.WriteByte(vowels[r.IntN(len(vowels))])
			if r.IntN(3) == 0 {
				b.WriteByte(consonants[r.IntN(len(consonants))])
			}
		}
		if word := b.String(); !known[word] {
			known[word] = true
			words = append(words, word)
		}
	}
	return words
}

var categories = [...]memory.Category{
	memory.Trajectory, memory.Insight, memory.ErrorPattern, memory.Strategy, memory.Fact, memory.Working,
}

// generated gives a text the other fields: a relevance spread over 0..1, an
// age of up to a month, one of twenty agents.
func generated(r *rand.Rand, text string) memory.Entry {
	e := memory.NewEntry(categories[r.IntN(len(categories))], text)
	e.ID = newID(r)
	e.CreatedAt = now.Add(-time.Duration(r.Int64N(int64(30 * 24 * time.Hour))))
	e.Relevance = r.Float32()
	e.Importance = uint8(1 + r.IntN(10))
	e.Strength = 0.5 + r.Float64()/2
	e.Agent = fmt.Sprintf("team:%d", r.IntN(20))
	return e
}

// newID is a UUID of version 4 from the given source of chance.
func newID(r *rand.Rand) uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// fromFile returns the first n entries of a file, later lines of one id in
// place of earlier ones.
func fromFile(ctx context.Context, path string, n int) ([]memory.Entry, error) {
	store, err := memory.NewStore()
	if err != nil {
		return nil, err
	}
	if _, err := jsonlimport.Import(ctx, store, []jsonlimport.Input{{Name: path}}, jsonlimport.Options{OnConflict: memory.Replace}); err != nil {
		return nil, err
	}
	var entries []memory.Entry
	for e, err := range store.Entries(ctx, memory.Selection{}) {
		if err != nil {
			return nil, err
		}
		if len(entries) == n {
			break
		}
		entries = append(entries, e)
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("%s holds no entries", path)
	}
	return entries, nil
}

// again repeats entries until there are n. Those of each round have ids and
// agents of their own, so that they are as many conversations as before, and
// not one in which everything is said several times.
func again(entries []memory.Entry, n int, seed uint64) []memory.Entry {
	r := random(seed, againStream)
	once := len(entries)
	for i := once; i < n; i++ {
		e := entries[i-once].Clone()
		e.ID = newID(r)
		e.Agent = fmt.Sprintf("round%d:%s", i/once, entries[i%once].Agent)
		entries = append(entries, e)
	}
	return entries
}

// mostlyDistinct returns entries for a consolidation that finds next to
// nothing to merge and nothing to prune.
func mostlyDistinct(n int, seed uint64) []memory.Entry {
	entries := zipf(n, seed)
	for i := range entries {
		entries[i].Agent = ""
		entries[i].Relevance = 0.5 + entries[i].Relevance/2
		entries[i].CreatedAt = now.Add(-time.Hour)
	}
	return entries
}

// nearDuplicates is mostlyDistinct with three of ten entries made from an
// earlier one by changing a word.
func nearDuplicates(n int, seed uint64) []memory.Entry {
	r := random(seed, nearStream)
	entries := mostlyDistinct(n, seed)
	for i := 1; i < len(entries); i++ {
		if r.IntN(10) >= 3 {
			continue
		}
		original := &entries[r.IntN(i)]
		words := strings.Fields(original.Memory)
		words[r.IntN(len(words))] = "changed"
		entries[i].Memory = strings.Join(words, " ")
		entries[i].Category = original.Category
	}
	return entries
}

// embedded returns copies of the entries with embeddings of 384 dimensions.
func embedded(ctx context.Context, entries []memory.Entry) ([]memory.Entry, error) {
	texts := make([]string, len(entries))
	for i := range entries {
		texts[i] = entries[i].Memory
	}
	vectors, err := embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(entries)
	for i := range out {
		out[i].Embedding = vectors[i]
	}
	return out, nil
}

var embedder = memory.HashEmbedder{Dimensions: 384}
