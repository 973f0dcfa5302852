// Package mirror keeps in memory by what the rows of a store are found and
// ranked: their words, the numbers that the scores are made of, and their
// embeddings, unless it is to do without those. A process that asks often then
// reads from the database only what it returns.
//
// A [Mirror] knows nothing of databases: it is told of rows with [Mirror.Put],
// [Mirror.SetState] and [Mirror.Remove], and names in its answers the rows that
// are the best. Scores are computed by package memory, so that they are those
// of every other way to an answer, to the last bit.
//
// Each row has a slot, a number that is never used twice; whatever lists slots
// is appended to, never searched for a row that went. Once much of a mirror is
// of rows that are gone, it is [Mirror.Worn] and should be made anew.
//
// Reading order: mirror.go, words.go, order.go; then retrieve.go, composite.go
// and question.go, one for each way to rank, likeness.go for embeddings, and
// lend.go for the window.
package mirror

import (
	"sync"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// State is what reading and consolidating change of a row. Times are in
// nanoseconds since 1970.
type State struct {
	RowID        int64
	Position     int64 // in insertion order
	CreatedAt    int64
	StrengthBase int64 // see memory.Entry.StrengthBase
	Strength     float64
	Relevance    float32
}

// Content is what an entry says, as far as it is searched or filtered.
type Content struct {
	Memory          string
	Keywords        []string
	Tags            []string
	Agent           string
	Category        memory.Category
	MemoryType      memory.MemoryType
	Confidentiality memory.Confidentiality
	Importance      uint8
	Embedding       []float32
}

// Mirror is a picture of the rows of a store. Any number of goroutines may
// ask it at once, but none while one changes it.
type Mirror struct {
	rows  []row            // by slot
	slots map[int64]uint32 // of the rows that are there, by row id

	words      words
	tags       names[tag]
	agents     names[agent]
	categories names[struct{}]
	speakers   map[string][]uint32 // agents by the terms of their speaker
	roots      names[line]         // see memory.Root
	order      order
	vectors    []memory.Vector // by slot, as far as there are any; see KeepsVectors
	vectorless bool

	limits  limits
	size    int
	scratch sync.Pool // of *scratch
}

// row is a row in its slot.
type row struct {
	State
	length          uint32 // of the text, in pieces
	agent, category uint32
	memoryType      memory.MemoryType
	confidentiality memory.Confidentiality
	importance      uint8
	gone            bool
	inOrder         bool // its place in the order by relevance is the right one
}

type tag struct {
	lowered string
	slots   []uint32
}

// levels is how many levels of confidentiality there are.
const levels = int(memory.Restricted) + 1

type agent struct {
	slots []uint32 // kept of agents whose speaker has terms
	named bool     // the speaker has terms
	root  uint32
	rows  [levels]int // that are there, by confidentiality
}

// New returns an empty mirror.
func New() *Mirror {
	m := &Mirror{
		slots:    make(map[int64]uint32),
		words:    newWords(),
		speakers: make(map[string][]uint32),
		limits:   defaultLimits(),
		order:    order{few: 256},
	}
	m.scratch.New = func() any { return new(scratch) }
	return m
}

// Len returns the number of rows.
func (m *Mirror) Len() int { return len(m.slots) }

// Size returns about how many bytes the mirror takes.
func (m *Mirror) Size() int { return m.size + m.words.size }

// Worn reports whether more of the mirror is of rows that are gone than is
// worth keeping.
func (m *Mirror) Worn() bool {
	const few = 1000
	gone := len(m.rows) - len(m.slots)
	return gone > few && gone > len(m.slots)/2
}

// What a row and a name take, besides their texts and what package words
// counts: found by measuring.
const (
	rowSize  = 72 + 12 + 40 // itself, its places in the order and in the map
	nameSize = 100
	slotSize = 5 // in a list that grows
)

// Put adds a row, in the place of an older state of it if there is one. It
// keeps the embedding, which must not change any more.
func (m *Mirror) Put(state State, content *Content) {
	m.Remove(state.RowID)
	slot := uint32(len(m.rows))
	r := row{
		State:           state,
		category:        m.categories.number(string(content.Category)),
		memoryType:      content.MemoryType,
		confidentiality: min(content.Confidentiality, memory.Restricted), // in a damaged database it may be anything
		importance:      content.Importance,
	}
	r.agent = m.putAgent(content.Agent, slot)
	r.length = uint32(m.words.putText(content.Memory, slot))
	for _, keyword := range content.Keywords {
		m.words.putKeyword(keyword, slot)
	}
	for _, name := range content.Tags {
		t := m.tags.number(name)
		held := &m.tags.about[t]
		held.lowered = memory.Lower(name)
		held.slots = append(held.slots, slot)
		m.size += slotSize
	}
	m.putVector(content.Embedding, slot)
	m.rows = append(m.rows, r)
	m.agents.about[r.agent].rows[r.confidentiality]++
	m.slots[state.RowID] = slot
	m.order.add(slot)
	m.putInLine(slot)
	m.size += rowSize
}

// putAgent notes the agent of a slot and returns its number.
func (m *Mirror) putAgent(name string, slot uint32) uint32 {
	known := len(m.agents.texts)
	n := m.agents.number(name)
	a := &m.agents.about[n]
	if int(n) == known {
		m.size += nameSize + len(name)
		a.root = m.roots.number(memory.Root(name))
		line := &m.roots.about[a.root]
		line.agents = append(line.agents, n)
		for _, piece := range memory.Pieces(memory.Speaker(name)) {
			for _, term := range memory.Terms(piece) {
				a.named = true
				m.speakers[term] = append(m.speakers[term], n)
			}
		}
	}
	if a.named {
		a.slots = append(a.slots, slot)
		m.size += slotSize
	}
	return n
}

// SetState brings the state of a row up to date, if it is there.
func (m *Mirror) SetState(state State) {
	slot, ok := m.slots[state.RowID]
	if !ok {
		return
	}
	r := &m.rows[slot]
	moved := r.Relevance != state.Relevance || r.Position != state.Position
	late := r.Position != state.Position || r.CreatedAt != state.CreatedAt
	r.State = state
	if late {
		m.lineOf(slot).loose = true
	}
	if moved {
		m.order.loosen(m.rows, slot)
	}
}

// Remove takes a row out, if it is there.
func (m *Mirror) Remove(rowID int64) {
	if slot, ok := m.slots[rowID]; ok {
		r := &m.rows[slot]
		r.gone = true
		m.dropVector(slot)
		m.agents.about[r.agent].rows[r.confidentiality]--
		delete(m.slots, rowID)
	}
}

// Settle is to be called after changes and before questions.
func (m *Mirror) Settle() {
	m.order.settle(m.rows)
	m.settleLines()
}

// names numbers texts that many rows share, and keeps something about each.
type names[T any] struct {
	numbers map[string]uint32
	texts   []string
	about   []T
}

func (n *names[T]) number(text string) uint32 {
	if number, ok := n.numbers[text]; ok {
		return number
	}
	if n.numbers == nil {
		n.numbers = make(map[string]uint32)
	}
	number := uint32(len(n.texts))
	n.numbers[text] = number
	n.texts = append(n.texts, text)
	n.about = append(n.about, *new(T))
	return number
}

// Sees decides which rows an answer may be about.
type Sees func(agent string, level memory.Confidentiality) bool

// sees reports whether a row is there and may be seen.
func (m *Mirror) sees(slot uint32, sees Sees) bool {
	r := &m.rows[slot]
	return !r.gone && sees(m.agents.texts[r.agent], r.confidentiality)
}

// reading makes entries of rows, one at a time, with nothing but what filters
// and scores look at. Tags are for [Mirror.tagged].
type reading struct {
	entry memory.Entry
	base  time.Time
}

func (x *reading) of(m *Mirror, slot uint32) *memory.Entry {
	r := &m.rows[slot]
	x.base = time.Unix(0, r.StrengthBase)
	e := &x.entry
	e.CreatedAt, e.LastAccessed = time.Unix(0, r.CreatedAt), &x.base
	e.Strength, e.Importance = r.Strength, r.importance
	e.MemoryType, e.Confidentiality = r.memoryType, r.confidentiality
	e.Agent, e.Category = m.agents.texts[r.agent], memory.Category(m.categories.texts[r.category])
	return e
}

// passing returns the filter as a function of slots.
func (m *Mirror) passing(filter memory.Filter, sees Sees, now time.Time) func(slot uint32) bool {
	tagged := m.tagged(filter.Tags)
	filter.Tags = nil
	var x reading
	return func(slot uint32) bool {
		return m.sees(slot, sees) && (tagged == nil || tagged[slot]) && filter.Matches(x.of(m, slot), now)
	}
}

// tagged returns the slots that have any of the tags; nil for no tags.
func (m *Mirror) tagged(tags []string) map[uint32]bool {
	if len(tags) == 0 {
		return nil
	}
	slots := make(map[uint32]bool)
	for _, name := range tags {
		if n, ok := m.tags.numbers[name]; ok {
			for _, slot := range m.tags.about[n].slots {
				slots[slot] = true
			}
		}
	}
	return slots
}

// scratch counts by slot without a map; it is used again and again.
type scratch struct {
	places []uint32 // by slot: 1 + the index in found, or 0
	found  []found
}

// found is what the words of a query say of a slot.
type found struct {
	slot   uint32
	last   int32 // 1 + the latest word that was counted
	weight int32 // of the words counted
	tag    bool
	held   uint64 // a bit for each term
}

// counting returns a clean scratch, to be given back with done.
func (m *Mirror) counting() *scratch {
	s := m.scratch.Get().(*scratch)
	if len(s.places) < len(m.rows) {
		s.places = make([]uint32, len(m.rows)+len(m.rows)/8)
	}
	return s
}

func (m *Mirror) done(s *scratch) {
	for i := range s.found {
		s.places[s.found[i].slot] = 0
	}
	s.found = s.found[:0]
	m.scratch.Put(s)
}

// at returns the count of a slot, which is valid until the next call.
func (s *scratch) at(slot uint32) *found {
	if s.places[slot] == 0 {
		s.found = append(s.found, found{slot: slot})
		s.places[slot] = uint32(len(s.found))
	}
	return &s.found[s.places[slot]-1]
}

// has reports whether a slot was counted.
func (s *scratch) has(slot uint32) bool { return s.places[slot] != 0 }
