package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// TestCloseAmongCalls makes calls of every kind at once, and closes the store in
// the midst of them. Each is done or refused; what was acknowledged is there.
func TestCloseAmongCalls(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpen(t, path, Options{BusyTimeout: time.Minute, MirrorAfter: 1}, memory.WithEntries(fixture(1), fixture(2), fixture(3)))
	var stored []uuid.UUID // by the one goroutine that stores
	enough := make(chan struct{})
	plenty := sync.OnceFunc(func() { close(enough) })
	calls := map[string]func(ctx context.Context, n int) error{
		"Store": func(ctx context.Context, n int) error {
			e := memory.NewEntry(memory.Fact, fmt.Sprintf("vault of number %d", n))
			e.Pinned = true
			err := s.Store(ctx, e)
			if err == nil {
				stored = append(stored, e.ID)
			}
			if len(stored) == 15 {
				plenty()
			}
			return err
		},
		"Retrieve": func(ctx context.Context, n int) error {
			_, err := s.Retrieve(ctx, "vault", 3)
			return err
		},
		"Recall": func(ctx context.Context, n int) error {
			_, err := s.Recall(ctx, memory.Query{Text: "vault", Limit: 3})
			return err
		},
		"Update": func(ctx context.Context, n int) error {
			_, err := s.Update(ctx, fixture(1).ID, memory.Change{Memory: new(fmt.Sprintf("vault changed %d times", n))})
			return err
		},
		"Forget": func(ctx context.Context, n int) error {
			_, err := s.Forget(ctx, fixture(n).ID)
			return err
		},
		"Consolidate": func(ctx context.Context, n int) error {
			_, err := s.Consolidate(ctx)
			return err
		},
		"Entries": func(ctx context.Context, n int) error {
			for _, err := range s.Entries(ctx, memory.Selection{}) {
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Stats": func(ctx context.Context, n int) error {
			_, err := s.Stats(ctx)
			return err
		},
		"Recall, cancelled": func(ctx context.Context, n int) error {
			ctx, cancel := context.WithTimeout(ctx, time.Duration(n%10)*time.Millisecond)
			defer cancel()
			_, err := s.Recall(ctx, memory.Query{Text: "vault"})
			if errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		},
	}
	var wait sync.WaitGroup
	for name, call := range calls {
		wait.Go(func() {
			for n := 0; ; n++ {
				err := call(t.Context(), n)
				if errors.Is(err, memory.ErrClosed) {
					return
				}
				if err != nil && !errors.Is(err, memory.ErrNotFound) {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
	<-enough
	mustClose(t, s)
	wait.Wait()
	s = mustOpen(t, path, Options{MustExist: true})
	for _, id := range stored {
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Errorf("acknowledged, but lost: %v", err)
		}
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("afterwards: %v %v", problems, err)
	}
}
