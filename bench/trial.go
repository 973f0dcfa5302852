package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// limit is how many entries every question asks for.
const limit = 10

// trial is one backend with the entries of one corpus in it, beside the scan
// that knows the right answers.
type trial struct {
	corpus
	backend
	options settings
	folder  string
	subject subject
	truth   *scan
}

// corpus is what is stored and asked.
type corpus struct {
	name    string
	entries []memory.Entry // stored at the beginning
	more    []memory.Entry // of the same kind, to be stored while it is measured
	asked   questions
}

// newTrial makes an empty store in a folder of its own.
func newTrial(ctx context.Context, options settings, c corpus, b backend) (t *trial, err error) {
	t = &trial{corpus: c, backend: b, options: options, truth: newScan(true)}
	if t.folder, err = os.MkdirTemp("", "loopmem-bench-"); err != nil {
		return nil, err
	}
	if err := t.open(ctx); err != nil {
		return nil, errors.Join(err, t.end())
	}
	return t, nil
}

// open opens the store unless it is open.
func (t *trial) open(ctx context.Context, options ...memory.Option) (err error) {
	if t.subject == nil {
		options = append(options, memory.WithClock(func() time.Time { return now }))
		t.subject, err = t.backend.open(ctx, t.folder, options...)
	}
	return err
}

// close closes the store if it is open. One without a file stays open: it
// would be gone.
func (t *trial) close() error {
	if t.subject == nil || t.file == "" {
		return nil
	}
	s := t.subject
	t.subject = nil
	return s.Close()
}

// end closes the store and removes everything it left.
func (t *trial) end() error {
	var errs []error
	if t.subject != nil {
		errs = append(errs, t.subject.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(t.folder))...)
}

// path is that of the store's file.
func (t *trial) path() string { return filepath.Join(t.folder, t.file) }

// batch is how many entries an import stores at a time, as loopmem import
// does.
const batch = 250

// load stores all entries of the corpus, and leaves the store just opened.
func (t *trial) load(ctx context.Context) (sample, error) {
	var s sample
	if _, err := t.truth.StoreBatch(ctx, t.entries, memory.Replace); err != nil {
		return s, err
	}
	allocs, bytes, err := allocated(func() error {
		for first := 0; first < len(t.entries); first += batch {
			part := t.entries[first:min(first+batch, len(t.entries))]
			var c clock
			c.start()
			if _, err := t.subject.StoreBatch(ctx, part, memory.Replace); err != nil {
				return err
			}
			c.stop()
			s.add(c, len(part))
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	s.allocs, s.bytes = allocs/float64(len(t.entries)), bytes/float64(len(t.entries))
	if s.checked, err = t.checkAll(ctx); err != nil {
		return s, err
	}
	if err := t.close(); err != nil {
		return s, err
	}
	if t.file != "" {
		info, err := os.Stat(t.path())
		if err != nil {
			return s, err
		}
		s.file = info.Size()
	}
	if err := t.open(ctx); err != nil {
		return s, err
	}
	if store, ok := t.subject.(*sqlitestore.Store); ok {
		s.parts, err = store.Sizes(ctx)
	}
	return s, err
}

// operation is something to be measured again and again.
type operation struct {
	do    func(i int) error // what counts
	check func(i int) error // compares its answer with the truth
	after func(i int) error // lets the truth do the same; may be nil
	most  int               // how often it can be done; 0 is any number of times
}

// warmUp is how many operations do not count. Their allocations are counted
// instead, which would disturb the clock.
const warmUp = 3

// repeat measures an operation until the time for a workload is used up.
// Answers are checked until as much time is used up by that.
func (t *trial) repeat(ctx context.Context, op operation) (sample, error) {
	var s sample
	var checking time.Duration
	counted := 0
	for i := 0; s.elapsed < t.options.budget && (op.most == 0 || i < op.most); i++ {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		var c clock
		timed := func() error {
			c.start()
			err := op.do(i)
			c.stop()
			return err
		}
		if i < warmUp {
			allocs, bytes, err := allocated(timed)
			if err != nil {
				return s, err
			}
			s.allocs, s.bytes, counted = s.allocs+allocs, s.bytes+bytes, counted+1
		} else if err := timed(); err != nil {
			return s, err
		}
		// An operation that takes so long is not repeated for its own sake.
		if i >= warmUp || c.took > t.options.budget/warmUp {
			s.add(c, 1)
		}
		if checking < t.options.budget {
			started := time.Now()
			if err := op.check(i); err != nil {
				return s, err
			}
			checking += time.Since(started)
			s.checked++
		}
		if op.after != nil {
			if err := op.after(i); err != nil {
				return s, err
			}
		}
	}
	if counted > 0 {
		s.allocs, s.bytes = s.allocs/float64(counted), s.bytes/float64(counted)
	}
	return s, nil
}

// allocated counts what the whole process allocates while do runs.
func allocated(do func() error) (allocs, bytes float64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = do()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs - before.Mallocs), float64(after.TotalAlloc - before.TotalAlloc), err
}

// wrongError is an answer that is not the truth.
type wrongError struct {
	question  string
	got, want string
}

func (e *wrongError) Error() string {
	return fmt.Sprintf("wrong answer to %s:\ngot  %s\nwant %s", e.question, e.got, e.want)
}
