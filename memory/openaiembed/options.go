package openaiembed

import (
	"cmp"
	"fmt"
	"net/url"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// Options describe an endpoint and how to deal with it. The zero value is
// Ollama on this machine with a model that is widely used there.
type Options struct {
	// BaseURL is the address that "/embeddings" is added to, as in
	// https://api.openai.com/v1; empty means http://localhost:11434/v1, which
	// is Ollama.
	BaseURL string
	// APIKey is sent as bearer token; empty means that none is sent. No
	// environment variable is looked at.
	APIKey string
	// Model is the name of the model. With the default endpoint, empty means
	// nomic-embed-text; any other endpoint needs a name.
	Model string
	// Dimensions asks the endpoint to shorten the vectors to that length,
	// which not every model can; 0 leaves the length to the model, so that
	// it is known only after the first answer.
	Dimensions int
	// Timeout is how long one request may take, with all its repetitions and
	// the waits between them; 0 means one minute, which lets an endpoint load a
	// model first. What the endpoint wants to be repeated later than that is
	// not repeated.
	Timeout time.Duration
	// MaxRetries is how often a request is repeated, after half a second and
	// then after ever longer, when the endpoint is not reached, is busy
	// (status 408, 409 or 429) or fails (500 and above, but 501); a Retry-After
	// header is respected within Timeout, and up to a minute. 0 means 2, a negative number none.
	MaxRetries int
	// BatchSize is the most texts to send in one request; 0 means 64.
	BatchSize int
}

// What the zero values of Options mean.
const (
	DefaultBaseURL    = "http://localhost:11434/v1"
	DefaultModel      = "nomic-embed-text"
	DefaultTimeout    = time.Minute
	DefaultMaxRetries = 2
	DefaultBatchSize  = 64
)

// withDefaults completes the options, and parses the base URL.
func (o Options) withDefaults() (Options, *url.URL, error) {
	switch {
	case o.BaseURL == "":
		o.BaseURL = DefaultBaseURL
		o.Model = cmp.Or(o.Model, DefaultModel)
	case o.Model == "":
		return o, nil, &memory.FieldError{Field: "model", Reason: "is empty; name the one that the endpoint is to use"}
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return o, nil, &memory.FieldError{Field: "base_url", Reason: fmt.Sprintf("is %q; it must be an http or https address", o.BaseURL)}
	}
	for _, number := range []struct {
		field string
		value int
	}{
		{"dimensions", o.Dimensions},
		{"batch_size", o.BatchSize},
		{"timeout", int(o.Timeout)},
	} {
		if number.value < 0 {
			return o, nil, &memory.FieldError{Field: number.field, Reason: "must not be negative"}
		}
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MaxRetries = max(cmp.Or(o.MaxRetries, DefaultMaxRetries), 0)
	o.BatchSize = cmp.Or(o.BatchSize, DefaultBatchSize)
	return o, base, nil
}
