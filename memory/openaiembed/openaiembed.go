// Package openaiembed makes embeddings at any endpoint that speaks the
// embeddings interface of the OpenAI API: Ollama, llama.cpp, vLLM, OpenAI
// itself and many others.
//
// Texts are sent to the endpoint as they are. The default one is on the own
// machine; think before you name another.
package openaiembed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/loopmem/loopmem/memory"
)

// Embedder implements [memory.Embedder] at an endpoint. Make one with [New].
type Embedder struct {
	service    openai.EmbeddingService
	options    Options
	address    string       // to show: the base URL without its password
	dimensions atomic.Int64 // 0 until known
}

var _ memory.Embedder = (*Embedder)(nil)

// New returns an embedder. It does not talk to the endpoint yet; options that
// cannot mean anything are a [memory.ErrInvalid].
func New(options Options) (*Embedder, error) {
	options, base, err := options.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("embedding endpoint: %w", err)
	}
	e := &Embedder{
		options: options,
		address: base.Redacted(),
		// Unlike a client, a service takes nothing from the environment.
		service: openai.NewEmbeddingService(
			option.WithBaseURL(options.BaseURL),
			option.WithAPIKey(options.APIKey),
			option.WithRequestTimeout(options.Timeout),
			option.WithMaxRetries(options.MaxRetries),
		),
	}
	e.dimensions.Store(int64(options.Dimensions))
	return e, nil
}

// Model implements [memory.Embedder].
func (e *Embedder) Model() memory.Model {
	return memory.Model{Name: e.options.Model, Dimensions: int(e.dimensions.Load())}
}

// Embed implements [memory.Embedder], in as many requests as the batch size
// calls for, one after the other. If one fails, all of it does. That the
// endpoint answers with status 400, 413 or 422 is a [memory.ErrText].
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors := make([][]float32, 0, len(texts))
	for batch := range slices.Chunk(texts, e.options.BatchSize) {
		embedded, err := e.request(ctx, batch)
		if err != nil {
			return nil, fmt.Errorf("embed at %s: %w", e.address, err)
		}
		vectors = append(vectors, embedded...)
	}
	return vectors, nil
}

// request embeds the texts of one request.
func (e *Embedder) request(ctx context.Context, texts []string) ([][]float32, error) {
	params := openai.EmbeddingNewParams{
		Model:          e.options.Model,
		Input:          openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: texts},
		EncodingFormat: openai.EmbeddingNewParamsEncodingFormatFloat,
	}
	if e.options.Dimensions > 0 {
		params.Dimensions = openai.Int(int64(e.options.Dimensions))
	}
	answer, err := e.service.New(ctx, params)
	if err != nil {
		return nil, e.explain(ctx, err)
	}
	vectors, err := inOrder(answer.Data, len(texts))
	if err != nil {
		return nil, err
	}
	model, err := e.Model().Learn(len(texts), vectors)
	if err != nil {
		return nil, err
	}
	e.dimensions.CompareAndSwap(0, int64(model.Dimensions))
	return vectors, nil
}

// explain tells texts that the model does not take, and a request that took
// too long, from other failures.
func (e *Embedder) explain(ctx context.Context, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fmt.Errorf("no answer within %s: %w", e.options.Timeout, err)
	}
	failure, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return err
	}
	// The library leaves out what the endpoint says, lest it repeat a secret;
	// but that alone tells a long text from an unknown model.
	said := failure.Message
	switch failure.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden: // they quote the key
		return err
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w: %s", memory.ErrText, err, said)
	default:
		return fmt.Errorf("%w: %s", err, said)
	}
}

// inOrder puts the embeddings of an answer into the order of the texts, which
// each names by its index.
func inOrder(data []openai.Embedding, texts int) ([][]float32, error) {
	vectors := make([][]float32, texts)
	for _, d := range data {
		switch {
		case !d.JSON.Index.Valid():
			return nil, errors.New("the endpoint gave an embedding without an index")
		case d.Index < 0 || d.Index >= int64(texts):
			return nil, fmt.Errorf("the endpoint gave an embedding with index %d for %d texts", d.Index, texts)
		case vectors[d.Index] != nil:
			return nil, fmt.Errorf("the endpoint gave two embeddings with index %d", d.Index)
		}
		vector, err := decode(d)
		if err != nil {
			return nil, fmt.Errorf("the embedding with index %d %w", d.Index, err)
		}
		vectors[d.Index] = vector
	}
	if len(data) != texts {
		return nil, fmt.Errorf("the endpoint gave %d embeddings for %d texts", len(data), texts)
	}
	return vectors, nil
}

// decode returns the vector; its length and components are for
// [memory.Model.Learn] to check.
func decode(d openai.Embedding) ([]float32, error) {
	// JSON has no NaN, so that some endpoints write null for it, which the
	// library takes for 0. A text is base64, and may spell anything.
	if raw := d.JSON.Embedding.Raw(); strings.HasPrefix(raw, "[") && strings.Contains(raw, "null") {
		return nil, errors.New("has null for a component; the model has failed on the text")
	}
	vector := make([]float32, len(d.Embedding))
	for i, x := range d.Embedding {
		vector[i] = float32(x)
	}
	return vector, nil
}
