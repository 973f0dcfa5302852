// Package filestoretest makes the file store fail on purpose, in tests of it
// and of programs that use it. The store offers no other way to do so.
package filestoretest

import (
	"errors"
	"sync"
	"testing"

	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/memory/filestore/internal/fault"
)

// Stage names a step of the file store.
type Stage = fault.Stage

// The stages of a rewrite, in their order, and those of an append. A write
// that fails has written half of its bytes.
const (
	TempCreate    = fault.TempCreate
	Write         = fault.Write
	Sync          = fault.Sync
	Rename        = fault.Rename
	DirectorySync = fault.DirectorySync
	AppendWrite   = fault.AppendWrite
	Truncate      = fault.Truncate
)

// ErrInjected is the error with which a stage fails.
var ErrInjected = errors.New("injected fault")

// FailNext makes the store on the path fail once at each of the stages, the
// next time it reaches them. The path may be spelled in any way and need not
// exist. The test fails if a stage was not reached by its end.
func FailNext(tb testing.TB, path string, stages ...Stage) {
	tb.Helper()
	var mu sync.Mutex
	due := make(map[Stage]bool)
	for _, stage := range stages {
		due[stage] = true
	}
	OnStage(tb, path, func(stage Stage) error {
		mu.Lock()
		defer mu.Unlock()
		if !due[stage] {
			return nil
		}
		delete(due, stage)
		return ErrInjected
	})
	tb.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for stage := range due {
			tb.Errorf("the store on %s never reached the stage %s, which was to fail", path, stage)
		}
	})
}

// OnStage has hook called whenever the store on the path reaches a stage,
// until the test ends; an error that it returns is what the stage fails with.
// It replaces what was set for the path before.
func OnStage(tb testing.TB, path string, hook func(Stage) error) {
	tb.Helper()
	resolved, err := realpath.Resolve(path)
	if err != nil {
		tb.Fatalf("cannot inject faults: %v", err)
	}
	fault.Set(resolved, hook)
	tb.Cleanup(func() { fault.Set(resolved, nil) })
}
