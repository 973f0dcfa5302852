package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/internal/worker"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// task is what a worker process reads from its standard input. The input
// ends when it is to begin.
type task struct {
	Database     string
	For          time.Duration
	StorePercent int
	Queries      []string
	Number       uint64 // of the worker
}

// report is what it writes to its standard output at the end. Before, it
// writes an empty one when it is ready.
type report struct {
	Took    []time.Duration // of each operation
	Elapsed time.Duration   // of all
	Stored  []uuid.UUID     // what Store has acknowledged
}

func workerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "worker",
		Short:  "Work in a database together with others",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var job task
			in := json.NewDecoder(cmd.InOrStdin())
			if err := in.Decode(&job); err != nil {
				return err
			}
			return job.work(cmd.Context(), func() error {
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(report{}); err != nil {
					return err
				}
				_, err := in.Token()
				if err == io.EOF {
					err = nil
				}
				return err
			}, cmd.OutOrStdout())
		},
	}
}

// work carries out the task once ready returns.
func (job *task) work(ctx context.Context, ready func() error, out io.Writer) (err error) {
	store, err := sqlitestore.Open(ctx, job.Database, sqlitestore.Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if err := ready(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(job.Number, 0))
	var done report
	began := time.Now()
	for i := 0; time.Since(began) < job.For; i++ {
		if r.IntN(100) < job.StorePercent {
			err = job.store(ctx, store, &done, i)
		} else {
			err = job.retrieve(ctx, store, &done, i)
		}
		if err != nil {
			return err
		}
	}
	done.Elapsed = time.Since(began)
	return json.NewEncoder(out).Encode(done)
}

func (job *task) store(ctx context.Context, store memory.Backend, done *report, i int) error {
	query := job.Queries[i%len(job.Queries)]
	e := memory.NewEntry(memory.Working, fmt.Sprintf("worker %d has done step %d about %s", job.Number, i, query))
	started := time.Now()
	if err := store.Store(ctx, e); err != nil {
		return err
	}
	done.Took = append(done.Took, time.Since(started))
	done.Stored = append(done.Stored, e.ID)
	return nil
}

func (job *task) retrieve(ctx context.Context, store memory.Backend, done *report, i int) error {
	query := job.Queries[i%len(job.Queries)]
	started := time.Now()
	matches, err := store.Retrieve(ctx, query, limit)
	if err != nil {
		return err
	}
	done.Took = append(done.Took, time.Since(started))
	return plausible(query, matches)
}

// plausible checks what can be said of an answer while others write: that
// there are enough entries, that the scores are theirs, and their order.
func plausible(query string, matches []memory.Match) error {
	q := memory.NewRetrieveQuery(query)
	if len(matches) != limit {
		return &wrongError{"how many entries come back", fmt.Sprint(len(matches)), fmt.Sprint(limit)}
	}
	for i := range matches {
		got, want := matches[i].Score, q.Match(&matches[i].Entry).Score
		if got != want {
			return &wrongError{"what the score is for " + query, fmt.Sprint(got), fmt.Sprint(want)}
		}
		if i > 0 && got > matches[i-1].Score {
			return &wrongError{"how entries are ordered for " + query, fmt.Sprint(got), fmt.Sprint("at most ", matches[i-1].Score)}
		}
	}
	return nil
}

// employ lets processes of this program work on a task at the same time and
// returns their reports.
func employ(ctx context.Context, processes int, job task) ([]report, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends what still runs if one of them fails
	workers := make([]*worker.Process[report], processes)
	for i := range workers {
		var err error
		if workers[i], err = worker.Start[report](ctx, "worker"); err != nil {
			return nil, err
		}
		job.Number = uint64(i + 1)
		if err := workers[i].Tell(job); err != nil {
			return nil, err
		}
	}
	for _, w := range workers {
		if _, err := w.Next(); err != nil { // it is ready
			return nil, err
		}
	}
	for _, w := range workers {
		w.Begin()
	}
	reports, errs := make([]report, processes), make([]error, processes)
	var all sync.WaitGroup
	for i, w := range workers {
		all.Go(func() {
			if reports[i], errs[i] = w.Next(); errs[i] == nil {
				errs[i] = w.Finish()
			}
		})
	}
	all.Wait()
	return reports, errors.Join(errs...)
}
