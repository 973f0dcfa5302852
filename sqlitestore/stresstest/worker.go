package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// A worker is this program, started again with these variables set. It goes
// on until its standard input ends, which also happens if the director dies.
const (
	workerNumber   = "LOOPMEM_STRESS_WORKER"
	workerSeed     = "LOOPMEM_STRESS_SEED"
	workerDatabase = "LOOPMEM_STRESS_DATABASE"
	workerHistory  = "LOOPMEM_STRESS_HISTORY"
)

// busyTimeout is that of the workers. It leaves room for several processes
// that are stopped, one after the other, with the lock in hand.
const busyTimeout = 10 * time.Second

func inWorker() bool { return os.Getenv(workerNumber) != "" }

func workerMain() int {
	if err := work(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type worker struct {
	*recorder
	process int
	calls   int
	rand    *rand.Rand
	store   *sqlitestore.Store
}

func work(ctx context.Context) error {
	process, err := strconv.Atoi(os.Getenv(workerNumber))
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(os.Getenv(workerSeed), 10, 64)
	if err != nil {
		return err
	}
	w := &worker{process: process, rand: rand.New(rand.NewPCG(seed, uint64(process)))}
	if w.recorder, err = newRecorder(os.Getenv(workerHistory)); err != nil {
		return err
	}
	w.store, err = sqlitestore.Open(ctx, os.Getenv(workerDatabase), sqlitestore.Options{
		BusyTimeout: busyTimeout,
		MirrorAfter: 1 + w.rand.IntN(16), // few live long enough for the default
	})
	if err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(stop)
	}()
	for {
		select {
		case <-stop:
			return w.do(closing, nil, func(*event) error { return w.store.Close() })
		default:
			if err := w.act(ctx); err != nil {
				return err
			}
		}
	}
}

// do carries out a call and records its begin and its end. The error is one
// of the history; those of the call are for the judge.
func (w *worker) do(k kind, ids []uuid.UUID, what func(*event) error) error {
	w.calls++
	e := event{Process: w.process, Call: w.calls, Kind: k, IDs: ids}
	if err := w.record(e); err != nil {
		return err
	}
	e.IDs, e.Outcome = nil, done
	if err := what(&e); err != nil {
		e.Outcome, e.Error = outcomeOf(k, err), err.Error()
	}
	return w.record(e)
}

// outcomeOf tells the errors that the contract foresees from others.
func outcomeOf(k kind, err error) outcome {
	switch {
	case errors.Is(err, memory.ErrBusy):
		return busy
	case errors.Is(err, memory.ErrNotFound) && (k == updating || k == linking || k == restoring),
		errors.Is(err, memory.ErrConflict) && (k == counting || k == restoring):
		return refused
	default:
		return failed
	}
}

// next is the stamp of the call that comes next.
func (w *worker) next(updated bool) stamp {
	return stamp{Updated: updated, Process: w.process, Call: w.calls + 1}
}

func (w *worker) anyID() uuid.UUID { return poolID(w.rand.IntN(pooled)) }

// act does something at random.
func (w *worker) act(ctx context.Context) error {
	id := w.anyID()
	switch n := w.rand.IntN(100); {
	case n < 25:
		return w.storeOne(ctx, id)
	case n < 35:
		return w.importSome(ctx)
	case n < 50:
		e := written(w.next(true), id)
		return w.do(updating, []uuid.UUID{id}, func(*event) error {
			_, err := w.store.Update(ctx, id, changeTo(&e))
			return err
		})
	case n < 55:
		return w.do(counting, []uuid.UUID{counterID}, func(e *event) error { return w.count(ctx, e) })
	case n < 61:
		return w.do(forgetting, []uuid.UUID{id}, func(*event) error {
			_, err := w.store.Forget(ctx, id)
			return err
		})
	case n < 65:
		return w.link(ctx)
	case n < 67:
		return w.do(pruning, nil, func(*event) error {
			_, err := w.store.Prune(ctx, 0.1, 0, "team")
			return err
		})
	case n < 69:
		return w.do(restoring, []uuid.UUID{id}, func(*event) error {
			_, err := w.store.Restore(ctx, id)
			return err
		})
	case n < 83:
		return w.do(retrieving, nil, func(e *event) error { return w.retrieve(ctx, e) })
	case n < 97:
		return w.do(recalling, nil, func(e *event) error { return w.recall(ctx, e) })
	default:
		return w.do(consolidating, nil, func(*event) error {
			_, err := w.store.Consolidate(ctx)
			return err
		})
	}
}

// storeOne stores an entry, and at times looks for it at once.
func (w *worker) storeOne(ctx context.Context, id uuid.UUID) error {
	s := w.next(false)
	err := w.do(storing, []uuid.UUID{id}, func(*event) error { return w.store.Store(ctx, written(s, id)) })
	if err != nil || w.rand.IntN(3) > 0 {
		return err
	}
	return w.do(recalling, []uuid.UUID{id}, func(e *event) error { return w.seek(ctx, e, s) })
}

// seek looks for what the process has stored under the stamp.
func (w *worker) seek(ctx context.Context, e *event, s stamp) error {
	e.At, e.Sought = time.Now().UnixNano(), s.Call
	result, err := w.store.Recall(ctx, memory.Query{Text: s.String(), ExactWords: true})
	for i := range result.Hits {
		found := &result.Hits[i].Entry
		e.Found = e.Found || strings.HasPrefix(found.Memory, s.String()+" ")
		err = errors.Join(err, w.read(e, found))
	}
	return err
}

// importSome stores a batch and keeps what exists.
func (w *worker) importSome(ctx context.Context) error {
	s := w.next(false)
	var ids []uuid.UUID
	var batch []memory.Entry
	for _, n := range w.rand.Perm(pooled)[:1+w.rand.IntN(10)] {
		ids = append(ids, poolID(n))
		batch = append(batch, written(s, poolID(n)))
	}
	return w.do(importing, ids, func(e *event) error {
		result, err := w.store.StoreBatch(ctx, batch, memory.Keep)
		if err == nil && result.Stored < len(batch) {
			e.Outcome = partly
		}
		return err
	})
}

// count adds one to the counter, by reading, changing and writing.
func (w *worker) count(ctx context.Context, e *event) error {
	record, err := w.store.Get(ctx, counterID)
	if err != nil {
		return err
	}
	n, err := countedIn(record.Entry.Memory)
	if err != nil {
		return err
	}
	text := counterText(n + 1)
	e.Counted = new(n + 1)
	_, err = w.store.Update(ctx, counterID, memory.Change{Memory: &text, IfVersion: record.Version})
	return err
}

// link links two steady entries, which the judge can follow, or any two.
func (w *worker) link(ctx context.Context) error {
	ids := []uuid.UUID{w.anyID(), w.anyID()}
	if w.rand.IntN(2) == 0 {
		pair := w.rand.Perm(steadies)
		ids = []uuid.UUID{steadyID(pair[0]), steadyID(pair[1])}
	}
	if ids[0] == ids[1] {
		return nil
	}
	return w.do(linking, ids, func(*event) error { return w.store.Link(ctx, ids[0], ids[1]) })
}

// phrase is something to look for: the steady entries, the counter, or
// anything.
func (w *worker) phrase() string {
	switch w.rand.IntN(8) {
	case 0, 1, 2, 3:
		return fmt.Sprintf("steady %d", w.rand.IntN(steadies))
	case 4:
		return counted
	}
	return vocabulary[w.rand.IntN(len(vocabulary))]
}

func (w *worker) retrieve(ctx context.Context, e *event) error {
	e.At = time.Now().UnixNano()
	phrase := w.phrase()
	matches, err := w.store.Retrieve(ctx, phrase, 1+w.rand.IntN(8))
	for i := range matches {
		if matches[i].Matched {
			err = errors.Join(err, w.read(e, &matches[i].Entry))
		}
	}
	return errors.Join(err, w.missed(e, phrase))
}

func (w *worker) recall(ctx context.Context, e *event) error {
	e.At = time.Now().UnixNano()
	query := memory.Query{Text: w.phrase(), Limit: 1 + w.rand.IntN(8), ExactWords: w.rand.IntN(2) == 0}
	if w.rand.IntN(3) == 0 && query.Text != counted { // or it might not be among the first
		query.Embedding = []float32{w.rand.Float32(), w.rand.Float32(), w.rand.Float32(), w.rand.Float32()}
	}
	result, err := w.store.Recall(ctx, query)
	for i := range result.Hits {
		err = errors.Join(err, w.read(e, &result.Hits[i].Entry))
	}
	return errors.Join(err, w.missed(e, query.Text))
}

// missed is the error that the counter was looked for in vain: nothing else
// has its word.
func (w *worker) missed(e *event, phrase string) error {
	if phrase == counted && e.Counted == nil {
		return errors.New("the counter was not found")
	}
	return nil
}

// read looks at an entry of an answer, and notes what the judge can check: what
// the counter says, and the accesses of those that are only read.
func (w *worker) read(e *event, entry *memory.Entry) error {
	if entry.ID == counterID {
		n, err := countedIn(entry.Memory)
		e.Counted = &n
		return err
	}
	if entry.Pinned {
		e.Hits = append(e.Hits, entry.ID)
		return nil
	}
	return whole(entry)
}
