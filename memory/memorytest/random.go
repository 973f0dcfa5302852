package memorytest

import (
	"strings"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/memory"
)

// The generators draw from few values on purpose: ids, agents and words have
// to meet each other for anything interesting to happen.

// words are awkward each in its own way: case that changes length or depends
// on its neighbours, marks, scripts without spaces, punctuation that search
// engines take for syntax, characters they drop.
var words = []string{
	"alpha", "Alpha,", "ALPHABET", "beta", "(beta)", "perf", "performance", "don't", `"open`, "C++", "c#", "foo_bar", "100%",
	"memory:safe", "multi-agent", "-x", "*", "OR", "AND", "NOT", "NEAR(", "^", "...", "?", "…",
	"ΟΔΟΣ", "ΟΔΟΣ.", "οδος", "Σ", "İstanbul", "istanbul", "i̇stanbul", "STRASSE", "Straße", "café", "cafe\u0301", "Ångström",
	"東京", "東", "京都タワー", "「東京」", "x東京", "क्षि", "मात्रा", "का", "한국어", "🙂", "👩‍👩‍👧", "🙂🙂", "ﬁ", "²", "½", "Ⓐ", "ª",
	"\u0301", "\u200b", "\u180e", "x\u200d", "\ufeff", "\U0010ffff", "1", "12", "$1", "?1",
}

// gaps part words; all of them are white space to Unicode.
var gaps = []string{" ", " ", " ", "  ", "\n", "\t", "\u00a0", "\u3000", "\u2028", "\r\n"}

// text draws a few words with gaps between and, at times, around them.
var text = rapid.Custom(func(t *rapid.T) string {
	var b strings.Builder
	for range rapid.IntRange(0, 7).Draw(t, "words") {
		b.WriteString(rapid.SampledFrom(words).Draw(t, "word"))
		b.WriteString(rapid.SampledFrom(gaps).Draw(t, "gap"))
	}
	if rapid.Bool().Draw(t, "trim") {
		return strings.TrimSpace(b.String())
	}
	return b.String()
})

// query draws a text, or the inside of a word, which only substrings find.
var query = rapid.OneOf(text, rapid.Custom(func(t *rapid.T) string {
	word := []rune(rapid.SampledFrom(words).Draw(t, "word"))
	from := rapid.IntRange(0, len(word)-1).Draw(t, "from")
	to := rapid.IntRange(from+1, len(word)).Draw(t, "to")
	return string(word[from:to])
}))

var (
	anyID       = rapid.Map(rapid.IntRange(1, 12), id)
	anyAgent    = rapid.SampledFrom([]string{"", "", "tg:1", "tg:1:assistant", "tg:12", "TG:1", "tg_1"})
	anyPrefix   = rapid.SampledFrom([]string{"", "", "t", "tg", "tg:", "tg:1", "tg_", "%"})
	anyCategory = rapid.SampledFrom([]memory.Category{memory.Fact, memory.Fact, memory.Working, "custom"})
	anyType     = rapid.SampledFrom([]memory.MemoryType{memory.Episodic, memory.Semantic, memory.Reflection})
	anyLevel    = rapid.SampledFrom([]memory.Confidentiality{memory.Public, memory.Public, memory.Internal, memory.Confidential, memory.Restricted})
	anyStrength = rapid.SampledFrom([]float64{1, 1, 0.5, 0.25, 0, -1, 3})
	anyList     = rapid.SliceOfN(rapid.SampledFrom(words), 0, 3)
	anyIDs      = rapid.SliceOfN(anyID, 0, 3)
	anyVector   = rapid.SampledFrom([][]float32{nil, nil, {1, 0}, {0, 1}, {1, 1}, {-1, 0.5}, {0, 0}, {1, 0, 0}})
	anyAge      = rapid.SampledFrom([]time.Duration{0, 0, 1, time.Second, time.Hour, 300 * time.Hour, 3000 * time.Hour, -time.Hour})
	anyPieces   = rapid.MapOf(rapid.SampledFrom([]string{"", "k", "ключ"}), rapid.SampledFrom(words))
)

var anyEntry = rapid.Custom(func(t *rapid.T) memory.Entry {
	e := memory.NewEntry(anyCategory.Draw(t, "category"), text.Draw(t, "memory"))
	e.ID = anyID.Draw(t, "id")
	e.CreatedAt = epoch.Add(-anyAge.Draw(t, "age"))
	if rapid.Bool().Draw(t, "plain") {
		return e
	}
	e.Tags = anyList.Draw(t, "tags")
	e.Relevance = rapid.SampledFrom([]float32{1, 0.5, 0.42, 0.06, 0.04, 0, -1, 7}).Draw(t, "relevance")
	e.AccessCount = rapid.SampledFrom([]uint64{0, 1, 50, 1<<63 - 1}).Draw(t, "access_count")
	e.Validated = rapid.Bool().Draw(t, "validated")
	e.LastAccessed = maybe(t, "last_accessed", rapid.Map(anyAge, func(d time.Duration) time.Time { return epoch.Add(-d) }))
	e.LastDecayed = maybe(t, "last_decayed", rapid.Map(anyAge, func(d time.Duration) time.Time { return epoch.Add(-d) }))
	e.Agent = anyAgent.Draw(t, "agent")
	e.Importance = rapid.SampledFrom([]uint8{0, 1, 5, 10, 255}).Draw(t, "importance")
	e.MemoryType = anyType.Draw(t, "memory_type")
	e.Keywords = anyList.Draw(t, "keywords")
	e.Summary = text.Draw(t, "summary")
	e.Strength = anyStrength.Draw(t, "strength")
	e.RelatedIDs = anyIDs.Draw(t, "related_ids")
	e.SourceIDs = anyIDs.Draw(t, "source_ids")
	e.Embedding = anyVector.Draw(t, "embedding")
	e.Confidentiality = anyLevel.Draw(t, "confidentiality")
	e.Attributes = anyPieces.Draw(t, "attributes")
	e.Pinned = rapid.IntRange(0, 4).Draw(t, "pinned") == 0
	return e
})

var anyFilter = rapid.Custom(func(t *rapid.T) memory.Filter {
	return memory.Filter{
		Category:           orZero(t, "category", anyCategory),
		Tags:               orZero(t, "tags", anyList),
		Agent:              maybe(t, "agent", anyAgent),
		AgentPrefix:        orZero(t, "agent_prefix", anyPrefix),
		MemoryType:         maybe(t, "memory_type", anyType),
		MinStrength:        maybe(t, "min_strength", anyStrength),
		MaxConfidentiality: maybe(t, "max_confidentiality", anyLevel),
	}
})

var anyQuery = rapid.Custom(func(t *rapid.T) memory.Query {
	return memory.Query{
		Filter:      anyFilter.Draw(t, "filter"),
		Text:        query.Draw(t, "text"),
		Limit:       rapid.IntRange(-1, 5).Draw(t, "limit"),
		Embedding:   anyVector.Draw(t, "embedding"),
		NoReinforce: rapid.Bool().Draw(t, "no reinforce"),
		ExactWords:  rapid.Bool().Draw(t, "exact words"),
		Ranking:     rapid.SampledFrom([]memory.Ranking{memory.RankingComposite, memory.RankingQuestion}).Draw(t, "ranking"),
		Window:      rapid.SampledFrom([]int{0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3, -1}).Draw(t, "window"),
	}
})

var anyChange = rapid.Custom(func(t *rapid.T) memory.Change {
	return memory.Change{
		Memory:          maybe(t, "memory", text),
		Category:        maybe(t, "category", anyCategory),
		Tags:            maybe(t, "tags", anyList),
		Keywords:        maybe(t, "keywords", anyList),
		Summary:         maybe(t, "summary", text),
		Importance:      maybe(t, "importance", rapid.Uint8()),
		Validated:       maybe(t, "validated", rapid.Bool()),
		Pinned:          maybe(t, "pinned", rapid.Bool()),
		Confidentiality: maybe(t, "confidentiality", anyLevel),
		Agent:           maybe(t, "agent", anyAgent),
		Attributes:      maybe(t, "attributes", anyPieces),
		Embedding:       maybe(t, "embedding", anyVector),
	}
})

var anyScope = rapid.Custom(func(t *rapid.T) memory.Scope {
	if rapid.Bool().Draw(t, "whole store") {
		return memory.Scope{}
	}
	return memory.Scope{
		Namespace:          rapid.SampledFrom([]string{"", "tg", "tg:1", "tg:12", "tg_1"}).Draw(t, "namespace"),
		MaxConfidentiality: maybe(t, "max_confidentiality", anyLevel),
	}
})

// anyName draws what Resolve may be given.
var anyName = rapid.Custom(func(t *rapid.T) string {
	name := anyID.Draw(t, "id").String()
	return name[:rapid.SampledFrom([]int{0, 5, 6, 7, 8, 10, 36}).Draw(t, "length")]
})

// maybe draws a value or nil, nil more often than not.
func maybe[T any](t *rapid.T, label string, value *rapid.Generator[T]) *T {
	if rapid.IntRange(0, 3).Draw(t, label+" set") > 0 {
		return nil
	}
	return new(value.Draw(t, label))
}

// orZero draws a value or, more often than not, the zero value.
func orZero[T any](t *rapid.T, label string, value *rapid.Generator[T]) (out T) {
	if p := maybe(t, label, value); p != nil {
		out = *p
	}
	return out
}

// anyAfter draws where a listing begins: mostly at the beginning.
var anyAfter = rapid.Custom(func(t *rapid.T) uuid.UUID { return orZero(t, "after", anyID) })
