package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore/internal/fault"
)

// file is what all handles on one path share: the mirror, which answers, and
// what is known of the file, which has to be changed first.
type file struct {
	path string // resolved

	mu      sync.Mutex // guards everything below
	mirror  *memory.Store
	onDisk  fs.FileInfo // the file that belongs to the mirror; nil before the first write after New
	size    int64       // its length in bytes
	behind  bool        // the mirror counts accesses that the file does not
	refusal error       // why every write is refused, or nil
}

// check reports why the file must not be written to, if it must not.
func (f *file) check() error {
	if f.refusal != nil {
		return fmt.Errorf("%s: %w", f.path, f.refusal)
	}
	if f.onDisk == nil {
		return nil
	}
	now, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	if !os.SameFile(now, f.onDisk) || now.Size() != f.size {
		return fmt.Errorf("%s: %w", f.path, ErrChanged)
	}
	return nil
}

// append adds the entries to the end of the file, or leaves it as it was.
func (f *file) append(entries []memory.Entry) error {
	var lines []byte
	for i := range entries {
		lines = appendLine(lines, &entries[i])
	}
	out, err := os.OpenFile(f.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("append: %w", err)
	}
	err = fault.WriteTo(f.path, fault.AppendWrite, out, lines)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("append to %s: %w", f.path, errors.Join(err, f.cutBack()))
	}
	f.size += int64(len(lines))
	return nil
}

// cutBack undoes a failed append. If that fails too, the file may end in a
// torn line, onto which the next one must not be welded.
func (f *file) cutBack() error {
	err := fault.At(f.path, fault.Truncate)
	if err == nil {
		err = os.Truncate(f.path, f.size)
	}
	if err != nil {
		f.refusal = ErrDamaged
		return errors.Join(err, ErrDamaged)
	}
	return nil
}

// rewrite makes next the content of the file and then the mirror. If it
// fails, nothing has changed, unless it fails with [ErrNotSynced].
func (f *file) rewrite(next *memory.Store) error {
	var content []byte
	for entry, err := range next.Entries(context.Background(), memory.Selection{}) {
		if err != nil {
			return err
		}
		content = appendLine(content, &entry)
	}
	written, err := replace(f.path, content)
	if written != nil {
		f.mirror, f.onDisk, f.size, f.behind = next, written, written.Size(), false
		sweep(f.path)
	}
	if err != nil {
		return fmt.Errorf("rewrite %s: %w", f.path, err)
	}
	return nil
}
