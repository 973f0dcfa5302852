package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// openGraph opens the store and brings the graph from [Options.GraphFile]
// there, if that was never done.
func (s *Server) openGraph(ctx context.Context) (memory.Backend, error) {
	store, err := s.source.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.bringGraph(ctx, store.In(s.write)); err != nil {
		return nil, errors.Join(fmt.Errorf("bring the graph from %s: %w", s.options.GraphFile, err), store.Close())
	}
	return store, nil
}

// bringGraph stores the graph of the file together with a note that it was
// brought, in one write that succeeds for one of several servers that start
// at once. As long as the note is there, nothing of the file comes back that
// was deleted since, and what the other server adds to it stays there.
func (s *Server) bringGraph(ctx context.Context, store memory.Backend) error {
	path, err := realpath.Resolve(s.options.GraphFile)
	if err != nil {
		return err
	}
	note := s.writer().brought(path)
	if done, err := exists(ctx, store, note.ID); done || err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("there is no graph to bring: the file does not exist", "file", path)
		return nil // a graph that begins empty
	}
	graph := gathered{writer: s.writer()}
	inputs := []jsonlimport.Input{{Name: path}}
	report, err := jsonlimport.Import(ctx, &graph, inputs, jsonlimport.Options{Format: jsonlimport.Graph{}})
	if err != nil {
		return err
	}
	for _, warning := range report.Warnings {
		s.log.Warn("brought a graph with a fault", "fault", warning.String())
	}
	for {
		fresh, err := graph.missingIn(ctx, store)
		if err != nil {
			return err
		}
		_, err = store.StoreBatch(ctx, append(fresh, note), memory.Fail)
		if err == nil {
			s.log.Info("brought a graph", "file", path, "entries", len(fresh))
		}
		if !errors.Is(err, memory.ErrConflict) {
			return err
		}
		// Another server has stored some of it just now, or all.
		if done, err := exists(ctx, store, note.ID); done || err != nil {
			return err
		}
	}
}

// brought is the note that the graph of a file is in the store. It is an
// entry, so that it stays with the graph in backups and is gone with the
// store; who forgets it has the file brought once more.
func (w graphWriter) brought(path string) memory.Entry {
	e := memory.NewEntry(memory.Fact, "The knowledge graph in "+path+" was brought into this memory.")
	e.ID = w.own(uuid.NewSHA1(graphFiles, []byte(path)))
	e.CreatedAt, e.MemoryType, e.Pinned = w.now, memory.Episodic, true
	e.Importance = 1
	e.Attributes = map[string]string{jsonlimport.GraphFileAttribute: path}
	return e
}

// graphFiles is the namespace of the ids of such notes.
var graphFiles = uuid.NewSHA1(uuid.NameSpaceURL, []byte("https://github.com/loopmem/loopmem/mcpserver/graph-file"))

func exists(ctx context.Context, store memory.Backend, id uuid.UUID) (bool, error) {
	_, err := store.Get(ctx, id)
	if errors.Is(err, memory.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// gathered takes what an import stores, under ids of the namespace, so that it
// can be stored in one write.
type gathered struct {
	writer  graphWriter
	entries []memory.Entry
}

var _ jsonlimport.Store = (*gathered)(nil)

// StoreBatch implements [memory.BatchWriter]. An import stores no id twice.
func (g *gathered) StoreBatch(_ context.Context, entries []memory.Entry, _ memory.OnConflict) (memory.BatchResult, error) {
	first := len(g.entries)
	g.entries = append(g.entries, entries...)
	for i := range g.entries[first:] {
		e := &g.entries[first+i]
		e.ID = g.writer.own(e.ID)
	}
	return memory.BatchResult{Stored: len(entries)}, nil
}

// Get implements [jsonlimport.Store].
func (g *gathered) Get(context.Context, uuid.UUID) (memory.Record, error) {
	return memory.Record{}, memory.ErrNotFound
}

// missingIn returns the entries that the store does not have.
func (g *gathered) missingIn(ctx context.Context, store memory.Backend) ([]memory.Entry, error) {
	var fresh []memory.Entry
	for _, e := range g.entries {
		there, err := exists(ctx, store, e.ID)
		if err != nil {
			return nil, err
		}
		if !there {
			fresh = append(fresh, e)
		}
	}
	return slices.Clip(fresh), nil
}
