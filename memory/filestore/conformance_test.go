package filestore_test

import (
	"context"
	"iter"
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

// reopening is a store whose file is closed and opened again before most
// calls, so that they are answered from what is on disk. Only pending access
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

// fresh returns the store, just opened if possible. What the file cannot
// hold, which is the model that is bound, is told to it again.
func (r *reopening) fresh() memory.Backend {
	if r.stamps {
		return r.Backend
	}
	model, err := r.EmbeddingModel(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.close()
	r.open()
	if model != (memory.Model{}) {
		if err := r.BindEmbeddingModel(r.t.Context(), model); err != nil {
			r.t.Fatal(err)
		}
	}
	return r.Backend
}

func (r *reopening) In(scope memory.Scope) memory.Backend {
	return &reopened{Backend: r.fresh().In(scope), whole: r}
}

func (r *reopening) Store(ctx context.Context, entry memory.Entry) error {
	return r.fresh().Store(ctx, entry)
}

func (r *reopening) Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error] {
	return r.fresh().Entries(ctx, selection)
}

func (r *reopening) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	return r.fresh().Recall(ctx, query)
}

func (r *reopening) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	return (&reopened{Backend: r.fresh(), whole: r}).Retrieve(ctx, query, limit)
}

func (r *reopening) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	stats, err := r.fresh().Consolidate(ctx)
	if err == nil {
		r.stamps = false
	}
	return stats, err
}

// reopened is a handle that tells the whole store of pending stamps.
type reopened struct {
	memory.Backend
	whole *reopening
}

func (r *reopened) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := r.Backend.Retrieve(ctx, query, limit)
	if slices.ContainsFunc(matches, func(m memory.Match) bool { return m.Matched }) {
		r.whole.stamps = true
	}
	return matches, err
}
