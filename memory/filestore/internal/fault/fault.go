// Package fault is the seam at which tests make the file store's dealings
// with the disk fail, or end the process in the middle of them. Without a hook
// it does nothing; package filestoretest sets the hooks.
package fault

import (
	"io"
	"sync"
)

// Stage names a step of the file store.
type Stage string

// The stages: those of a rewrite, in their order, and those of an append.
const (
	TempCreate    Stage = "TempCreate"    // before the temporary file is created
	Write         Stage = "Write"         // when half of its content is written
	Sync          Stage = "Sync"          // before it is synced
	Rename        Stage = "Rename"        // before it takes the place of the file
	DirectorySync Stage = "DirectorySync" // after that, before the directory is synced
	AppendWrite   Stage = "AppendWrite"   // when half of the lines are appended
	Truncate      Stage = "Truncate"      // before a failed append is cut back
)

// Hook is called when a stage is reached; if it returns an error, that step
// of the store fails with it.
type Hook func(Stage) error

var (
	mu    sync.RWMutex // guards hooks
	hooks = make(map[string]Hook)
)

// Set makes hook the one for the file at the resolved path; nil removes it.
func Set(path string, hook Hook) {
	mu.Lock()
	defer mu.Unlock()
	if hook == nil {
		delete(hooks, path)
	} else {
		hooks[path] = hook
	}
}

func hookFor(path string) Hook {
	mu.RLock()
	defer mu.RUnlock()
	return hooks[path]
}

// At returns the error that the hook for the path has for the stage, if any.
func At(path string, stage Stage) error {
	if hook := hookFor(path); hook != nil {
		return hook(stage)
	}
	return nil
}

// WriteTo writes p with a single call, unless a hook is set for the path: that
// one is called when half of p is written, so that what fails or dies there
// leaves a torn write behind.
func WriteTo(path string, stage Stage, w io.Writer, p []byte) error {
	hook := hookFor(path)
	if hook != nil {
		half := len(p) / 2
		if _, err := w.Write(p[:half]); err != nil {
			return err
		}
		if err := hook(stage); err != nil {
			return err
		}
		p = p[half:]
	}
	_, err := w.Write(p)
	return err
}
