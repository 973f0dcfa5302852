//go:build !unix

package atomicfile

// SyncDirectory does nothing: these systems cannot sync a directory, and
// Windows logs changes to it by itself.
func SyncDirectory(string) error { return nil }
