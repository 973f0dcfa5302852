package main

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// endpoint serves the embeddings interface on this machine. A text about cars
// lies in one direction, any other in another; broken makes it fail.
func endpoint(t *testing.T, w *world) (broken *atomic.Bool) {
	t.Helper()
	broken = new(atomic.Bool)
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		var request struct{ Input []string }
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || broken.Load() {
			http.Error(out, `{"error": {"message": "out of order"}}`, http.StatusNotImplemented)
			return
		}
		type vector struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		}
		data := make([]vector, len(request.Input))
		for i, text := range request.Input {
			data[i] = vector{i, []float32{0, 1}}
			if strings.Contains(text, "automobile") || strings.Contains(text, "car") {
				data[i].Embedding = []float32{1, 0}
			}
		}
		out.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(out).Encode(map[string]any{"data": data})
	}))
	t.Cleanup(server.Close)
	w.env["LOOPMEM_EMBED_URL"] = server.URL
	w.env["LOOPMEM_EMBED_MODEL"] = "test-model"
	return broken
}

func TestEmbed(t *testing.T) {
	w := newWorld(t)
	broken := endpoint(t, w)
	w.add("the automobile is in the garage")
	w.add("lunch is at noon")
	if got := w.object("embed")["embedded"]; got != 2.0 {
		t.Errorf("embed gave %v embeddings, want 2", got)
	}
	if got := w.object("embed")["embedded"]; got != 0.0 {
		t.Errorf("the second embed gave %v embeddings, want none", got)
	}

	// The query has no word in common with what it finds.
	found := w.entries("recall", "car", "--embed", "--limit", "1")
	if len(found) != 1 || !strings.Contains(found[0].Memory, "automobile") {
		t.Errorf("recall --embed gave %v", found)
	}
	if found := w.entries("recall", "car"); len(found) != 0 {
		t.Errorf("recall without --embed gave %v", found)
	}

	// An endpoint that fails keeps nothing out.
	broken.Store(true)
	o := w.run("add", "a car without wheels", "--embed")
	if o.status != exitOK || !strings.Contains(o.errors, "without embedding") {
		t.Errorf("add gave status %d, %q and %q", o.status, o.out, o.errors)
	}
	if o := w.run("embed"); o.status != exitError || !strings.Contains(o.errors, "out of order") {
		t.Errorf("embed gave status %d and %q, want the words of the endpoint", o.status, o.errors)
	}
	broken.Store(false)
	if got := w.object("embed")["embedded"]; got != 1.0 {
		t.Errorf("embed made up for %v entries, want 1", got)
	}
}

// TestEmbedOtherModel refuses a mix of models, and changes the model whole.
func TestEmbedOtherModel(t *testing.T) {
	w := newWorld(t)
	endpoint(t, w)
	w.add("lunch is at noon", "--embed")
	w.env["LOOPMEM_EMBED_MODEL"] = "other-model"
	for _, args := range [][]string{{"embed"}, {"recall", "noon", "--embed"}, {"add", "tea is at five", "--embed"}} {
		o := w.run(args...)
		if o.status != exitError || !strings.Contains(o.errors, memory.ErrModel.Error()) || !strings.Contains(o.errors, "test-model") {
			t.Errorf("%v gave status %d and %q, want both models named", args, o.status, o.errors)
		}
		if !strings.Contains(o.errors, "--again") || strings.Contains(o.errors, "run it again") {
			t.Errorf("%v advises %q", args, o.errors)
		}
	}
	if got := w.object("embed", "--again")["embedded"]; got != 1.0 {
		t.Errorf("embed --again gave %v embeddings, want 1", got)
	}
	w.must("recall", "noon", "--embed")
}

// refusing is an endpoint that answers every request with a status.
func refusing(t *testing.T, w *world, status int, header http.Header) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		maps.Copy(out.Header(), header)
		out.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	w.env["LOOPMEM_EMBED_URL"], w.env["LOOPMEM_EMBED_MODEL"] = server.URL, "test-model"
}

// To run it again is good advice only where something may have changed.
func TestEmbedAdvisesWhatHelps(t *testing.T) {
	for status, test := range map[int]struct{ key, again bool }{
		http.StatusUnauthorized:   {key: true},
		http.StatusForbidden:      {key: true},
		http.StatusNotFound:       {},
		http.StatusNotImplemented: {again: true},
	} {
		w := newWorld(t)
		w.add("lunch is at noon")
		refusing(t, w, status, nil)
		o := w.run("embed")
		if strings.Contains(o.errors, "LOOPMEM_EMBED_KEY") != test.key || strings.Contains(o.errors, "run it again") != test.again {
			t.Errorf("status %d: %q", status, o.errors)
		}
	}
}

// An endpoint that wants to be asked later keeps nobody waiting for it.
func TestEmbedBusyEndpointHangsNothing(t *testing.T) {
	w := newWorld(t)
	endpoint(t, w)
	w.add("lunch is at noon", "--embed")
	refusing(t, w, http.StatusTooManyRequests, http.Header{"Retry-After": {"30"}})
	for _, args := range [][]string{{"recall", "noon"}, {"add", "tea is at five"}} {
		began := time.Now()
		o := w.run(append(args, "--embed", "--embed-timeout", "3s")...)
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%q took %s", args, took)
		}
		if o.status != exitOK || o.out == "" || !strings.Contains(o.errors, "429") {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

func TestEmbedNeedsAModel(t *testing.T) {
	w := newWorld(t)
	w.add("lunch is at noon")
	if o := w.run("embed", "--embed-url", "http://localhost:1/v1"); o.status != exitError || !strings.Contains(o.errors, "--embed-model") {
		t.Errorf("without a model: %+v", o)
	}
}
