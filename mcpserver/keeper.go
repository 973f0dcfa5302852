package mcpserver

import (
	"context"
	"log/slog"
	"sync"

	"github.com/loopmem/loopmem/memory"
)

// keeper opens the store once for all calls, and again after it was lost. A
// call that finds it being opened waits for that; one that finds it could not
// be opened fails, and the next one tries again.
type keeper struct {
	source Source
	open   func(context.Context) (memory.Backend, error)
	log    *slog.Logger
	// ctx ends what is being opened. It is not that of a call: the first call
	// may be cancelled while others wait for the same store.
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // guards what follows
	current *opening   // nil before the first use and after a loss
	closed  bool
}

// opening is one attempt to open the store. The results may be read once done
// is closed.
type opening struct {
	done  chan struct{}
	store memory.Backend
	err   error
}

// openError means that there was no store to do anything with.
type openError struct{ err error }

func (e *openError) Error() string { return e.err.Error() }
func (e *openError) Unwrap() error { return e.err }

func newKeeper(source Source, log *slog.Logger) *keeper {
	k := &keeper{source: source, open: source.Open, log: log}
	k.ctx, k.cancel = context.WithCancel(context.Background())
	return k
}

// use runs do on the open store.
func (k *keeper) use(ctx context.Context, do func(memory.Backend) error) error {
	o, err := k.begin()
	if err != nil {
		return err
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if o.err != nil {
		k.drop(o)
		return &openError{o.err}
	}
	if err = k.source.Check(); err == nil {
		err = do(o.store)
	}
	if err != nil && k.source.Lost(err) && k.drop(o) {
		k.log.Warn("the store is lost and will be opened again", "error", err)
		go k.close(o) // calls that still run on it are waited for
	}
	return err
}

// begin returns the current opening, and starts one if there is none.
func (k *keeper) begin() (*opening, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, memory.ErrClosed
	}
	if k.current == nil {
		o := &opening{done: make(chan struct{})}
		k.current = o
		go func() {
			defer close(o.done)
			o.store, o.err = k.open(k.ctx)
		}()
	}
	return k.current, nil
}

// drop makes the next use open the store anew. Of those who fail on the same
// opening, one is told that it did.
func (k *keeper) drop(o *opening) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != o {
		return false
	}
	k.current = nil
	return true
}

// Close closes the store, if it was ever opened.
func (k *keeper) Close() {
	k.mu.Lock()
	o := k.current
	k.current, k.closed = nil, true
	k.mu.Unlock()
	k.cancel()
	if o != nil {
		k.close(o)
	}
}

// close closes what was opened. All that can be lost is the counting of
// accesses.
func (k *keeper) close(o *opening) {
	<-o.done
	if o.err != nil {
		return
	}
	if err := o.store.Close(); err != nil {
		k.log.Warn("closing the store", "error", err)
	}
}
