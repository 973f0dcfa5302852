package memory

import (
	"math"
	"slices"
)

// clusters groups the entries greedily in insertion order, and returns the
// indexes of each group: an entry joins the first cluster whose first member
// is similar enough. Pinned entries and those without words stay alone.
func clusters(entries []Survivor, threshold float32) [][]int {
	var groups [][]int
	heads := make(map[mergeKey]*headIndex)
	sets, unique := wordSets(entries)
	for i, words := range sets {
		e := &entries[i].Entry
		key := mergeKey{e.Category, e.Agent, e.Confidentiality}
		if heads[key] == nil {
			heads[key] = &headIndex{threshold: threshold, unique: unique, holders: make(map[int32][]holding)}
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
// for entries that stay alone. Only one entry has a word below unique.
func wordSets(entries []Survivor) (sets [][]int32, unique int32) {
	numbers := make(map[string]int32, len(entries))
	var counts []int // entries that have the word, by its number
	sets = make([][]int32, len(entries))
	for i := range entries {
		if entries[i].Entry.Pinned {
			continue
		}
		words := clusterTokens(entries[i].Entry.Memory)
		set := make([]int32, len(words))
		for k, word := range words {
			n, known := numbers[word]
			if !known {
				n = int32(len(counts))
				numbers[word] = n
				counts = append(counts, 0)
			}
			set[k] = n
		}
		slices.Sort(set)
		sets[i] = slices.Compact(set)
		for _, n := range sets[i] {
			counts[n]++
		}
	}
	rank := ranks(counts)
	for _, set := range sets {
		for i, n := range set {
			set[i] = rank[n]
		}
		slices.Sort(set)
	}
	for _, count := range counts {
		if count == 1 {
			unique++
		}
	}
	return sets, unique
}

// ranks returns the rank of each count, the lowest first, and equal ones in
// order. The counts are small, so they are sorted by counting them.
func ranks(counts []int) []int32 {
	if len(counts) == 0 {
		return nil
	}
	next := make([]int32, slices.Max(counts)+2) // rank of the next one of that count
	for _, count := range counts {
		next[count+1]++
	}
	for count := 1; count < len(next); count++ {
		next[count] += next[count-1]
	}
	rank := make([]int32, len(counts))
	for i, count := range counts {
		rank[i] = next[count]
		next[count]++
	}
	return rank
}

// headIndex holds the first members of the clusters that an entry may join.
//
// Comparing each entry with each of them takes a time that grows with the
// square of their number. Two sets that are similar to the part t must share
// t/(1+t) of the sum of their sizes, so that, with their words in one order,
// they share one among the first n - ceil(t*n) + 1 of each (prefix filtering:
// Chaudhuri et al., "A Primitive Operator for Similarity Joins in Data
// Cleaning", 2006). With the rarest words first, few pairs do. Most of those
// are ruled out by their sizes and by how many words are left behind the first
// one shared (positional filtering: Xiao et al., "Efficient Similarity Joins
// for Near Duplicate Detection", 2008). What remains is compared, and so the
// same pairs are found.
type headIndex struct {
	threshold float32
	unique    int32 // words below it are of no use: two entries never share one
	heads     []head
	joined    int32               // calls of join
	holders   map[int32][]holding // heads with the word in their prefix, ascending
}

// head is the first member of a cluster.
type head struct {
	words   []int32
	cluster int
	asked   int32 // number of the latest call that compared it
}

// holding says where a head has a word.
type holding struct {
	head int32
	size int32 // of the head's set
	rest int32 // words of it from this one on
}

// join returns the cluster that an entry joins, or makes it the first member
// of the one given and returns -1.
func (h *headIndex) join(words []int32, cluster int) int {
	h.joined++
	prefix := words[:h.prefix(len(words))]
	first := int32(len(h.heads))
	for i, word := range prefix {
		if word < h.unique {
			continue
		}
		rest := int32(len(words) - i)
		for _, held := range h.holders[word] {
			if held.head >= first {
				break
			}
			shared := h.shared(len(words) + int(held.size))
			if min(rest, held.rest) < shared {
				continue
			}
			candidate := &h.heads[held.head]
			if candidate.asked == h.joined {
				continue
			}
			candidate.asked = h.joined
			if similar(candidate.words, words, shared, h.threshold) {
				first = held.head
			}
		}
	}
	if int(first) < len(h.heads) {
		return h.heads[first].cluster
	}
	for i, word := range prefix {
		if word < h.unique {
			continue
		}
		size := int32(len(words))
		h.holders[word] = append(h.holders[word], holding{head: first, size: size, rest: size - int32(i)})
	}
	h.heads = append(h.heads, head{words: words, cluster: cluster})
	return -1
}

// least is the threshold a little lowered: similarity is compared in float32,
// which may round up to it.
func (h *headIndex) least() float64 { return float64(h.threshold) * (1 - 1e-6) }

// prefix returns how many words of a set of n are to be looked at.
func (h *headIndex) prefix(n int) int { return n - int(math.Ceil(h.least()*float64(n))) + 1 }

// shared returns how many words two sets of that size together must share at
// least.
func (h *headIndex) shared(sizes int) int32 {
	t := h.least()
	return int32(math.Ceil(t / (1 + t) * float64(sizes)))
}

// similar reports whether the size of the intersection of two sorted sets over
// that of their union is at least the threshold. It gives up where they
// cannot share as many words as they must.
func similar(a, b []int32, shared int32, threshold float32) bool {
	common := int32(0)
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		switch {
		case a[i] == b[j]:
			common++
			i++
			j++
			continue
		case a[i] < b[j]:
			i++
		default:
			j++
		}
		if common+int32(min(len(a)-i, len(b)-j)) < shared {
			return false
		}
	}
	return float32(common)/float32(int32(len(a)+len(b))-common) >= threshold
}
