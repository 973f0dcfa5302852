package memory_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/memory"
)

// TestComparison compares one with many, and each with each.
func TestComparison(t *testing.T) {
	component := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{0, 1, -1, math.MaxFloat32, math.SmallestNonzeroFloat32}))
	vector := rapid.OneOf(rapid.SliceOfN(component, 5, 5), rapid.SliceOfN(component, 0, 6))
	rapid.Check(t, func(t *rapid.T) {
		one, many := vector.Draw(t, "one"), rapid.SliceOfN(vector, 0, 12).Draw(t, "many")
		vectors := make([]memory.Vector, len(many))
		for i := range many {
			vectors[i] = memory.NewVector(many[i])
		}
		got := memory.Compare(one).AppendCosines([]float64{2}, vectors)
		if len(got) != 1+len(many) || got[0] != 2 {
			t.Fatalf("to one number, those of %d vectors were appended: %v", len(many), got)
		}
		for i, cosine := range got[1:] {
			if want := memory.Cosine(one, many[i]); math.Float64bits(cosine) != math.Float64bits(want) {
				t.Errorf("the cosine with %v is %v, want %v", many[i], cosine, want)
			}
		}
	})
}

// BenchmarkCosines shows what comparing with a thousand vectors costs, either
// way.
func BenchmarkCosines(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	many := make([][]float32, 1000)
	vectors := make([]memory.Vector, len(many))
	for i := range many {
		many[i] = make([]float32, 384)
		for k := range many[i] {
			many[i][k] = random.Float32() - 0.5
		}
		vectors[i] = memory.NewVector(many[i])
	}
	b.Run("each", func(b *testing.B) {
		sum := 0.0
		for b.Loop() {
			for _, v := range many {
				sum += memory.Cosine(many[0], v)
			}
		}
		_ = sum
	})
	b.Run("together", func(b *testing.B) {
		var cosines []float64
		for b.Loop() {
			cosines = memory.Compare(many[0]).AppendCosines(cosines[:0], vectors)
		}
	})
}
