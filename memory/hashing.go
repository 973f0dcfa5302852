package memory

import (
	"context"
	"hash/fnv"
	"math"
)

// HashEmbedder makes embeddings without a model, by feature hashing
// (Weinberger et al., "Feature Hashing for Large Scale Multitask Learning",
// 2009). For every piece of the text (see [Pieces]), as [Word] leaves it, with
// h its 64-bit FNV-1a hash,
//
//	v[h mod dimensions] += +1 or -1, as the highest bit of h is 0 or 1
//
// and v is then divided by its Euclidean length. Texts that share words are
// close to each other; it knows nothing of meaning. The result is the same on
// every machine, which makes it good for tests and for work without a
// network.
type HashEmbedder struct {
	// Dimensions is the length of the vectors; 0 means 256. The fewer there
	// are, the more often two words count as one.
	Dimensions int
}

var _ Embedder = HashEmbedder{}

// Model implements [Embedder]. The name changes with the formula.
func (h HashEmbedder) Model() Model {
	m := Model{Name: "loopmem-hash-1", Dimensions: h.Dimensions}
	if m.Dimensions == 0 {
		m.Dimensions = 256
	}
	return m
}

// Embed implements [Embedder]. A text without words becomes a vector of
// zeros, whose cosine with any other is 0.
func (h HashEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	model := h.Model()
	if err := model.Validate(); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vectors[i] = hashVector(text, model.Dimensions)
	}
	return vectors, nil
}

func hashVector(text string, dimensions int) []float32 {
	sums := make([]float64, dimensions)
	for _, piece := range Pieces(text) {
		hash := fnv.New64a()
		hash.Write([]byte(Word(piece))) // never fails
		h, sign := hash.Sum64(), 1.0
		if h>>63 == 1 {
			sign = -1
		}
		sums[h%uint64(dimensions)] += sign
	}
	squares := 0.0
	for _, x := range sums {
		squares += float64(x * x)
	}
	vector := make([]float32, dimensions)
	if squares > 0 {
		for i, x := range sums {
			vector[i] = float32(x / math.Sqrt(squares))
		}
	}
	return vector
}
