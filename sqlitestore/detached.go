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
func detached(path, parameters string) (*database, error) {
	d := &database{
		path: path, options: Options{}.withDefaults(), settings: memory.NewSettings(),
		vocabulary: newVocabulary(), pending: newPending(), mirroring: newMirroring(),
	}
	var err error
	d.readers, err = d.connect("ro", 1, "_query_only=1&_pragma=cell_size_check(1)&"+parameters)
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

// look reads a file on one snapshot without using it; see detached. It may call
// read twice, of which the first time does not count: what is taken for
// immutable can be opened and changed by another process in the meantime, and
// then looks damaged.
func look(ctx context.Context, path string, read func(*tx) error) error {
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !idle(path) {
		return lookWith(ctx, path, "", read)
	}
	err = lookWith(ctx, path, immutable, read)
	if after, failed := os.Stat(path); failed == nil && idle(path) &&
		after.ModTime().Equal(before.ModTime()) && after.Size() == before.Size() && os.SameFile(before, after) {
		return err
	}
	return lookWith(ctx, path, "", read)
}

func lookWith(ctx context.Context, path, parameters string, read func(*tx) error) (err error) {
	d, err := detached(path, parameters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.readers.close()) }()
	return d.viewOn(ctx, d.readers, read)
}
