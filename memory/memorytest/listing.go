package memorytest

import (
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

var listingRules = []rule{
	{"EntriesFilter", "Entries yields, in insertion order and without counting an access, what passes the filter.", func(t *trial) {
		a := entry(1, "one", agent("a:1"), func(e *memory.Entry) { e.Tags = []string{"x", "y"} })
		b := entry(2, "two", agent("a"), restricted, func(e *memory.Entry) { e.MemoryType = memory.Semantic })
		c := entry(3, "three", strength(0.1), func(e *memory.Entry) { e.Category, e.Tags = memory.Working, []string{"y"} })
		s := t.with(c, a, b)
		for name, test := range map[string]struct {
			filter memory.Filter
			want   []int
		}{
			"nothing":       {memory.Filter{}, []int{3, 1, 2}},
			"category":      {memory.Filter{Category: memory.Working}, []int{3}},
			"any tag":       {memory.Filter{Tags: []string{"z", "y"}}, []int{3, 1}},
			"agent":         {memory.Filter{Agent: new("a")}, []int{2}},
			"no agent":      {memory.Filter{Agent: new("")}, []int{3}},
			"agent prefix":  {memory.Filter{AgentPrefix: "a"}, []int{1, 2}},
			"memory type":   {memory.Filter{MemoryType: new(memory.Semantic)}, []int{2}},
			"strength":      {memory.Filter{MinStrength: new(0.5)}, []int{1, 2}},
			"level":         {memory.Filter{MaxConfidentiality: new(memory.Confidential)}, []int{3, 1}},
			"two at a time": {memory.Filter{Tags: []string{"y"}, AgentPrefix: "a"}, []int{1}},
		} {
			t.same("Entries filtered by "+name, entryIDs(s.selected(memory.Selection{Filter: test.filter})), ids(test.want...))
		}
		s.holds(c, a, b)
	}},
	{"EntriesAfter", "After begins behind an entry in insertion order; an unknown one is ErrNotFound.", func(t *trial) {
		s := t.with(entry(3, "a"), entry(1, "b", agent("x")), entry(2, "c"))
		t.same("Entries after the first", entryIDs(s.selected(memory.Selection{After: id(3)})), ids(1, 2))
		t.same("Entries after the last", entryIDs(s.selected(memory.Selection{After: id(2)})), ids())
		t.same("Entries after one that the filter drops", entryIDs(s.selected(memory.Selection{After: id(1), Filter: memory.Filter{Agent: new("")}})), ids(2))
		count := 0
		for _, err := range s.Entries(t.Context(), memory.Selection{After: id(9)}) {
			t.refused("Entries after an unknown entry", err, memory.ErrNotFound)
			count++
		}
		t.same("the number of errors", count, 1)
	}},
	{"EntriesBackward", "Backward goes through insertion order from its end, and behind an entry to those before it.", func(t *trial) {
		s := t.with(entry(3, "a"), entry(1, "b", agent("x")), entry(2, "c"))
		t.same("Entries backward", entryIDs(s.selected(memory.Selection{Backward: true})), ids(2, 1, 3))
		t.same("those behind the last", entryIDs(s.selected(memory.Selection{Backward: true, After: id(2)})), ids(1, 3))
		t.same("those behind the first", entryIDs(s.selected(memory.Selection{Backward: true, After: id(3)})), ids())
		t.same("those that the filter leaves", entryIDs(s.selected(memory.Selection{Backward: true, Filter: memory.Filter{Agent: new("")}})), ids(2, 3))
	}},
	{"EntriesSnapshot", "Entries iterates over one snapshot: writes during the loop neither block nor show, and a loop may end early.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"), entry(3, "three"))
		var seen []memory.Entry
		for e, err := range s.Entries(t.Context(), memory.Selection{}) {
			s.must("Entries", err)
			if len(seen) == 0 {
				s.put(entry(4, "four"), entry(2, "replaced"))
				s.forget(3)
			}
			seen = append(seen, e)
		}
		t.same("what the loop saw", lines(seen), lines([]memory.Entry{entry(1, "one"), entry(2, "two"), entry(3, "three")}))
		for _, err := range s.Entries(t.Context(), memory.Selection{}) {
			s.must("Entries", err)
			break
		}
		s.holds(entry(1, "one"), entry(4, "four"), entry(2, "replaced"))
		s.put(entry(5, "after an ended loop"))
	}},
	{"EntriesMany", "A long listing is complete and in order.", func(t *trial) {
		const count = 1500
		batch := make([]memory.Entry, count)
		for i := range batch {
			batch[i] = entry((i*7)%count, "many", age(time.Duration(i%13)*time.Hour))
		}
		s := t.fresh()
		_, err := s.StoreBatch(t.Context(), batch, memory.Fail)
		s.must("StoreBatch", err)
		s.holds(batch...)
		t.same("the second half", lines(s.selected(memory.Selection{After: batch[count/2].ID})), lines(batch[count/2+1:]))
	}},
	{"Resolve", "Resolve knows an id by every usual spelling and by a prefix of six digits or more.", func(t *trial) {
		s := t.with(entry(0x10, "one"), entry(0x11, "two"), entry(0x22, "three"))
		full := id(0x22).String()
		for _, text := range []string{
			full, strings.ToUpper(full), "{" + full + "}", "urn:uuid:" + full, strings.ReplaceAll(full, "-", ""),
			"5eed002", "5EED0022", "5eed0022-0000-4", "5eed002200004",
		} {
			got, err := s.Resolve(t.Context(), text)
			s.must("Resolve "+text, err)
			t.same("Resolve "+text, got, id(0x22))
		}
		for text, want := range map[string]error{
			"5eed001":                  memory.ErrInvalid, // two
			"5eed00":                   memory.ErrInvalid, // all three
			"5eed0":                    memory.ErrInvalid, // too short
			"":                         memory.ErrInvalid,
			"five of them":             memory.ErrInvalid,
			"5eed00%":                  memory.ErrInvalid,
			full + "0":                 memory.ErrInvalid,
			"5eed0033":                 memory.ErrNotFound,
			id(0x33).String():          memory.ErrNotFound,
			uuid.Nil.String():          memory.ErrNotFound,
			"5eed0022-0000-4000-8000f": memory.ErrNotFound,
		} {
			_, err := s.Resolve(t.Context(), text)
			t.refused("Resolve "+text, err, want)
		}
	}},
}
