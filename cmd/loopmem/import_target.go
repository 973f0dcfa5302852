package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

// importTarget is the store that an import goes to. A file that does not exist
// is made when the first batch comes, so that a dry run and an import that is
// refused leave nothing behind.
type importTarget struct {
	app    *app
	cmd    *cobra.Command
	opened memory.Backend // nil as long as there is no file
	store  memory.Backend // opened, within the scope
}

func (t *importTarget) openExisting(dryRun bool) error {
	err := t.open(changing.orDry(dryRun))
	if errors.Is(err, fs.ErrNotExist) || t.isEmpty() {
		return nil
	}
	return err
}

// isEmpty reports whether the file of the database holds nothing. Such a file
// becomes a database like one that is missing.
func (t *importTarget) isEmpty() bool {
	path, _, err := t.app.databasePath()
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func (t *importTarget) open(want access) error {
	opened, err := t.app.open(t.cmd, want)
	if err != nil {
		return err
	}
	t.opened, t.store = opened, opened.In(t.app.scope)
	return nil
}

func (t *importTarget) close() {
	if t.opened != nil {
		t.app.close(t.opened)
	}
}

// admission refuses, before anything is written, what the store would refuse:
// entries outside the scope, and embeddings that its model cannot have made.
func (t *importTarget) admission(ctx context.Context) (func(*memory.Entry) error, error) {
	var model memory.Model
	if t.opened != nil {
		var err error
		if model, err = t.store.EmbeddingModel(ctx); err != nil {
			return nil, err
		}
	}
	scope := t.app.scope
	return func(e *memory.Entry) error {
		switch {
		case scope.Admit(e) == nil:
		case scope.Contains(e.Agent, memory.Public):
			return &memory.FieldError{Field: "confidentiality", Reason: fmt.Sprintf("is %s, which is above --clearance %s", e.Confidentiality, *scope.MaxConfidentiality)}
		default:
			return &memory.FieldError{Field: "agent", Reason: fmt.Sprintf("is %q, which is neither --namespace %s nor below it", e.Agent, scope.Namespace)}
		}
		if err := model.Fits(e.Embedding); err != nil {
			return &memory.FieldError{Field: "embedding", Reason: err.Error()}
		}
		return nil
	}, nil
}

// Get implements [jsonlimport.Store].
func (t *importTarget) Get(ctx context.Context, id uuid.UUID) (memory.Record, error) {
	if t.opened == nil {
		return memory.Record{}, memory.ErrNotFound
	}
	return t.store.Get(ctx, id)
}

// StoreBatch implements [jsonlimport.Store].
func (t *importTarget) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	if t.opened == nil {
		if err := t.open(creating); err != nil {
			return memory.BatchResult{}, err
		}
	}
	return t.store.StoreBatch(ctx, entries, onConflict)
}
