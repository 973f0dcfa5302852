//go:build !linux && !darwin

package sqlitestore

// networkFileSystem cannot tell on this system.
func networkFileSystem(string) string { return "" }
