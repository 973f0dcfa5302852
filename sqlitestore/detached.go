package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/loopmem/loopmem/memory"
)

// detached is a database file that is looked at, whatever state it is in,
// rather than used: nothing about it is changed, and no other process
// notices.
func detached(path string) (*database, error) {
	d := &database{
		path: path, options: Options{}.withDefaults(), settings: memory.NewSettings(),
		vocabulary: newVocabulary(), pending: newPending(), mirroring: newMirroring(),
	}
	parameters := "_query_only=1&_pragma=cell_size_check(1)"
	if _, err := os.Stat(path + "-wal"); errors.Is(err, fs.ErrNotExist) {
		// Nobody uses it. SQLite then need not make side files, which it
		// could not on a medium that is read-only.
		parameters += "&immutable=1"
	}
	var err error
	d.readers, err = d.connect("ro", 1, parameters)
	return d, err
}

// look reads a file on one snapshot without using it; see detached.
func look(ctx context.Context, path string, read func(*tx) error) (err error) {
	d, err := detached(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.readers.close()) }()
	return d.viewOn(ctx, d.readers, read)
}
