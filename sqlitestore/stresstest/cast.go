package main

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Every text begins with a stamp that names the call which wrote it, and all
// other content follows from the stamp. So the judge needs no record of what
// was written, and an entry of which half is from one write and half from
// another gives itself away.

// stamp names one written text.
type stamp struct {
	Updated bool // by Update rather than by a store
	Process int
	Call    int
}

func (s stamp) String() string {
	kind := 's'
	if s.Updated {
		kind = 'u'
	}
	return fmt.Sprintf("%c%d-%d", kind, s.Process, s.Call)
}

// stampOf reads the stamp at the beginning of a text.
func stampOf(text string) (s stamp, ok bool) {
	var kind rune
	n, _ := fmt.Sscanf(text, "%c%d-%d ", &kind, &s.Process, &s.Call)
	s.Updated = kind == 'u'
	return s, n == 3 && strings.HasPrefix(text, s.String()+" ")
}

// pooled is how many ids the processes fight for.
const pooled = 150

// poolID is the n-th of these ids.
func poolID(n int) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "pool %d", n)) }

// steadies is how many entries are only read, to count the accesses.
const steadies = 5

func steadyID(n int) uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "steady %d", n))
}

// counterID is the entry in which all processes count.
var counterID = uuid.NewSHA1(uuid.NameSpaceOID, []byte("counter"))

// counted is the word that only the counter has.
const counted = "counted"

func counterText(n int) string { return fmt.Sprintf("%s to %d", counted, n) }

// countedIn reads the number in a counter's text.
func countedIn(text string) (n int, err error) {
	_, err = fmt.Sscanf(text, counted+" to %d", &n)
	return n, err
}

// Most entries are from the future, where nothing fades yet. The others have
// long faded, and go with the next pass unless they were accessed.
var (
	future = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
	past   = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
)

// sceneEntries are there before the processes start. They are pinned, so that
// consolidation counts their accesses and does nothing else to them.
func sceneEntries() []memory.Entry {
	var entries []memory.Entry
	add := func(id uuid.UUID, text string) {
		e := memory.NewEntry(memory.Fact, text)
		e.ID, e.CreatedAt, e.Pinned = id, past, true
		entries = append(entries, e)
	}
	for i := range steadies {
		add(steadyID(i), fmt.Sprintf("steady %d", i))
	}
	add(counterID, counterText(0))
	return entries
}

var vocabulary = strings.Fields("lamp river stone cloud ember willow harbor meadow copper violin " +
	"ledger comet saddle orchard beacon thicket marble lantern prairie anchor")

// written is the entry that the call with the stamp writes under the id.
func written(s stamp, id uuid.UUID) memory.Entry {
	seed := fnv.New64a()
	fmt.Fprint(seed, s, id)
	r := rand.New(rand.NewPCG(seed.Sum64(), 0))

	// What an update leaves alone must not depend on the stamp.
	e := memory.NewEntry([]memory.Category{memory.Fact, memory.Insight, memory.Working}[id[0]%3], "")
	e.ID = id
	e.CreatedAt = []time.Time{future, future, future, past}[id[1]%4].Add(time.Duration(id[3]) * time.Minute)
	e.Agent = []string{"", "team", "team:a"}[id[2]%3]

	word := func() string { return vocabulary[r.IntN(len(vocabulary))] }
	words := strings.Repeat(vocabulary[r.IntN(4)]+" is what many write about, in the same words, to be merged ", 1+r.IntN(2))
	if r.IntN(3) > 0 {
		words = ""
		for range 3 + r.IntN(20) {
			words += word() + " "
		}
	}
	e.Memory = s.String() + " " + words + "."
	e.Tags = []string{word(), s.String()}
	e.Keywords = []string{word() + " " + word()}
	e.Summary = "of " + s.String()
	e.Importance = uint8(1 + r.IntN(10))
	e.Attributes = map[string]string{word(): s.String()}
	if !s.Updated {
		e.Strength = r.Float64()
		e.Relevance = []float32{1, 0.7, 0.3, 0.01, 1.5}[r.IntN(5)]
		if r.IntN(3) == 0 {
			e.Embedding = []float32{r.Float32(), r.Float32(), r.Float32(), r.Float32()}
		}
	}
	return e
}

// changeTo is the update after which the entry is the one that is written by
// the call.
func changeTo(e *memory.Entry) memory.Change {
	return memory.Change{
		Memory: &e.Memory, Tags: &e.Tags, Keywords: &e.Keywords, Summary: &e.Summary,
		Importance: &e.Importance, Attributes: &e.Attributes,
	}
}

// whole tells what is wrong with an entry that was read: nil if all of its
// content is from one write.
func whole(e *memory.Entry) error {
	s, ok := stampOf(e.Memory)
	if !ok {
		return fmt.Errorf("entry %s has a text that nobody wrote: %.80q", e.ID, e.Memory)
	}
	got, want := e.Clone(), written(s, e.ID)
	if len(got.SourceIDs) > 0 {
		// Others were merged into it. They may have added at the end of its
		// lists, made it older or more important; the rest is its own.
		want.CreatedAt, want.Importance, want.SourceIDs = got.CreatedAt, got.Importance, got.SourceIDs
		got.Tags, got.Keywords = upTo(got.Tags, want.Tags), upTo(got.Keywords, want.Keywords)
	}
	// Reading, consolidation and links change these at any time.
	want.Relevance, want.Strength, want.AccessCount = got.Relevance, got.Strength, got.AccessCount
	want.LastAccessed, want.LastDecayed = got.LastAccessed, got.LastDecayed
	want.RelatedIDs = got.RelatedIDs
	if a, b := string(got.AppendJSON(nil)), string(want.AppendJSON(nil)); a != b {
		return fmt.Errorf("entry %s is not what was written:\n  read    %s\n  written %s", e.ID, a, b)
	}
	return nil
}

// upTo cuts a list to the length of another.
func upTo(list, other []string) []string { return list[:min(len(list), len(other))] }
