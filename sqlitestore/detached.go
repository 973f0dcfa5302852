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
	if idle(path) {
		parameters += "&" + immutable
	}
	var err error
	d.readers, err = d.connect("ro", 1, parameters)
	return d, err
}

// immutable has SQLite take a file for one that nobody changes. It then makes
// no side files, which it could not on a medium that is read-only.
const immutable = "immutable=1"

// idle reports whether all of a database is in its file: whoever uses it has a
// log beside it, and whoever died using it has left one.
func idle(path string) bool {
	for _, side := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(path + side); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return true
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
