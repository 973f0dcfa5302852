package main

import (
	"context"
	"errors"
	"iter"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/sqlitestore"
)

// subject is what is measured: a store, or a scan in place of one.
type subject interface {
	Store(ctx context.Context, entry memory.Entry) error
	StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error)
	Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error)
	Recall(ctx context.Context, query memory.Query) (memory.Recollection, error)
	Consolidate(ctx context.Context) (memory.ConsolidationStats, error)
	Get(ctx context.Context, id uuid.UUID) (memory.Record, error)
	Forget(ctx context.Context, id uuid.UUID) (bool, error)
	Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error]
	Len(ctx context.Context) (int, error)
	Close() error
}

// backend is a kind of store.
type backend struct {
	name string
	// file is the name of the file that it keeps in its folder, or "" if it
	// ends with the process.
	file string
	// open opens the store in a folder, or makes it there.
	open func(ctx context.Context, folder string, options ...memory.Option) (subject, error)
	// shared is set if several processes may use the store at a time.
	shared bool
	// answersOnly is set if the backend differs from another in how it answers
	// only, so that nothing else is measured.
	answersOnly bool
}

// The names of the two backends that the others are compared with.
const (
	reference = "reference"
	tunedScan = "tuned scan"
)

// backends are all that take part, the yardsticks first.
var backends = []backend{
	{name: reference, open: openScan(false)},
	{name: tunedScan, open: openScan(true)},
	{name: "memory", open: func(_ context.Context, _ string, options ...memory.Option) (subject, error) {
		return opened(memory.NewStore(options...))
	}},
	{name: "file", file: "memory.jsonl", open: func(_ context.Context, folder string, options ...memory.Option) (subject, error) {
		return opened(filestore.Open(filepath.Join(folder, "memory.jsonl"), options...))
	}},
	// As in a process that has asked some questions already, and in one that
	// may take more memory to answer them; and as in one that has not asked
	// before, or whose mirror would be too large.
	{name: "sqlite", file: "memory.db", shared: true, open: openWarm(sqlitestore.Options{})},
	{name: "sqlite 512 MiB", file: "memory.db", answersOnly: true, open: openWarm(sqlitestore.Options{MirrorBytes: 512 << 20})},
	{name: "sqlite cold", file: "memory.db", answersOnly: true, open: func(ctx context.Context, folder string, options ...memory.Option) (subject, error) {
		return opened(sqlitestore.Open(ctx, filepath.Join(folder, "memory.db"), sqlitestore.Options{MirrorBytes: -1}, options...))
	}},
}

func openWarm(how sqlitestore.Options) func(context.Context, string, ...memory.Option) (subject, error) {
	return func(ctx context.Context, folder string, options ...memory.Option) (subject, error) {
		s, err := sqlitestore.Open(ctx, filepath.Join(folder, "memory.db"), how, options...)
		if err != nil {
			return nil, err
		}
		if err := s.Warm(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		return s, nil
	}
}

func openScan(tuned bool) func(context.Context, string, ...memory.Option) (subject, error) {
	return func(_ context.Context, _ string, options ...memory.Option) (subject, error) {
		s := newScan(tuned)
		s.capacity = memory.NewSettings(options...).Capacity
		return s, nil
	}
}

// opened makes sure that a store that could not be opened is a nil subject.
func opened[S subject](store S, err error) (subject, error) {
	if err != nil {
		return nil, err
	}
	return store, nil
}

// yardstick reports whether the backend is one of this package.
func (b *backend) yardstick() bool { return b.name == reference || b.name == tunedScan }
