package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// openGraph opens the store and, as long as it has no graph, brings the one
// from [Options.GraphFile] there. That may happen in several servers at once;
// they agree on the ids.
func (s *Server) openGraph(ctx context.Context) (memory.Backend, error) {
	store, err := s.source.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.importGraph(ctx, store.In(s.write)); err != nil {
		return nil, errors.Join(fmt.Errorf("bring the graph from %s: %w", s.options.GraphFile, err), store.Close())
	}
	return store, nil
}

func (s *Server) importGraph(ctx context.Context, store memory.Backend) error {
	if _, err := os.Stat(s.options.GraphFile); errors.Is(err, fs.ErrNotExist) {
		return nil // a graph that begins empty
	}
	g, err := loadGraph(ctx, store)
	if err != nil || len(g.nodes)+len(g.edges) > 0 {
		return err
	}
	inputs := []jsonlimport.Input{{Name: s.options.GraphFile}}
	report, err := jsonlimport.Import(ctx, ownStore{store, s.writer()}, inputs, jsonlimport.Options{Format: jsonlimport.Graph{}})
	if err != nil {
		return err
	}
	s.log.Info("brought a graph", "file", s.options.GraphFile, "entries", report.Imported)
	return nil
}

// ownStore stores entries under ids of the namespace.
type ownStore struct {
	memory.Backend
	writer graphWriter
}

func (o ownStore) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	own := slices.Clone(entries)
	for i := range own {
		own[i].ID = o.writer.own(own[i].ID)
	}
	return o.Backend.StoreBatch(ctx, own, onConflict)
}

func (o ownStore) Get(ctx context.Context, id uuid.UUID) (memory.Record, error) {
	return o.Backend.Get(ctx, o.writer.own(id))
}
