package memory

import (
	"math"
	"slices"
)

// Cosine is the cosine of the angle between two vectors, computed in float64;
// 0 where their lengths differ or one of them is all zero.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot += float64(x * y)
		aa += float64(x * x)
		bb += float64(y * y)
	}
	return cosine(dot, math.Sqrt(aa), math.Sqrt(bb))
}

func cosine(dot, norm, other float64) float64 {
	if norm == 0 || other == 0 {
		return 0
	}
	return dot / float64(norm*other)
}

// Vector is an embedding whose norm is known, for those that are compared
// again and again. The zero Vector stands for none.
type Vector struct {
	components []float32
	norm       float64
}

// NewVector makes a Vector of the components, which must not change any more.
func NewVector(components []float32) Vector {
	sum := 0.0
	for _, x := range components {
		sum += float64(float64(x) * float64(x))
	}
	return Vector{components, math.Sqrt(sum)}
}

// Dimensions returns how many components there are; 0 for none.
func (v *Vector) Dimensions() int { return len(v.components) }

// Comparison compares one vector with many: to the last bit as [Cosine] does,
// in half the time.
type Comparison struct {
	components []float64
	norm       float64
}

// Compare makes a Comparison with the vector.
func Compare(vector []float32) *Comparison {
	c := &Comparison{components: make([]float64, len(vector)), norm: NewVector(vector).norm}
	for i, x := range vector {
		c.components[i] = float64(x)
	}
	return c
}

// atOnce is how many vectors are compared side by side. A sum must be added up
// in its order, one component after the other, and the processor spends most
// of that time waiting, unless there are other sums to add to meanwhile.
const atOnce = 4

// AppendCosines appends to cosines those of the vectors, in their order.
func (c *Comparison) AppendCosines(cosines []float64, vectors []Vector) []float64 {
	for some := range slices.Chunk(vectors, atOnce) {
		if len(some) < atOnce || slices.ContainsFunc(some, c.misfits) {
			for i := range some {
				cosines = append(cosines, c.cosine(&some[i]))
			}
			continue
		}
		for i, dot := range c.dots(some) {
			cosines = append(cosines, cosine(dot, c.norm, some[i].norm))
		}
	}
	return cosines
}

func (c *Comparison) misfits(v Vector) bool { return len(v.components) != len(c.components) }

func (c *Comparison) cosine(v *Vector) float64 {
	if c.misfits(*v) {
		return 0
	}
	dot := 0.0
	for i, x := range c.components {
		dot += float64(x * float64(v.components[i]))
	}
	return cosine(dot, c.norm, v.norm)
}

// dots returns the inner products with vectors of the right length.
func (c *Comparison) dots(vectors []Vector) (dots [atOnce]float64) {
	n := len(c.components) // said of each slice, so that it is not checked for each component
	v0, v1 := vectors[0].components[:n], vectors[1].components[:n]
	v2, v3 := vectors[2].components[:n], vectors[3].components[:n]
	var dot0, dot1, dot2, dot3 float64
	for i, x := range c.components {
		dot0 += float64(x * float64(v0[i]))
		dot1 += float64(x * float64(v1[i]))
		dot2 += float64(x * float64(v2[i]))
		dot3 += float64(x * float64(v3[i]))
	}
	return [atOnce]float64{dot0, dot1, dot2, dot3}
}
