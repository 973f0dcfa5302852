package filestoretest_test

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/memory/filestore/filestoretest"
)

// recorder is a test that counts its complaints instead of failing.
type recorder struct {
	testing.TB
	cleanups   []func()
	complaints int
}

func (r *recorder) Cleanup(f func())      { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Errorf(string, ...any) { r.complaints++ }
func (r *recorder) end() {
	for _, f := range r.cleanups {
		f()
	}
}

func TestFailNext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.jsonl")
	r := &recorder{TB: t}
	filestoretest.FailNext(r, path, filestoretest.AppendWrite, filestoretest.Rename)
	s, err := filestore.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	entry := memory.NewEntry(memory.Fact, "text")
	if err := s.Store(t.Context(), entry); !errors.Is(err, filestoretest.ErrInjected) {
		t.Errorf("the first append gave %v, want ErrInjected", err)
	}
	if err := s.Store(t.Context(), entry); err != nil {
		t.Errorf("the second append gave %v", err)
	}
	r.end()
	if r.complaints != 1 {
		t.Errorf("got %d complaints, want one about the stage that was not reached", r.complaints)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Errorf("a fault outlived its test: %v", err)
	}
}
