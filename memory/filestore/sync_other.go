//go:build !unix

package filestore

// syncDirectory does nothing: these systems cannot sync a directory, and
// Windows logs changes to it by itself.
func syncDirectory(string) error { return nil }
