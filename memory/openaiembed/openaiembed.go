// Package openaiembed makes embeddings at any endpoint that speaks the
// embeddings interface of the OpenAI API: Ollama, llama.cpp, vLLM, OpenAI
// itself and many others.
//
// Texts are sent to the endpoint as they are. The default one is on the own
// machine; think before you name another.
//
// It does without the SDK of that API, which makes a program that asks for
// embeddings alone twice as large, and slower to start.
package openaiembed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/hashicorp/go-retryablehttp"

	"github.com/loopmem/loopmem/memory"
)

// Embedder implements [memory.Embedder] at an endpoint. Make one with [New].
type Embedder struct {
	client     *http.Client
	url        *url.URL // that is asked
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
		client: retryablehttp.NewClient().HTTPClient, url: base.JoinPath("embeddings"),
		options: options, address: base.Redacted(),
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
	body, err := e.post(ctx, texts)
	if err != nil {
		return nil, err
	}
	var got answer
	if err := json.Unmarshal(body, &got); err != nil {
		return nil, fmt.Errorf("the answer of the endpoint cannot be read: %w", err)
	}
	if got.isError() {
		return nil, fmt.Errorf("the endpoint reports an error: %s", reason(body))
	}
	vectors, err := got.inOrder(len(texts))
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

// longestAnswer is how many bytes of an answer are read; the largest of use, a
// thousand vectors of several thousand components, are far below.
const longestAnswer = 256 << 20

// post asks the endpoint, if need be more than once, and returns the body of
// its answer.
func (e *Embedder) post(ctx context.Context, texts []string) ([]byte, error) {
	body, err := json.Marshal(question{
		Model: e.options.Model, Input: texts,
		EncodingFormat: "float", Dimensions: e.options.Dimensions,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", memory.ErrText, err)
	}
	bounded, cancel := context.WithTimeout(ctx, e.options.Timeout)
	defer cancel()
	said, err := e.exchange(bounded, body)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("no answer within %s: %w", e.options.Timeout, err)
	}
	return said, err
}

// exchange sends a body and returns that of the answer.
func (e *Embedder) exchange(ctx context.Context, body []byte) ([]byte, error) {
	request, err := retryablehttp.NewRequestWithContext(ctx, http.MethodPost, e.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if e.options.APIKey != "" {
		request.Header.Set("Authorization", "Bearer "+e.options.APIKey)
	}
	response, err := repeating(e.client, e.options.MaxRetries).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return nil, err
	}
	return said, refusal(response, said)
}
