package main

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/loopmem/loopmem/memory"
)

// Consolidate makes the comparisons of a plain pass, each entry with the
// first member of every cluster so far, and counts what would merge. Folding
// the few that do costs nothing beside that, so it is left out, and so is
// everything that the generated corpora give no cause for.
func (s *scan) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	stats := memory.ConsolidationStats{EntriesBefore: len(s.records), EntriesAfter: len(s.records)}
	threshold := memory.DefaultConsolidation().MergeThreshold
	heads := make(map[memory.Category][][]string)
	for _, r := range s.records {
		if err := ctx.Err(); err != nil {
			return stats, err
		}
		words, category := wordSet(r.entry.Memory), r.entry.Category
		if slices.ContainsFunc(heads[category], func(head []string) bool { return similarity(head, words) >= threshold }) {
			stats.Merged++
			stats.EntriesAfter--
			stats.BytesSaved += len(r.entry.Memory)
			continue
		}
		heads[category] = append(heads[category], words)
	}
	return stats, nil
}

// wordSet returns the set of words by which texts are compared, sorted.
// Letters and numbers are those of Go, which is enough for generated texts.
func wordSet(text string) []string {
	words := memory.Pieces(text)
	for i := range words {
		words[i] = strings.TrimFunc(words[i], func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	slices.Sort(words)
	words = slices.Compact(words)
	return slices.DeleteFunc(words, func(w string) bool { return w == "" })
}

// similarity is the Jaccard similarity of two sorted sets.
func similarity(a, b []string) float32 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch strings.Compare(a[i], b[j]) {
		case 0:
			common++
			i++
			j++
		case -1:
			i++
		default:
			j++
		}
	}
	return float32(common) / float32(len(a)+len(b)-common)
}
