package memory_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

func TestNewEntry(t *testing.T) {
	a, b := memory.NewEntry(memory.Fact, "text"), memory.NewEntry(memory.Fact, "text")
	if err := a.Validate(); err != nil {
		t.Errorf("a new entry is not valid: %v", err)
	}
	if a.ID == b.ID || a.ID.Version() != 4 {
		t.Errorf("ids are %s and %s, want random ones of version 4", a.ID, b.ID)
	}
	if a.CreatedAt.Location() != time.UTC {
		t.Errorf("CreatedAt is in %s, want UTC", a.CreatedAt.Location())
	}
	want := memory.Entry{ID: a.ID, Category: memory.Fact, Memory: "text", CreatedAt: a.CreatedAt, Relevance: 1, Importance: 5, Strength: 1}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Errorf("the defaults (-want +got):\n%s", diff)
	}
}

func TestEntryValidateNamesTheField(t *testing.T) {
	for _, test := range []struct {
		field string
		spoil func(*memory.Entry)
	}{
		{"id", func(e *memory.Entry) { e.ID = uuid.Nil }},
		{"category", func(e *memory.Entry) { e.Category = "" }},
		{"category", func(e *memory.Entry) { e.Category = "\xff" }},
		{"memory", func(e *memory.Entry) { e.Memory = "a\x00" }},
		{"memory", func(e *memory.Entry) { e.Memory = "\xed\xa0\x80" }},
		{"tags", func(e *memory.Entry) { e.Tags = []string{"", "\x00"} }},
		{"created_at", func(e *memory.Entry) { e.CreatedAt = time.Time{} }},
		{"created_at", func(e *memory.Entry) { e.CreatedAt = time.Unix(0, -1) }},
		{"created_at", func(e *memory.Entry) { e.CreatedAt = time.Unix(0, math.MaxInt64).Add(1) }},
		{"relevance", func(e *memory.Entry) { e.Relevance = float32(math.NaN()) }},
		{"access_count", func(e *memory.Entry) { e.AccessCount = math.MaxInt64 + 1 }},
		{"last_accessed", func(e *memory.Entry) { e.LastAccessed = new(time.Unix(-1, 0)) }},
		{"last_decayed", func(e *memory.Entry) { e.LastDecayed = new(time.Unix(1<<40, 0)) }},
		{"agent", func(e *memory.Entry) { e.Agent = "\x00" }},
		{"memory_type", func(e *memory.Entry) { e.MemoryType = 3 }},
		{"keywords", func(e *memory.Entry) { e.Keywords = []string{"\xff"} }},
		{"summary", func(e *memory.Entry) { e.Summary = "\x00" }},
		{"strength", func(e *memory.Entry) { e.Strength = math.Inf(1) }},
		{"embedding", func(e *memory.Entry) { e.Embedding = []float32{0, float32(math.Inf(-1))} }},
		{"confidentiality", func(e *memory.Entry) { e.Confidentiality = 4 }},
		{"author_user_id", func(e *memory.Entry) { e.AuthorUserID = "\x00" }},
		{"author_tenant_id", func(e *memory.Entry) { e.AuthorTenantID = "\x00" }},
		{"attributes", func(e *memory.Entry) { e.Attributes = map[string]string{"\x00": ""} }},
		{"attributes", func(e *memory.Entry) { e.Attributes = map[string]string{"": "\x00"} }},
	} {
		e := memory.NewEntry(memory.Fact, "text")
		test.spoil(&e)
		err := e.Validate()
		fault, ok := errors.AsType[*memory.FieldError](err)
		if !ok || fault.Field != test.field || !errors.Is(err, memory.ErrInvalid) || !strings.HasPrefix(err.Error(), test.field+" ") {
			t.Errorf("got %v, want an error about %s", err, test.field)
		}
	}
}

func TestEntryValidateAcceptsLimits(t *testing.T) {
	for name, edit := range map[string]func(*memory.Entry){
		"no text":                func(e *memory.Entry) { e.Memory = "" },
		"the first instant":      func(e *memory.Entry) { e.CreatedAt = time.Unix(0, 0) },
		"the last instant":       func(e *memory.Entry) { e.CreatedAt = time.Unix(0, math.MaxInt64) },
		"another zone":           func(e *memory.Entry) { e.CreatedAt = time.Unix(0, 0).In(time.FixedZone("", -12*3600)) },
		"relevance outside 0..1": func(e *memory.Entry) { e.Relevance = -math.MaxFloat32 },
		"strength outside 0..1":  func(e *memory.Entry) { e.Strength = math.MaxFloat64 },
		"2^63-1 accesses":        func(e *memory.Entry) { e.AccessCount = math.MaxInt64 },
		"any category":           func(e *memory.Entry) { e.Category = "нечто ✓" },
		"U+FFFD":                 func(e *memory.Entry) { e.Memory = "\ufffd" },
	} {
		e := memory.NewEntry(memory.Fact, "text")
		edit(&e)
		if err := e.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEntryClone(t *testing.T) {
	for _, line := range goldenLines(t) {
		e := mustDecode(t, string(line))
		c := e.Clone()
		if diff := cmp.Diff(e, c); diff != "" {
			t.Fatalf("a clone differs:\n%s", diff)
		}
		for _, list := range [][]string{c.Tags, c.Keywords} {
			for i := range list {
				list[i] = "changed"
			}
		}
		for _, list := range [][]uuid.UUID{c.RelatedIDs, c.SourceIDs} {
			for i := range list {
				list[i] = uuid.Nil
			}
		}
		for i := range c.Embedding {
			c.Embedding[i] = 42
		}
		for key := range c.Attributes {
			c.Attributes[key] = "changed"
		}
		for _, at := range []*time.Time{c.LastAccessed, c.LastDecayed} {
			if at != nil {
				*at = at.Add(time.Hour)
			}
		}
		if got := e.AppendJSON(nil); string(got) != string(line) {
			t.Errorf("a change to the clone changed the entry:\n%s\nwas\n%s", got, line)
		}
	}
	empty := memory.Entry{Tags: []string{}, Keywords: []string{}, RelatedIDs: []uuid.UUID{}, Embedding: []float32{}, Attributes: map[string]string{}}
	if c := empty.Clone(); c.Tags != nil || c.Keywords != nil || c.RelatedIDs != nil || c.Embedding != nil || c.Attributes != nil {
		t.Errorf("empty lists should become nil in a clone, which is %+v", c)
	}
}

func TestParseNames(t *testing.T) {
	for _, want := range []memory.MemoryType{memory.Episodic, memory.Semantic, memory.Reflection} {
		if got, err := memory.ParseMemoryType(want.String()); got != want || err != nil {
			t.Errorf("ParseMemoryType(%q) = %v, %v", want, got, err)
		}
	}
	for _, want := range []memory.Confidentiality{memory.Public, memory.Internal, memory.Confidential, memory.Restricted} {
		if got, err := memory.ParseConfidentiality(want.String()); got != want || err != nil {
			t.Errorf("ParseConfidentiality(%q) = %v, %v", want, got, err)
		}
	}
	for _, name := range []string{"", "Public", "EPISODIC", " public", "MemoryType(0)"} {
		if _, err := memory.ParseMemoryType(name); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("ParseMemoryType(%q): got %v", name, err)
		}
		if _, err := memory.ParseConfidentiality(name); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("ParseConfidentiality(%q): got %v", name, err)
		}
	}
	if got := memory.MemoryType(9).String() + " " + memory.Confidentiality(9).String(); got != "MemoryType(9) Confidentiality(9)" {
		t.Errorf("unknown values are called %s", got)
	}
}

func TestDecayWeight(t *testing.T) {
	for category, want := range map[memory.Category]float32{
		memory.Fact: 0.5, memory.Strategy: 0.5, memory.Insight: 0.75, memory.ErrorPattern: 0.75,
		memory.Trajectory: 1, memory.Working: 2, "anything else": 1, "Fact": 1,
	} {
		if got := category.DecayWeight(); got != want {
			t.Errorf("%s has the weight %g, want %g", category, got, want)
		}
	}
}
