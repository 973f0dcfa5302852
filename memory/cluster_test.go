package memory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// plainClusters is what clusters must agree with: each entry compared with
// every first member.
func plainClusters(entries []Survivor, threshold float32) [][]int {
	var groups [][]int
	sets, _ := wordSets(entries)
	for i := range entries {
		e := &entries[i].Entry
		joins := slices.IndexFunc(groups, func(group []int) bool {
			head := &entries[group[0]].Entry
			return len(sets[i]) > 0 && len(sets[group[0]]) > 0 &&
				e.Category == head.Category && e.Agent == head.Agent && e.Confidentiality == head.Confidentiality &&
				jaccard(sets[group[0]], sets[i]) >= threshold
		})
		if joins < 0 {
			groups = append(groups, []int{i})
		} else {
			groups[joins] = append(groups[joins], i)
		}
	}
	return groups
}

func TestClustersFindsAllPairs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := strings.Fields("a b c d e f g h i j k l m n o p q r s t")
		text := rapid.Map(rapid.SliceOfN(rapid.SampledFrom(words), 0, 12), func(words []string) string {
			return strings.Join(words, " ")
		})
		entries := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Survivor {
			e := NewEntry(rapid.SampledFrom([]Category{Fact, Insight}).Draw(t, "category"), text.Draw(t, "text"))
			e.Agent = rapid.SampledFrom([]string{"", "a"}).Draw(t, "agent")
			e.Pinned = rapid.IntRange(0, 9).Draw(t, "pinned") == 0
			return Survivor{Entry: e}
		}), 0, 60).Draw(t, "entries")
		threshold := rapid.OneOf(
			rapid.SampledFrom([]float32{0.25, 0.3, 1. / 3, 0.4, 0.5, 0.6, 2. / 3, 0.7, 0.75, 0.8, 1}),
			rapid.Float32Range(0.01, 1),
		).Draw(t, "threshold")
		got, want := clusters(entries, threshold), plainClusters(entries, threshold)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("at threshold %v:\ngot  %v\nwant %v", threshold, got, want)
		}
	})
}

// distinctEntries are texts of sixteen words each that have few in common.
func distinctEntries(n int) []Entry {
	entries := make([]Entry, n)
	for i := range entries {
		var text strings.Builder
		for w := range 16 {
			fmt.Fprintf(&text, "word%d ", (i*7919+w*104729+w*w*i)%50_000)
		}
		entries[i] = NewEntry(Fact, text.String())
	}
	return entries
}

func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		entries := distinctEntries(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				DefaultConsolidation().Plan(entries[0].CreatedAt, entries, nil)
			}
		})
	}
}

// BenchmarkPlainClusters is what clusters is measured against.
func BenchmarkPlainClusters(b *testing.B) {
	entries := distinctEntries(1_000)
	survivors := make([]Survivor, len(entries))
	for i := range entries {
		survivors[i] = Survivor{Entry: entries[i]}
	}
	for name, find := range map[string]func([]Survivor, float32) [][]int{"indexed": clusters, "plain": plainClusters} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				find(survivors, 0.6)
			}
		})
	}
}

// jaccard is the similarity by its definition.
func jaccard(a, b []int32) float32 {
	common := 0
	for _, word := range a {
		if slices.Contains(b, word) {
			common++
		}
	}
	return float32(common) / float32(len(a)+len(b)-common)
}
