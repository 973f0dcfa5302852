// Package atomicfile writes files that appear whole or not at all.
package atomicfile

import "io"

// File is a file that takes the place of another once it is whole. Until then
// it lies beside it, with mode 0600.
type File interface {
	io.Writer
	// CloseAtomicallyReplace makes what was written durable and then visible
	// under the name.
	CloseAtomicallyReplace() error
	// Cleanup removes what was written, unless it has become visible.
	Cleanup() error
}

// New begins a file that is to take the place of the one at path, if any.
func New(path string) (File, error) { return create(path) }
