package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/sqlitestore"
)

// access is what a command wants to do with the store.
type access int

const (
	reading  access = iota // nothing is made; a JSONL file is opened read-only
	changing               // nothing is made
	creating               // a missing file is made
)

// orDry is what a command wants that only shows, with --dry-run, what it would
// do.
func (want access) orDry(dryRun bool) access {
	if dryRun {
		return reading
	}
	return want
}

// withStore makes the function of a command from one that works on a store.
func (a *app) withStore(want access, do func(cmd *cobra.Command, store memory.Backend, args []string) error) func(*cobra.Command, []string) error {
	return a.action(func(cmd *cobra.Command, args []string) error {
		return a.use(cmd, want, func(store memory.Backend) error { return do(cmd, store, args) })
	})
}

// use opens the store for the part of a command that works on it.
func (a *app) use(cmd *cobra.Command, want access, do func(store memory.Backend) error, options ...memory.Option) error {
	store, err := a.open(cmd, want, options...)
	if err != nil {
		return err
	}
	defer a.close(store)
	if want != changing {
		a.hint(cmd.Context(), store)
	}
	if err := do(store.In(a.scope)); err != nil {
		return err
	}
	// Closing may have to wait for other writers, the answer need not.
	return a.out.Flush()
}

// open opens the store. The handle sees all of it; narrow it to a.scope.
func (a *app) open(cmd *cobra.Command, want access, options ...memory.Option) (memory.Backend, error) {
	if cmd.Flags().Changed("db") && a.db == "" {
		return nil, usage(cmd, "--db is empty; name a file, or leave it out for the default one")
	}
	path, isDefault, err := a.databasePath()
	if err != nil {
		return nil, err
	}
	options = append(options, memory.WithLogger(a.logger()))
	store, err := a.openPath(cmd.Context(), path, want, options)
	if errors.Is(err, fs.ErrNotExist) && want != creating {
		// Not the error itself: it would say the same again.
		return nil, &missingError{path: path, older: olderMemories(path, isDefault)}
	}
	return store, adviseOpen(path, err)
}

// adviseOpen tells someone who names a file of memories that is no store, but
// may be imported, how to do that.
func adviseOpen(path string, err error) error {
	_, malformed := errors.AsType[*filestore.LineError](err)
	if !malformed && !(errors.Is(err, sqlitestore.ErrNotStore) && beginsAsJSON(path)) {
		return err
	}
	return fmt.Errorf("%w; if it is JSONL of another program, or a damaged file, bring what it holds into a database: loopmem import %s --db memory.db", err, path)
}

func beginsAsJSON(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	start := make([]byte, 512)
	n, _ := file.Read(start)
	return bytes.HasPrefix(bytes.TrimLeft(start[:n], "\ufeff \t\r\n"), []byte("{"))
}

// hint tells someone who begins with an empty database about the memories
// that may be meant to go there.
func (a *app) hint(ctx context.Context, store memory.Backend) {
	path, isDefault, err := a.databasePath()
	older := olderMemories(path, isDefault)
	if err != nil || older == "" {
		return
	}
	if n, err := store.Len(ctx); err == nil && n == 0 {
		a.complain(fmt.Errorf("hint: older memories lie beside the empty database; bring them with: loopmem import %s", older))
	}
}

func (a *app) openPath(ctx context.Context, path string, want access, options []memory.Option) (memory.Backend, error) {
	if strings.EqualFold(filepath.Ext(path), ".jsonl") {
		return openFile(path, want, options)
	}
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{
		MustExist:   want != creating,
		BusyTimeout: a.wait,
		Synchronous: a.synchronous,
		MirrorBytes: a.mirrorBytes,
		Uncounted:   a.uncounted,
	}, options...)
	if err != nil {
		return nil, err // not store: it would be a nil pointer that is no nil Backend
	}
	return store, nil
}

func openFile(path string, want access, options []memory.Option) (memory.Backend, error) {
	if want == reading {
		store, err := filestore.OpenReadOnly(path, options...)
		if err != nil {
			return nil, err
		}
		return store, nil
	}
	if want == changing {
		if _, err := os.Stat(path); err != nil {
			return nil, err
		}
	}
	store, err := filestore.Open(path, options...)
	if err != nil {
		return nil, err
	}
	return store, nil
}

// close closes the store. All that can be lost then is the counting of
// accesses, which is no reason to fail a command that has done its work.
func (a *app) close(store memory.Backend) {
	if err := store.Close(); err != nil {
		a.complain(fmt.Errorf("warning: %w", err))
	}
}

// logger reports what a store has to say beside its answers.
func (a *app) logger() *slog.Logger {
	withoutTime := func(groups []string, attr slog.Attr) slog.Attr {
		if len(groups) == 0 && attr.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return attr
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: withoutTime}))
}

// missingError means that a command that makes no database did not find one.
type missingError struct {
	path  string
	older string // file to import, or ""
}

func (e *missingError) Error() string {
	if e.older != "" {
		return fmt.Sprintf("%s does not exist, but older memories lie beside it; bring them with: loopmem import %s", e.path, e.older)
	}
	return e.path + ` does not exist; make it with: loopmem add "TEXT", or loopmem import FILE`
}

// Unwrap returns [fs.ErrNotExist].
func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// olderMemories returns the file of memories that lies beside the default
// database, where other programs of this kind put it, or "".
func olderMemories(path string, isDefault bool) string {
	if !isDefault {
		return ""
	}
	older := filepath.Join(filepath.Dir(path), "memory.jsonl")
	if info, err := os.Stat(older); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return older
}
