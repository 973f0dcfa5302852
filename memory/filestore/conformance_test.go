package filestore_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/memory/memorytest"
)

func openReference(t testing.TB, options ...memory.Option) memory.Backend {
	s, err := memory.NewStore(options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openFresh(t testing.TB, options ...memory.Option) memory.Backend {
	return mustOpen(t, filepath.Join(t.TempDir(), "memory.jsonl"), options...)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	memorytest.Run(t, openFresh)
}

func TestDifferential(t *testing.T) {
	t.Parallel()
	memorytest.Differential(t, openReference, openFresh, openReopening)
}

// reopening is a store whose file is closed and opened again before every
// call, so that each is answered from what is on disk. Only pending access
// stamps, which end with the last handle, keep it open.
type reopening struct {
	memory.Backend
	t       testing.TB
	path    string
	options []memory.Option
	stamps  bool // may be pending
}

func openReopening(t testing.TB, options ...memory.Option) memory.Backend {
	r := &reopening{t: t, path: filepath.Join(t.TempDir(), "memory.jsonl"), options: options}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *reopening) open() {
	s, err := filestore.Open(r.path, r.options...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.Backend = s
}

func (r *reopening) close() {
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
}

// In is what each call of a random history begins with.
func (r *reopening) In(scope memory.Scope) memory.Backend {
	if !r.stamps {
		r.close()
		r.open()
	}
	return &reopened{Backend: r.Backend.In(scope), whole: r, all: scope == memory.Scope{}}
}

// reopened is a handle that tells the whole store of pending stamps.
type reopened struct {
	memory.Backend
	whole *reopening
	all   bool // it sees all entries
}

func (r *reopened) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := r.Backend.Retrieve(ctx, query, limit)
	if slices.ContainsFunc(matches, func(m memory.Match) bool { return m.Matched }) {
		r.whole.stamps = true
	}
	return matches, err
}

func (r *reopened) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	stats, err := r.Backend.Consolidate(ctx)
	if r.all && err == nil {
		r.whole.stamps = false
	}
	return stats, err
}
