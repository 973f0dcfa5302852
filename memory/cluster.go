package memory

import (
	"cmp"
	"math"
	"slices"
)

// clusters groups the entries greedily in insertion order, and returns the
// indexes of each group: an entry joins the first cluster whose first member
// is similar enough. Pinned entries and those without words stay alone.
func clusters(entries []Survivor, threshold float32) [][]int {
	var groups [][]int
	heads := make(map[mergeKey]*headIndex)
	for i, words := range wordSets(entries) {
		e := &entries[i].Entry
		key := mergeKey{e.Category, e.Agent, e.Confidentiality}
		if heads[key] == nil {
			heads[key] = &headIndex{threshold: threshold, holders: make(map[int32][]int)}
		}
		joins := -1
		if len(words) > 0 {
			joins = heads[key].join(words, len(groups))
		}
		if joins < 0 {
			groups = append(groups, []int{i})
		} else {
			groups[joins] = append(groups[joins], i)
		}
	}
	return groups
}

// mergeKey keeps apart what must never merge: merging across agents or
// levels would show the one what only the other may see.
type mergeKey struct {
	category        Category
	agent           string
	confidentiality Confidentiality
}

// wordSets returns the set of words of each entry, as numbers in ascending
// order that grow with the number of entries that have the word; an empty set
// for entries that stay alone.
func wordSets(entries []Survivor) [][]int32 {
	numbers := make(map[string]int32)
	var counts []int // entries that have the word, by its number
	sets := make([][]int32, len(entries))
	for i := range entries {
		if entries[i].Entry.Pinned {
			continue
		}
		for _, word := range clusterTokens(entries[i].Entry.Memory) {
			n, known := numbers[word]
			if !known {
				n = int32(len(counts))
				numbers[word] = n
				counts = append(counts, 0)
			}
			counts[n]++
			sets[i] = append(sets[i], n)
		}
	}
	byCount := make([]int32, len(counts))
	for n := range byCount {
		byCount[n] = int32(n)
	}
	slices.SortFunc(byCount, func(a, b int32) int { return cmp.Or(cmp.Compare(counts[a], counts[b]), cmp.Compare(a, b)) })
	rank := make([]int32, len(counts))
	for i, n := range byCount {
		rank[n] = int32(i)
	}
	for _, set := range sets {
		for i, n := range set {
			set[i] = rank[n]
		}
		slices.Sort(set)
	}
	return sets
}

// headIndex holds the first members of the clusters that an entry may join.
//
// Comparing each entry with each of them takes a time that grows with the
// square of their number. Prefix filtering (Chaudhuri et al., "A Primitive
// Operator for Similarity Joins in Data Cleaning", 2006) finds the same pairs:
// two sets that share at least the part t of each must, with their words in
// one order, share one among the first n - ceil(t*n) + 1 of each. With the
// rarest words first, few sets do.
type headIndex struct {
	threshold float32
	heads     []head
	joined    int             // calls of join
	holders   map[int32][]int // heads with the word in their prefix, ascending
}

// head is the first member of a cluster.
type head struct {
	words   []int32
	cluster int
	asked   int // number of the latest call that compared it
}

// join returns the cluster that an entry joins, or makes it the first member
// of the one given and returns -1.
func (h *headIndex) join(words []int32, cluster int) int {
	h.joined++
	prefix := words[:h.prefix(len(words))]
	first := len(h.heads)
	for _, word := range prefix {
		for _, n := range h.holders[word] {
			if n >= first {
				break
			}
			candidate := &h.heads[n]
			if candidate.asked == h.joined {
				continue
			}
			candidate.asked = h.joined
			if jaccard(candidate.words, words) >= h.threshold {
				first = n
			}
		}
	}
	if first < len(h.heads) {
		return h.heads[first].cluster
	}
	for _, word := range prefix {
		h.holders[word] = append(h.holders[word], len(h.heads))
	}
	h.heads = append(h.heads, head{words: words, cluster: cluster})
	return -1
}

// prefix returns how many words of a set of n are to be looked at. Similarity
// is compared in float32, which may round up to the threshold; so the bound
// lies a little below it.
func (h *headIndex) prefix(n int) int {
	shared := math.Ceil(float64(h.threshold) * (1 - 1e-6) * float64(n))
	return n - int(shared) + 1
}

// jaccard is the size of the intersection over the size of the union of two
// sorted sets.
func jaccard(a, b []int32) float32 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			common++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float32(common) / float32(len(a)+len(b)-common)
}
