package memory_test

import (
	"errors"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

func TestNewStoreRefusesInvalidEntries(t *testing.T) {
	bad := memory.NewEntry("", "no category")
	s, err := memory.NewStore(memory.WithEntries(memory.NewEntry(memory.Fact, "good"), bad))
	if s != nil || !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("got %v and %v, want no store and ErrInvalid", s, err)
	}
}

// A fork has everything the store has, and nothing that happens to one of
// them afterwards shows in the other.
func TestStoreFork(t *testing.T) {
	ctx := t.Context()
	e := memory.NewEntry(memory.Fact, "wanted")
	e.Tags = []string{"tag"}
	s, err := memory.NewStore(memory.WithEntries(e))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retrieve(ctx, "wanted", 1); err != nil {
		t.Fatal(err)
	}
	before, err := s.Get(ctx, e.ID)
	if err != nil {
		t.Fatal(err)
	}

	fork := s.Fork()
	if _, err := fork.Update(ctx, e.ID, memory.Change{Summary: new("tried"), IfVersion: before.Version}); err != nil {
		t.Errorf("the fork does not have the version of the store: %v", err)
	}
	if _, err := fork.Consolidate(ctx); err != nil {
		t.Fatal(err)
	}
	after, err := fork.Get(ctx, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if after.Entry.AccessCount != 1 {
		t.Errorf("the fork folded %d stamps, want 1", after.Entry.AccessCount)
	}
	unchanged, err := s.Get(ctx, e.ID)
	if err != nil {
		t.Fatal(err)
	}
	if string(unchanged.Entry.AppendJSON(nil)) != string(before.Entry.AppendJSON(nil)) || unchanged.Version != before.Version {
		t.Errorf("the store followed its fork: %+v", unchanged)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Len(ctx); err != nil {
		t.Errorf("the fork closed with the store: %v", err)
	}
}

func TestParseIDPrefix(t *testing.T) {
	const full = "0b3f8a526d0e5c119a440f6a7c1d2e3f"
	for text, want := range map[string]string{
		"0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f":          full,
		"0B3F8A52-6D0E-5C11-9A44-0F6A7C1D2E3F":          full,
		"{0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f}":        full,
		"urn:uuid:0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f": full,
		full:            full,
		"0b3f8a":        "0b3f8a",
		"0B3F8A52-6D":   "0b3f8a526d",
		"0b3f8a52-":     "0b3f8a52",
		"":              "",
		"0b3f8":         "",
		"0b-3f-8":       "",
		"0b3f8g":        "",
		"%%%%%%":        "",
		"０b3f8a52":      "",
		full + "0":      "",
		"0b3f8a52 6d0e": "",
	} {
		got, err := memory.ParseIDPrefix(text)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("ParseIDPrefix(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}
