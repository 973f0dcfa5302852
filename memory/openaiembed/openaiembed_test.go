package openaiembed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/openaiembed"
)

// request is what the endpoint is asked.
type request struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions"`

	header http.Header
	path   string
}

// endpoint is a server on this machine that answers with what reply returns;
// it keeps the requests.
func endpoint(t *testing.T, reply func(w http.ResponseWriter, r request, n int)) (url string, requests *[]request) {
	t.Helper()
	requests = new([]request)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := request{header: r.Header, path: r.Method + " " + r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Errorf("the request is no JSON: %v", err)
		}
		*requests = append(*requests, got)
		w.Header().Set("Content-Type", "application/json")
		reply(w, got, len(*requests))
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1", requests
}

// lengths answers with vectors that tell texts apart: their length, and 1.
func lengths(w http.ResponseWriter, r request, _ int) {
	var data []string
	for i, text := range r.Input {
		data = append(data, vector(i, fmt.Sprintf("[%d, 1]", len(text))))
	}
	slices.Reverse(data) // only the index counts
	answer(w, data...)
}

func vector(index int, components string) string {
	return fmt.Sprintf(`{"object": "embedding", "index": %d, "embedding": %s}`, index, components)
}

func answer(w http.ResponseWriter, data ...string) {
	fmt.Fprintf(w, `{"object": "list", "model": "m", "data": [%s], "usage": {"prompt_tokens": 1, "total_tokens": 1}}`, strings.Join(data, ","))
}

func fail(w http.ResponseWriter, status int) {
	w.Header().Set("Retry-After", "0")
	w.WriteHeader(status)
	fmt.Fprint(w, `{"error": {"message": "as the test wants it", "type": "test"}}`)
}

func open(t *testing.T, options openaiembed.Options) *openaiembed.Embedder {
	t.Helper()
	if options.Model == "" {
		options.Model = "m"
	}
	e, err := openaiembed.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEmbed(t *testing.T) {
	url, requests := endpoint(t, lengths)
	e := open(t, openaiembed.Options{BaseURL: url, APIKey: "secret", Model: "small", BatchSize: 2})
	if got, want := e.Model(), (memory.Model{Name: "small"}); got != want {
		t.Errorf("before the first answer the model is %v, want %v", got, want)
	}
	vectors, err := e.Embed(t.Context(), []string{"a", "bb", "ccc", "dddd", "eeeee"})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range vectors {
		if want := []float32{float32(i + 1), 1}; !slices.Equal(v, want) {
			t.Errorf("the vector of text %d is %v, want %v", i, v, want)
		}
	}
	if got, want := e.Model(), (memory.Model{Name: "small", Dimensions: 2}); got != want {
		t.Errorf("the model is %v, want %v", got, want)
	}
	var inputs [][]string
	for _, r := range *requests {
		inputs = append(inputs, r.Input)
		if r.path != "POST /v1/embeddings" || r.Model != "small" || r.EncodingFormat != "float" || r.Dimensions != 0 {
			t.Errorf("the request is %+v", r)
		}
		if got := r.header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("the authorization is %q", got)
		}
	}
	if got, want := fmt.Sprint(inputs), "[[a bb] [ccc dddd] [eeeee]]"; got != want {
		t.Errorf("the requests have the texts %s, want %s", got, want)
	}
}

func TestEmbedNothing(t *testing.T) {
	url, requests := endpoint(t, lengths)
	vectors, err := open(t, openaiembed.Options{BaseURL: url}).Embed(t.Context(), nil)
	if err != nil || len(vectors) != 0 || len(*requests) != 0 {
		t.Errorf("no text gave %v, %v after %d requests", vectors, err, len(*requests))
	}
}

// What the environment has for other programs must go nowhere.
func TestEmbedIgnoresEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "of another program")
	t.Setenv("OPENAI_BASE_URL", "http://localhost:1/")
	t.Setenv("OPENAI_ORG_ID", "of another program")
	url, requests := endpoint(t, lengths)
	if _, err := open(t, openaiembed.Options{BaseURL: url}).Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	for name := range (*requests)[0].header {
		if name == "Authorization" || strings.HasPrefix(name, "Openai") {
			t.Errorf("the request has the header %s", name)
		}
	}
}

func TestEmbedDimensions(t *testing.T) {
	url, requests := endpoint(t, lengths)
	e := open(t, openaiembed.Options{BaseURL: url, Dimensions: 2})
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil || (*requests)[0].Dimensions != 2 {
		t.Errorf("got %v, asked for %d dimensions", err, (*requests)[0].Dimensions)
	}
	_, err := open(t, openaiembed.Options{BaseURL: url, Dimensions: 3}).Embed(t.Context(), []string{"a"})
	if !errors.Is(err, memory.ErrModel) {
		t.Errorf("the endpoint ignored the dimension, and the error is %v", err)
	}
}

// A model does not change its dimension from one answer to the next.
func TestEmbedRemembersDimension(t *testing.T) {
	url, _ := endpoint(t, func(w http.ResponseWriter, _ request, n int) {
		answer(w, vector(0, []string{"[1, 2]", "[1, 2, 3]"}[n-1]))
	})
	e := open(t, openaiembed.Options{BaseURL: url})
	if _, err := e.Embed(t.Context(), []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Embed(t.Context(), []string{"a"}); !errors.Is(err, memory.ErrModel) {
		t.Errorf("the second answer had another dimension, and the error is %v", err)
	}
}

func TestEmbedRetries(t *testing.T) {
	for _, status := range []int{http.StatusInternalServerError, http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		for name, test := range map[string]struct {
			failures, retries int
			requests          int
			succeeds          bool
		}{
			"until it succeeds": {2, 0, 3, true},
			"until it gives up": {9, 3, 4, false},
			"never":             {9, -1, 1, false},
		} {
			t.Run(fmt.Sprint(status, " ", name), func(t *testing.T) {
				url, requests := endpoint(t, func(w http.ResponseWriter, r request, n int) {
					if n <= test.failures {
						fail(w, status)
						return
					}
					lengths(w, r, n)
				})
				vectors, err := open(t, openaiembed.Options{BaseURL: url, MaxRetries: test.retries}).Embed(t.Context(), []string{"abc"})
				if test.succeeds != (err == nil) || test.succeeds && vectors[0][0] != 3 {
					t.Errorf("got %v, %v", vectors, err)
				}
				if errors.Is(err, memory.ErrText) {
					t.Errorf("the text gets the blame: %v", err)
				}
				if len(*requests) != test.requests {
					t.Errorf("got %d requests, want %d", len(*requests), test.requests)
				}
			})
		}
	}
}

// The bound is one for all attempts and waits, so that who has a text to fall
// back on is not kept from it by a busy endpoint.
func TestEmbedWaitsNoLongerThanTimeout(t *testing.T) {
	for _, after := range []string{"", "3600", "1"} {
		url, requests := endpoint(t, func(w http.ResponseWriter, _ request, _ int) {
			if after != "" {
				w.Header().Set("Retry-After", after)
			}
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		began := time.Now()
		_, err := open(t, openaiembed.Options{BaseURL: url, Timeout: 400 * time.Millisecond}).Embed(t.Context(), []string{"a"})
		if status, ok := errors.AsType[*openaiembed.StatusError](err); !ok || status.Code != http.StatusServiceUnavailable {
			t.Errorf("Retry-After %q: got %v", after, err)
		}
		if took := time.Since(began); took >= time.Second || len(*requests) != 1 {
			t.Errorf("Retry-After %q: gave up after %s and %d requests", after, took, len(*requests))
		}
	}
}

// Some endpoints report errors with a status that says all is well.
func TestEmbedErrorOfStatus200(t *testing.T) {
	for body, want := range map[string]string{
		`{"error": {"message": "model not loaded"}}`: "reports an error: model not loaded",
		`{"error": "no such model"}`:                 "reports an error: no such model",
		`{"error": null}`:                            "0 embeddings for 1 texts",
	} {
		url, _ := endpoint(t, func(w http.ResponseWriter, _ request, _ int) { io.WriteString(w, body) })
		if _, err := open(t, openaiembed.Options{BaseURL: url}).Embed(t.Context(), []string{"a"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", body, err, want)
		}
	}
}

func TestEmbedRefusedText(t *testing.T) {
	for status, want := range map[int]bool{
		http.StatusBadRequest:            true,
		http.StatusRequestEntityTooLarge: true,
		http.StatusUnprocessableEntity:   true,
		http.StatusUnauthorized:          false,
		http.StatusNotFound:              false,
	} {
		url, requests := endpoint(t, func(w http.ResponseWriter, _ request, _ int) { fail(w, status) })
		_, err := open(t, openaiembed.Options{BaseURL: url}).Embed(t.Context(), []string{"a"})
		if err == nil || errors.Is(err, memory.ErrText) != want {
			t.Fatalf("status %d: got %v", status, err)
		}
		// An endpoint that refuses a key may quote it.
		if quoted := strings.Contains(err.Error(), "as the test wants it"); quoted == (status == http.StatusUnauthorized) {
			t.Errorf("status %d: got %v", status, err)
		}
		if len(*requests) != 1 {
			t.Errorf("status %d: got %d requests, want 1", status, len(*requests))
		}
	}
}

// hold gives no answer, and ends when the client hangs up, which the server
// only looks for once it has read the request.
func hold(r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func TestEmbedTimeout(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		hold(r)
	}))
	t.Cleanup(server.Close)
	e := open(t, openaiembed.Options{BaseURL: server.URL, Timeout: time.Millisecond})
	_, err := e.Embed(t.Context(), []string{"a"})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 1ms") || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("got %v", err)
	}
}

func TestEmbedCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		hold(r)
	}))
	t.Cleanup(server.Close)
	_, err := open(t, openaiembed.Options{BaseURL: server.URL}).Embed(ctx, []string{"a"})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestEmbedNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := open(t, openaiembed.Options{BaseURL: "http://user:hush@" + server.Listener.Addr().String(), MaxRetries: -1}).Embed(t.Context(), []string{"a"})
	if err == nil || strings.Contains(err.Error(), "hush") || errors.Is(err, memory.ErrText) {
		t.Errorf("got %v", err)
	}
}

// An answer that is not what it should be is told apart here, before it gets
// into a store.
func TestEmbedBadAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		data []string
		want string
	}{
		"too few":             {[]string{vector(0, "[1]")}, "1 embeddings for 2 texts"},
		"none":                {nil, "0 embeddings for 2 texts"},
		"too many":            {[]string{vector(0, "[1]"), vector(1, "[1]"), vector(2, "[1]")}, "index 2 for 2 texts"},
		"one twice":           {[]string{vector(1, "[1]"), vector(1, "[1]")}, "two embeddings with index 1"},
		"a negative index":    {[]string{vector(-1, "[1]"), vector(1, "[1]")}, "index -1"},
		"no index":            {[]string{`{"embedding": [1]}`, vector(1, "[1]")}, "without an index"},
		"different lengths":   {[]string{vector(0, "[1, 2]"), vector(1, "[1]")}, "1 dimensions for text 2 of 2"},
		"an empty vector":     {[]string{vector(0, "[]"), vector(1, "[1]")}, "0 dimensions for text 1 of 2"},
		"no vector":           {[]string{`{"index": 0}`, vector(1, "[1]")}, "0 dimensions for text 1 of 2"},
		"null for NaN":        {[]string{vector(0, "[1, 2]"), vector(1, "[1, null]")}, "index 1 has null for a component"},
		"NaN":                 {[]string{vector(0, "[1, NaN]"), vector(1, "[1, 2]")}, "invalid character 'N'"},
		"too large a number":  {[]string{vector(0, "[1, 1e39]"), vector(1, "[1, 2]")}, "+Inf as component 1"},
		"a number of float32": {[]string{vector(0, "[1e400]"), vector(1, "[1]")}, "value out of range"},
	} {
		t.Run(name, func(t *testing.T) {
			url, _ := endpoint(t, func(w http.ResponseWriter, _ request, _ int) { answer(w, test.data...) })
			vectors, err := open(t, openaiembed.Options{BaseURL: url}).Embed(t.Context(), []string{"a", "b"})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), url) {
				t.Errorf("got %v and the error %v, want one with %q and the address", vectors, err, test.want)
			}
		})
	}
}

// Some endpoints answer in base64 whatever they are asked for.
func TestEmbedBase64(t *testing.T) {
	url, _ := endpoint(t, func(w http.ResponseWriter, _ request, _ int) { answer(w, vector(0, `"AAAAPwAAgL4="`)) })
	vectors, err := open(t, openaiembed.Options{BaseURL: url}).Embed(t.Context(), []string{"a"})
	if err != nil || !slices.Equal(vectors[0], []float32{0.5, -0.25}) {
		t.Errorf("got %v, %v", vectors, err)
	}
}

func TestNew(t *testing.T) {
	e, err := openaiembed.New(openaiembed.Options{})
	if err != nil || e.Model().Name != openaiembed.DefaultModel {
		t.Errorf("the zero options give %v, %v", e.Model(), err)
	}
	for name, options := range map[string]openaiembed.Options{
		"no model":              {BaseURL: "http://localhost/v1"},
		"an address of a file":  {BaseURL: "file:///v1", Model: "m"},
		"an address of nothing": {BaseURL: "localhost:11434", Model: "m"},
		"a broken address":      {BaseURL: "http://local host/", Model: "m"},
		"negative dimensions":   {Dimensions: -1},
		"a negative batch":      {BatchSize: -1},
		"a negative timeout":    {Timeout: -1},
	} {
		if _, err := openaiembed.New(options); !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%s: got %v, want an error that is %q", name, err, memory.ErrInvalid)
		}
	}
}
