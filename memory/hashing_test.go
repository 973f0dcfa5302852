package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"slices"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// The hashes of "a" and "foobar" are among the published test vectors of
// 64-bit FNV-1a: af63dc4c8601ec8c and 85944171f73967e8.
func TestHashEmbedderFormula(t *testing.T) {
	vectors, err := memory.HashEmbedder{Dimensions: 16}.Embed(t.Context(), []string{"a (foobar) A.", "", " \n"})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float32, 16)
	want[0xc] = float32(-2 / math.Sqrt(5))
	want[0x8] = float32(-1 / math.Sqrt(5))
	if !slices.Equal(vectors[0], want) {
		t.Errorf("got  %v\nwant %v", vectors[0], want)
	}
	for _, blank := range vectors[1:] {
		if !slices.Equal(blank, make([]float32, 16)) {
			t.Errorf("a blank text gives %v", blank)
		}
	}
}

func TestHashEmbedderRefuses(t *testing.T) {
	if _, err := (memory.HashEmbedder{Dimensions: -1}).Embed(t.Context(), []string{"a"}); !errors.Is(err, memory.ErrInvalid) {
		t.Errorf("negative dimensions: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (memory.HashEmbedder{}).Embed(ctx, []string{"a"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: got %v", err)
	}
}

func ExampleHashEmbedder() {
	vectors, err := memory.HashEmbedder{}.Embed(context.Background(), []string{
		"Deploys run at night.", "At night, the deploys run.", "Tea is served at five.",
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f %.2f\n", memory.Cosine(vectors[0], vectors[1]), memory.Cosine(vectors[0], vectors[2]))
	// Output: 0.89 0.22
}
