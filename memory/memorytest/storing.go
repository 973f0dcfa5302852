package memorytest

import (
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

var storingRules = []rule{
	{"StoreKeepsEveryField", "What is stored comes out again, equal in every field.", func(t *trial) {
		entries := []memory.Entry{everyField(1), atTheLimits(2), entry(3, "")}
		s := t.with(entries...)
		s.holds(entries...)
		for _, e := range entries {
			r, err := s.Get(t.Context(), e.ID)
			s.must("Get", err)
			t.same("Get", line(r.Entry), line(e))
		}
		for _, m := range s.retrieve("", 3) {
			r, err := s.Get(t.Context(), m.Entry.ID)
			s.must("Get", err)
			t.same("the entry of a Match", line(m.Entry), line(r.Entry))
		}
	}},
	{"StoreKeepsNegativeZero", "Numbers are stored as given: also -0, whose JSONL form is -0.0.", func(t *trial) {
		e := entry(1, "nothing", relevance(float32(math.Copysign(0, -1))), strength(math.Copysign(0, -1)))
		e.Embedding = []float32{float32(math.Copysign(0, -1)), 1}
		t.with(e).holds(e)
	}},
	{"StoreNormalizesTimes", "Times are kept to the nanosecond and come out in UTC.", func(t *trial) {
		zone := time.FixedZone("half past", 5*3600+1800)
		accessed := epoch.Add(time.Nanosecond).In(zone)
		e := entry(1, "here and now")
		e.CreatedAt, e.LastAccessed = epoch.In(zone), &accessed
		got := t.with(e).get(1).Entry
		for _, at := range []time.Time{got.CreatedAt, *got.LastAccessed} {
			if at.Location() != time.UTC {
				t.Errorf("a time came out in zone %s", at.Location())
			}
		}
		t.same("the times", line(got), line(e))
	}},
	{"StoreReplaces", "Storing an id that exists replaces that entry and moves it to the end of insertion order.", func(t *trial) {
		s := t.with(everyField(1), entry(2, "second"), entry(3, "third"))
		replacement := entry(1, "the first no longer")
		s.put(replacement)
		s.holds(entry(2, "second"), entry(3, "third"), replacement)
		t.same("ties after the replacement", matchIDs(s.retrieve("", 3)), ids(2, 3, 1))
		t.same("ties after the replacement", hitIDs(s.recall(memory.Query{NoReinforce: true})), ids(2, 3, 1))
	}},
	{"StoreRefuses", "An entry that breaks a rule is ErrInvalid, and nothing is changed.", func(t *trial) {
		kept := entry(1, "kept as it is")
		s := t.with(kept)
		for name, spoil := range faults {
			e := entry(1, "a replacement")
			spoil(&e)
			t.refused("Store with "+name, s.Store(t.Context(), e), memory.ErrInvalid)
			_, err := s.StoreBatch(t.Context(), []memory.Entry{entry(2, "good"), e}, memory.Replace)
			t.refused("StoreBatch with "+name, err, memory.ErrInvalid)
		}
		s.holds(kept)
	}},
	{"StoreLongText", "A long text is stored whole and found by any of its words.", func(t *trial) {
		long := strings.Repeat("lorem ipsum dolor ", 12_000) + "needle 東京"
		s := t.with(entry(1, long), entry(2, "short"))
		s.holds(entry(1, long), entry(2, "short"))
		s.finds("needle", 1)
		s.finds("京", 1)
	}},
	{"IndexFollows", "After every kind of write a text is found by its words of now, and no longer by those of before.", func(t *trial) {
		s := t.with(entry(1, "alpha"), entry(2, "beta"), entry(3, "gamma"))
		s.put(entry(1, "delta"))
		s.finds("alpha")
		s.finds("delta", 1)
		s.update(2, memory.Change{Memory: new("epsilon"), Keywords: new([]string{"zeta"})})
		s.finds("beta")
		s.finds("epsilon", 2)
		t.same("Recall by a new keyword", hitIDs(s.recall(memory.Query{Text: "zeta"})), ids(2))
		s.update(2, memory.Change{Keywords: new([]string)})
		t.same("Recall by an old keyword", hitIDs(s.recall(memory.Query{Text: "zeta"})), ids())
		s.forget(3)
		s.finds("gamma")
		s.put(entry(3, "gamma ray"))
		s.finds("gamma", 3)
		s.consolidate()
		s.finds("delta", 1)
		s.finds("gamma", 3)
	}},
	{"WithEntries", "Entries given when the store is made are stored in order.", func(t *trial) {
		t.fresh(memory.WithEntries(entry(2, "second"), entry(1, "first"))).holds(entry(2, "second"), entry(1, "first"))
	}},
	{"Len", "Len counts the entries.", func(t *trial) {
		s := t.fresh()
		for n, change := range []func(){
			func() {},
			func() { s.put(entry(1, "one")) },
			func() { s.put(entry(2, "two")) },
		} {
			change()
			got, err := s.Len(t.Context())
			s.must("Len", err)
			t.same("Len", got, n)
		}
		s.put(entry(1, "one again"))
		s.forget(2)
		got, err := s.Len(t.Context())
		s.must("Len", err)
		t.same("Len after a replacement and a Forget", got, 1)
	}},
	{"CapacityPushesOutTheWeakest", "When a new entry would exceed the capacity, the unpinned entry of lowest effective strength makes room.", func(t *trial) {
		s := t.fresh(memory.WithCapacity(3))
		old := entry(1, "strong but long ago", age(2000*time.Hour))
		weak := entry(2, "weak and pinned", strength(0.01), pinned)
		young := entry(3, "young", strength(0.5))
		s.put(old, weak, young, entry(4, "newest"))
		s.holds(weak, young, entry(4, "newest"))
		s.finds("strong")
		s.put(entry(3, "young again"))
		s.holds(weak, entry(4, "newest"), entry(3, "young again"))
	}},
	{"CapacityTies", "Of equally weak entries the oldest makes room, and of equally old ones the first stored.", func(t *trial) {
		s := t.fresh(memory.WithCapacity(3))
		accessedNow := func(e *memory.Entry) { e.LastAccessed = new(epoch) }
		s.put(entry(1, "a", accessedNow), entry(2, "b", age(time.Hour), accessedNow), entry(3, "c", accessedNow))
		s.put(entry(4, "d"))
		s.holds(entry(1, "a", accessedNow), entry(3, "c", accessedNow), entry(4, "d"))
		s.put(entry(5, "e"))
		s.holds(entry(3, "c", accessedNow), entry(4, "d"), entry(5, "e"))
	}},
	{"CapacityFull", "A store full of pinned entries is ErrFull, and nothing is changed.", func(t *trial) {
		s := t.fresh(memory.WithCapacity(2))
		s.put(entry(1, "a", pinned), entry(2, "b", pinned))
		t.refused("Store", s.Store(t.Context(), entry(3, "c")), memory.ErrFull)
		s.holds(entry(1, "a", pinned), entry(2, "b", pinned))
		s.put(entry(1, "a again", pinned))
		s.holds(entry(2, "b", pinned), entry(1, "a again", pinned))
	}},
}

var batchRules = []rule{
	{"BatchReplace", "StoreBatch with Replace stores like Store, one after the other.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"))
		got, err := s.StoreBatch(t.Context(), []memory.Entry{entry(3, "three"), entry(1, "uno"), entry(3, "tre")}, memory.Replace)
		s.must("StoreBatch", err)
		t.same("the result", got, memory.BatchResult{Stored: 1, Replaced: 2})
		s.holds(entry(2, "two"), entry(1, "uno"), entry(3, "tre"))
	}},
	{"BatchKeep", "StoreBatch with Keep leaves entries that exist as they are, in their place.", func(t *trial) {
		s := t.with(entry(1, "one"), entry(2, "two"))
		got, err := s.StoreBatch(t.Context(), []memory.Entry{entry(3, "three"), entry(1, "uno"), entry(3, "tre")}, memory.Keep)
		s.must("StoreBatch", err)
		t.same("the result", got, memory.BatchResult{Stored: 1, Kept: 2})
		s.holds(entry(1, "one"), entry(2, "two"), entry(3, "three"))
	}},
	{"BatchFail", "StoreBatch with Fail is ErrConflict if any id exists, and then stores nothing.", func(t *trial) {
		s := t.with(entry(1, "one"))
		_, err := s.StoreBatch(t.Context(), []memory.Entry{entry(2, "two"), entry(1, "uno")}, memory.Fail)
		t.refused("StoreBatch", err, memory.ErrConflict)
		_, err = s.StoreBatch(t.Context(), []memory.Entry{entry(3, "three"), entry(3, "tre")}, memory.Fail)
		t.refused("StoreBatch of one id twice", err, memory.ErrConflict)
		_, err = s.StoreBatch(t.Context(), []memory.Entry{entry(1, "uno"), entry(2, "bad\x00")}, memory.Fail)
		t.refused("StoreBatch of a conflict and an invalid entry", err, memory.ErrInvalid)
		s.holds(entry(1, "one"))
		got, err := s.StoreBatch(t.Context(), []memory.Entry{entry(2, "two"), entry(3, "three")}, memory.Fail)
		s.must("StoreBatch", err)
		t.same("the result", got, memory.BatchResult{Stored: 2})
	}},
	{"BatchEmpty", "An empty batch changes nothing.", func(t *trial) {
		s := t.with(entry(1, "one"))
		got, err := s.StoreBatch(t.Context(), nil, memory.Replace)
		s.must("StoreBatch", err)
		t.same("the result", got, memory.BatchResult{})
		s.holds(entry(1, "one"))
	}},
	{"BatchMakesRoom", "A batch that fails gives back what had made room for it.", func(t *trial) {
		s := t.fresh(memory.WithCapacity(2))
		s.put(entry(1, "one"), entry(2, "two"))
		_, err := s.StoreBatch(t.Context(), []memory.Entry{entry(3, "three"), entry(4, "bad\x00")}, memory.Replace)
		t.refused("StoreBatch", err, memory.ErrInvalid)
		s.holds(entry(1, "one"), entry(2, "two"))
		s.finds("one", 1)
	}},
}

// faults are the ways an entry can break a rule of its fields.
var faults = map[string]func(*memory.Entry){
	"the zero UUID":               func(e *memory.Entry) { e.ID = uuid.Nil },
	"an empty category":           func(e *memory.Entry) { e.Category = "" },
	"NUL in the category":         func(e *memory.Entry) { e.Category = "a\x00" },
	"NUL in the text":             func(e *memory.Entry) { e.Memory = "a\x00b" },
	"bad UTF-8 in the text":       func(e *memory.Entry) { e.Memory = "caf\xe9" },
	"a surrogate in the text":     func(e *memory.Entry) { e.Memory = "\xed\xa0\x80" },
	"bad UTF-8 in a tag":          func(e *memory.Entry) { e.Tags = []string{"good", "\xff"} },
	"NUL in a keyword":            func(e *memory.Entry) { e.Keywords = []string{"\x00"} },
	"NUL in the agent":            func(e *memory.Entry) { e.Agent = "tg:\x00" },
	"bad UTF-8 in the summary":    func(e *memory.Entry) { e.Summary = "\x80" },
	"NUL in the author":           func(e *memory.Entry) { e.AuthorUserID = "\x00" },
	"NUL in the tenant":           func(e *memory.Entry) { e.AuthorTenantID = "\x00" },
	"bad UTF-8 in an attribute":   func(e *memory.Entry) { e.Attributes = map[string]string{"key": "\xc0\x80"} },
	"NUL in an attribute's key":   func(e *memory.Entry) { e.Attributes = map[string]string{"\x00": ""} },
	"a time before 1970":          func(e *memory.Entry) { e.CreatedAt = time.Unix(0, -1) },
	"a time after 2262":           func(e *memory.Entry) { e.CreatedAt = time.Unix(0, math.MaxInt64).Add(1) },
	"the zero time":               func(e *memory.Entry) { e.CreatedAt = time.Time{} },
	"an access before 1970":       func(e *memory.Entry) { e.LastAccessed = new(time.Unix(-1, 0)) },
	"a decay after 2262":          func(e *memory.Entry) { e.LastDecayed = new(time.Unix(1<<40, 0)) },
	"NaN as relevance":            func(e *memory.Entry) { e.Relevance = float32(math.NaN()) },
	"an infinite relevance":       func(e *memory.Entry) { e.Relevance = float32(math.Inf(1)) },
	"NaN as strength":             func(e *memory.Entry) { e.Strength = math.NaN() },
	"an infinite strength":        func(e *memory.Entry) { e.Strength = math.Inf(-1) },
	"NaN in the embedding":        func(e *memory.Entry) { e.Embedding = []float32{0, float32(math.NaN())} },
	"an access count over 2^63-1": func(e *memory.Entry) { e.AccessCount = 1 << 63 },
	"an unknown memory type":      func(e *memory.Entry) { e.MemoryType = 3 },
	"an unknown level":            func(e *memory.Entry) { e.Confidentiality = 4 },
}

// everyField is an entry with all fields set, to values that are easily lost.
func everyField(n int) memory.Entry {
	e := entry(n, "ÅΣ ς\u2028🙂 \"quoted\"\n\ttab \\ <b>&amp;</b> İ e\u0301 \u007f")
	e.Category = "préférence"
	e.Tags = []string{"b", "a", "b", "", " spaced ", "東京"}
	e.CreatedAt = epoch.Add(-time.Hour + time.Nanosecond)
	e.Relevance = 0.1
	e.AccessCount = 3
	e.Validated = true
	e.LastAccessed = new(epoch.Add(-time.Nanosecond))
	e.LastDecayed = new(epoch.Add(-time.Minute))
	e.Agent = "tg:123:assistant"
	e.Importance = 9
	e.MemoryType = memory.Reflection
	e.Keywords = []string{"Two Words", "z", "z"}
	e.Summary = "short"
	e.Strength = 0.30000000000000004
	e.RelatedIDs = ids(900, 901, 900)
	e.SourceIDs = ids(902)
	e.Embedding = []float32{0.1, -1e-30, math.MaxFloat32}
	e.Confidentiality = memory.Confidential
	e.AuthorUserID = "user"
	e.AuthorTenantID = "tenant"
	e.Attributes = map[string]string{"": "empty key", "origin": "", "ключ": "значение"}
	e.Pinned = true
	return e
}

// atTheLimits is an entry whose values are the outermost allowed ones.
func atTheLimits(n int) memory.Entry {
	e := entry(n, " ")
	e.Relevance = -math.MaxFloat32
	e.AccessCount = math.MaxInt64
	e.CreatedAt = time.Unix(0, 0).UTC()
	e.LastAccessed = new(time.Unix(0, math.MaxInt64).UTC())
	e.LastDecayed = new(time.Unix(0, 0).UTC())
	e.Importance = 255
	e.Strength = math.SmallestNonzeroFloat64
	e.Embedding = []float32{math.SmallestNonzeroFloat32}
	e.Attributes = map[string]string{"k": "v"}
	return e
}
