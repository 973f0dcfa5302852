package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
)

// databasePath returns the path of the database, and whether it is the default
// because nothing else was said. An empty environment variable says nothing,
// as is the custom; an empty flag is caught by the caller.
func (a *app) databasePath() (path string, isDefault bool, err error) {
	if path := cmp.Or(a.db, a.getenv("LOOPMEM_DB")); path != "" {
		return expandHome(path, a.getenv), false, nil
	}
	folder, err := dataFolder(runtime.GOOS, a.getenv)
	if err != nil {
		return "", false, err
	}
	return filepath.Join(folder, "loopmem", "memory.db"), true, nil
}

// expandHome replaces a leading ~, which the shell leaves as it is in
// --db=~/memory.db and other programs in the environment they set.
func expandHome(path string, getenv func(string) string) string {
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/")
	if home := getenv("HOME"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}

// dataFolder is where programs keep the data of the user on that system.
func dataFolder(system string, getenv func(string) string) (string, error) {
	// The XDG Base Directory Specification wants relative paths ignored.
	if folder := getenv("XDG_DATA_HOME"); filepath.IsAbs(folder) {
		return folder, nil
	}
	home := getenv("HOME")
	switch system {
	case "windows":
		if folder := getenv("LocalAppData"); folder != "" {
			return folder, nil
		}
	case "darwin":
		if home != "" {
			return filepath.Join(home, "Library", "Application Support"), nil
		}
	default:
		if home != "" {
			return filepath.Join(home, ".local", "share"), nil
		}
	}
	return "", errors.New("the data directory of the user is not known; name the database with --db FILE or LOOPMEM_DB")
}
