package memory_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

func TestModelMatch(t *testing.T) {
	model := memory.Model{Name: "a", Dimensions: 2}
	for other, want := range map[memory.Model]bool{
		model:                      true,
		{}:                         true,
		{Name: "a"}:                true,
		{Name: "a", Dimensions: 3}: false,
		{Name: "b", Dimensions: 2}: false,
		{Name: "b"}:                false,
		{Name: "A", Dimensions: 2}: false,
	} {
		for _, err := range []error{model.Match(other), other.Match(model)} {
			if (err == nil) != want || err != nil && !errors.Is(err, memory.ErrModel) {
				t.Errorf("%v and %v: got %v", model, other, err)
			}
		}
	}
}

func TestModelLearn(t *testing.T) {
	nan := float32(math.NaN())
	for name, test := range map[string]struct {
		model   memory.Model
		vectors [][]float32
		want    int // dimensions
		fails   string
	}{
		"learned":           {memory.Model{Name: "m"}, [][]float32{{1, 2}, {3, 4}}, 2, ""},
		"known":             {memory.Model{Name: "m", Dimensions: 2}, [][]float32{{1, 2}, {3, 4}}, 2, ""},
		"too few":           {memory.Model{Name: "m"}, [][]float32{{1, 2}}, 0, "1 embeddings for 2 texts"},
		"too many":          {memory.Model{Name: "m"}, [][]float32{{1}, {1}, {1}}, 0, "3 embeddings for 2 texts"},
		"different lengths": {memory.Model{Name: "m"}, [][]float32{{1, 2}, {3}}, 0, "1 dimensions for text 2 of 2"},
		"other than known":  {memory.Model{Name: "m", Dimensions: 3}, [][]float32{{1, 2}, {3, 4}}, 0, "2 dimensions for text 1 of 2"},
		"empty":             {memory.Model{Name: "m"}, [][]float32{{}, {1}}, 0, "0 dimensions for text 1 of 2"},
		"not finite":        {memory.Model{Name: "m"}, [][]float32{{1, 2}, {3, nan}}, 0, "text 2 of 2: embedding has NaN as component 1"},
	} {
		got, err := test.model.Learn(2, test.vectors)
		switch {
		case test.fails == "" && (err != nil || got != memory.Model{Name: "m", Dimensions: test.want}):
			t.Errorf("%s: got %v, %v", name, got, err)
		case test.fails != "" && (err == nil || !strings.Contains(err.Error(), test.fails)):
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}
