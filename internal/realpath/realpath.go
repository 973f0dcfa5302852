// Package realpath finds the one name of a file that can be spelled in many
// ways, even before the file exists.
package realpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Resolve returns the absolute path, free of symbolic links, of the file that
// would be opened or created under the given one. Links are followed as the
// system does, which means before a ".." behind them; a dangling link leads to
// the file that it names. What does not exist yet is taken by its name.
//
// Hard links remain different paths, and so do names that differ in case only,
// even where the file system takes them for one.
func Resolve(path string) (string, error) {
	if path == "" {
		return "", &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		// Not filepath.Join: it would drop a ".." with the link before it.
		path = dir + string(filepath.Separator) + path
	}
	real, err := resolve(path)
	if _, named := errors.AsType[*fs.PathError](err); err != nil && !named {
		// EvalSymlinks does not say what is "not a directory".
		err = &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return real, err
}

func resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if target, err := os.Readlink(path); err == nil {
		if !filepath.IsAbs(target) {
			dir, _ := split(path)
			target = dir + string(filepath.Separator) + target
		}
		return resolve(target)
	}
	dir, name := split(path)
	if dir == path {
		return filepath.Clean(path), nil
	}
	parent, err := resolve(dir)
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, name), nil
}

// split parts the last element from the path, without cleaning either: what
// stands before a ".." may be a link.
func split(path string) (dir, name string) {
	root := filepath.VolumeName(path) + string(filepath.Separator)
	dir, name = filepath.Split(strings.TrimRight(path, separators))
	if dir = strings.TrimRight(dir, separators); len(dir) < len(root) {
		dir = root
	}
	return dir, name
}

const separators = "/" + string(filepath.Separator)
