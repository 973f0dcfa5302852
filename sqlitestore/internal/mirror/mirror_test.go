package mirror

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/memory"
)

// model is the rows that a mirror should be of.
type model map[int64]memory.Candidate

func (m model) put(t *rapid.T, mirror *Mirror, rowID, position int64) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "ab", "abc", "bc", "c,", "Über"}), 0, 5)
	e := memory.NewEntry(memory.Fact, strings.Join(words.Draw(t, "text"), " "))
	e.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"ab", "a c", "x"}), 0, 2).Draw(t, "tags")
	e.Relevance = rapid.SampledFrom([]float32{0, 0.25, 0.5, 0.50000006, 1, 2}).Draw(t, "relevance")
	e.Agent = rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "agent")
	m[rowID] = memory.Candidate{Entry: e, Position: position}
	mirror.Put(stateOf(rowID, m[rowID]), &Content{
		Memory: e.Memory, Tags: e.Tags, Agent: e.Agent, Category: e.Category,
	})
}

func stateOf(rowID int64, c memory.Candidate) State {
	return State{RowID: rowID, Position: c.Position, Relevance: c.Entry.Relevance, Strength: 1}
}

// retrieve is Retrieve by a scan.
func (m model) retrieve(query *memory.RetrieveQuery, agent string, limit int) []Match {
	var all []Match
	for rowID, c := range m {
		if c.Entry.Agent == agent {
			match := query.Match(&c.Entry)
			all = append(all, Match{rowID, c.Position, match.Score, match.Matched})
		}
	}
	slices.SortFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Position, b.Position))
	})
	return append([]Match{}, all[:min(limit, len(all))]...)
}

// TestRetrieve compares with a scan, whichever way the mirror goes, while rows
// come, change, move and go.
func TestRetrieve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mirror, rows := New(), make(model)
		mirror.limits = limits{
			countable: rapid.IntRange(0, 8).Draw(t, "countable"),
			longest:   rapid.IntRange(0, 20).Draw(t, "longest"),
			spread:    rapid.IntRange(0, 3).Draw(t, "spread"),
		}
		mirror.order.few = rapid.IntRange(0, 8).Draw(t, "few")
		position := int64(0)
		anyRow := rapid.Custom(func(t *rapid.T) int64 { return rapid.Int64Range(1, 12).Draw(t, "row") })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				position++
				rows.put(t, mirror, anyRow.Draw(t, "row"), position)
			},
			"move": func(t *rapid.T) {
				rowID := anyRow.Draw(t, "row")
				c, ok := rows[rowID]
				position++
				c.Position = position
				c.Entry.Relevance = rapid.SampledFrom([]float32{0, 0.5, 1}).Draw(t, "relevance")
				if ok {
					rows[rowID] = c
				}
				mirror.SetState(stateOf(rowID, c))
			},
			"remove": func(t *rapid.T) {
				rowID := anyRow.Draw(t, "row")
				delete(rows, rowID)
				mirror.Remove(rowID)
			},
			"": func(t *rapid.T) {
				mirror.Settle()
				query := memory.NewRetrieveQuery(rapid.SampledFrom([]string{
					"", "a", "ab", "b", "abc", "a ab bc", "x", "c ,", "a c", "über a", "nothing", "a a b",
				}).Draw(t, "query"))
				agent := rapid.SampledFrom([]string{"", "one"}).Draw(t, "agent")
				limit := rapid.IntRange(1, 5).Draw(t, "limit")
				sees := func(a string, _ memory.Confidentiality) bool { return a == agent }
				got, ok := mirror.Retrieve(&query, sees, limit)
				if !ok {
					return
				}
				if diff := gocmp.Diff(rows.retrieve(&query, agent, limit), append([]Match{}, got...)); diff != "" {
					t.Errorf("%+v, limit %d: %s", query, limit, diff)
				}
				if mirror.Len() != len(rows) {
					t.Errorf("the mirror has %d rows, want %d", mirror.Len(), len(rows))
				}
			},
		})
	})
}

// TestSize holds what a mirror says of itself against what it takes.
func TestSize(t *testing.T) {
	few := func(int) string { return strings.Repeat("this is one of many lines ", 3) }
	many := func(i int) string { return fmt.Sprintf("entry%d has a word%d of its own", i, i) }
	for _, corpus := range []struct {
		name       string
		text       func(i int) string
		dimensions int
	}{
		{"few words", few, 0},
		{"many words", many, 0},
		{"embeddings", many, 64},
	} {
		t.Run(corpus.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			mirror := New()
			for i := range 50_000 {
				mirror.Put(State{RowID: int64(i + 1), Position: int64(i), Relevance: float32(i%100) / 100},
					&Content{Memory: corpus.text(i), Embedding: unitVector(corpus.dimensions)})
			}
			mirror.Settle()
			runtime.GC()
			runtime.ReadMemStats(&after)
			taken := int(after.HeapAlloc) - int(before.HeapAlloc)
			t.Logf("it takes %d KiB and says %d KiB", taken>>10, mirror.Size()>>10)
			if said := mirror.Size(); said < taken*2/3 || said > taken*2 {
				t.Errorf("it takes %d bytes and says %d", taken, said)
			}
			runtime.KeepAlive(mirror)
		})
	}
}

// TestDropVectors leaves a mirror that takes no more than one that never had any.
func TestDropVectors(t *testing.T) {
	with, without := New(), New()
	without.DropVectors()
	put := func(i int64) {
		for _, m := range []*Mirror{with, without} {
			m.Put(State{RowID: i}, &Content{Memory: "a text", Embedding: unitVector(3)})
		}
	}
	put(1)
	put(2)
	with.Remove(1)
	without.Remove(1)
	if kept := with.Size() - without.Size(); kept != vectorSize+3*4 {
		t.Errorf("one vector of three dimensions takes %d bytes", kept)
	}
	with.DropVectors()
	put(3)
	if with.Size() != without.Size() || with.KeepsVectors() {
		t.Errorf("a mirror takes %d bytes after its vectors were dropped, one that never had any %d", with.Size(), without.Size())
	}
}

// unitVector is all zero but for one component.
func unitVector(dimensions int) []float32 {
	vector := make([]float32, dimensions)
	if dimensions > 0 {
		vector[0] = 1
	}
	return vector
}

// BenchmarkRetrieve shows that asking a mirror takes few allocations, and a
// time that hardly depends on how many rows match.
func BenchmarkRetrieve(b *testing.B) {
	mirror := New()
	for i := range 100_000 {
		text := fmt.Sprintf("this is memory entry %d about performance; topic t%d", i, i%10)
		mirror.Put(State{RowID: int64(i + 1), Position: int64(i), Relevance: float32(i%1000) / 1000}, &Content{Memory: text})
	}
	mirror.Settle()
	all := func(string, memory.Confidentiality) bool { return true }
	for _, text := range []string{"77777", "t3", "this memory entry", "nothing", "777", ""} {
		query := memory.NewRetrieveQuery(text)
		b.Run(strings.ReplaceAll(cmp.Or(text, "empty"), " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := mirror.Retrieve(&query, all, 10); !ok {
					b.Fatal("the mirror gave up")
				}
			}
		})
	}
}

// BenchmarkComposite shows what a recall with an embedding takes, which looks
// at every row that has one.
func BenchmarkComposite(b *testing.B) {
	const rows, dimensions = 20_000, 384
	mirror := New()
	random := rand.New(rand.NewPCG(1, 2))
	vector := func() []float32 {
		v := make([]float32, dimensions)
		for i := range v {
			v[i] = random.Float32() - 0.5
		}
		return v
	}
	for i := range rows {
		text := fmt.Sprintf("this is memory entry %d about performance; topic t%d", i, i%10)
		mirror.Put(State{RowID: int64(i + 1), Position: int64(i)}, &Content{Memory: text, Embedding: vector()})
	}
	mirror.Settle()
	all := func(string, memory.Confidentiality) bool { return true }
	query := memory.Query{Text: "t3", Limit: 10, Embedding: vector()}
	b.ReportAllocs()
	for b.Loop() {
		if hits := mirror.Composite(query.Composite(), &query, nil, all, time.Unix(1, 0)); len(hits) != query.Limit {
			b.Fatalf("%d hits", len(hits))
		}
	}
}
