package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/loopmem/loopmem/internal/realpath"
)

// refuseOwnFile keeps a store from being written over, and from being imported
// into itself. That goes for the files beside it too: what other processes
// have stored last may be nowhere but in its log.
func (a *app) refuseOwnFile(path, advice string) error {
	own, _, err := a.databasePath()
	if err != nil {
		return err
	}
	// SQLite follows a link first, and puts its files beside what that names.
	if own, err = realpath.Resolve(own); err != nil {
		return err
	}
	if sameFile(path, own) {
		return fmt.Errorf("%s is the database itself; %s", path, advice)
	}
	for _, side := range []string{"-wal", "-shm", "-journal", ".lock"} {
		if sameFile(path, own+side) {
			return fmt.Errorf("%s belongs to the database %s; %s", path, own, advice)
		}
	}
	return nil
}

// sameFile reports whether two paths lead to one file, or would once it
// exists: the log of a database comes and goes.
func sameFile(path, other string) bool {
	real, err := realpath.Resolve(path)
	if err == nil && real == other {
		return true
	}
	is, err1 := os.Stat(path)
	was, err2 := os.Stat(other)
	return err1 == nil && err2 == nil && os.SameFile(is, was)
}

// refuseDatabase keeps a text file from taking the place of any database,
// which programs may have open. What lies beside it as its log counts as well:
// as long as that is there, the file need not hold anything yet.
func refuseDatabase(path string) error {
	is, err := isDatabase(path)
	if err == nil && is {
		err = fmt.Errorf("%s is a database; name another file", path)
	}
	return err
}

func isDatabase(path string) (bool, error) {
	real, err := realpath.Resolve(path)
	if err != nil {
		return false, err
	}
	info, err := os.Stat(real)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if _, err := os.Stat(real + "-wal"); err == nil {
		return true, nil
	}
	return beginsAsDatabase(real)
}

// beginsAsDatabase reports whether a file begins as every SQLite file does.
func beginsAsDatabase(path string) (bool, error) {
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	magic := []byte("SQLite format 3\x00")
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(file, start); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return bytes.Equal(start, magic), nil
}
