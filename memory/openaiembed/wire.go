package openaiembed

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// question is the body of a request.
type question struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitzero"`
}

// answer is the body of what comes back.
type answer struct {
	Data []embedding `json:"data"`
	// Error is what some endpoints report with a status that says all is well.
	Error jsontext.Value `json:"error"`
}

// isError reports whether the answer is an error in place of embeddings.
func (a *answer) isError() bool {
	return len(a.Data) == 0 && len(a.Error) > 0 && a.Error.Kind() != 'n'
}

type embedding struct {
	Index *int `json:"index"`
	// Vector is an array of numbers, or the base64 of float32 values,
	// little-endian: some endpoints give that whatever they are asked for.
	Vector jsontext.Value `json:"embedding"`
}

// inOrder puts the vectors of an answer into the order of the texts, which
// each names by its index.
func (a *answer) inOrder(texts int) ([][]float32, error) {
	vectors := make([][]float32, texts)
	for _, d := range a.Data {
		switch {
		case d.Index == nil:
			return nil, errors.New("the endpoint gave an embedding without an index")
		case *d.Index < 0 || *d.Index >= texts:
			return nil, fmt.Errorf("the endpoint gave an embedding with index %d for %d texts", *d.Index, texts)
		case vectors[*d.Index] != nil:
			return nil, fmt.Errorf("the endpoint gave two embeddings with index %d", *d.Index)
		}
		vector, err := d.decode()
		if err != nil {
			return nil, fmt.Errorf("the embedding with index %d %w", *d.Index, err)
		}
		vectors[*d.Index] = vector
	}
	if len(a.Data) != texts {
		return nil, fmt.Errorf("the endpoint gave %d embeddings for %d texts", len(a.Data), texts)
	}
	return vectors, nil
}

// decode returns the vector; its length and components are for
// [memory.Model.Learn] to check.
func (d *embedding) decode() ([]float32, error) {
	switch d.Vector.Kind() {
	case '[':
		return decodeNumbers(d.Vector)
	case '"':
		return decodeBase64(d.Vector)
	}
	return []float32{}, nil // none
}

func decodeNumbers(list jsontext.Value) ([]float32, error) {
	var numbers []*float64
	if err := json.Unmarshal(list, &numbers); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	vector := make([]float32, len(numbers))
	for i, x := range numbers {
		if x == nil { // JSON has no NaN, so that some endpoints write this for it
			return nil, errors.New("has null for a component; the model has failed on the text")
		}
		vector[i] = float32(*x)
	}
	return vector, nil
}

func decodeBase64(text jsontext.Value) ([]float32, error) {
	var coded string
	if err := json.Unmarshal(text, &coded); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", err)
	}
	blob, err := base64.StdEncoding.DecodeString(coded)
	if err == nil && len(blob)%4 != 0 {
		err = errors.New("its length is no multiple of 4")
	}
	if err != nil {
		return nil, fmt.Errorf("is no base64 of numbers: %w", err)
	}
	vector := make([]float32, len(blob)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(blob[4*i:]))
	}
	return vector, nil
}

// reason is what the body of a refusal says: an error with a message, an error
// that is a text, or, of endpoints that have a form of their own, all of it.
func reason(body []byte) string {
	var refusal struct {
		Error jsontext.Value `json:"error"`
	}
	var explained struct {
		Message string `json:"message"`
	}
	var text string
	if json.Unmarshal(body, &refusal) == nil {
		if json.Unmarshal(refusal.Error, &explained) == nil && explained.Message != "" {
			return explained.Message
		}
		if json.Unmarshal(refusal.Error, &text) == nil && text != "" {
			return text
		}
	}
	const enough = 300
	said := strings.ToValidUTF8(strings.TrimSpace(string(body)), "\ufffd")
	if runes := []rune(said); len(runes) > enough {
		said = string(runes[:enough]) + "…"
	}
	return said
}
