package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/internal/worker"
	"github.com/loopmem/loopmem/memory"
)

// note is what a worker process of the demo tells on its standard output, as
// a stream of JSON.
type note struct {
	Ready     bool      `json:"ready,omitempty"`     // the database is open
	Stored    uuid.UUID `json:"stored,omitzero"`     // Store has returned for this entry
	Retrieved int       `json:"retrieved,omitempty"` // how many retrievals succeeded in all
}

// demoWorkerCommand is what the demo starts several times. It begins when its
// standard input ends, so that all can begin together.
func demoWorkerCommand(a *app) *cobra.Command {
	var writes int
	cmd := &cobra.Command{
		Use:    "demo-worker",
		Short:  "Work in the database of a demo",
		Hidden: true,
		Args:   arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.withStore(changing, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			ctx := cmd.Context()
			tell := func(n note) error {
				return errors.Join(json.NewEncoder(a.out).Encode(n), a.out.Flush())
			}
			if err := tell(note{Ready: true}); err != nil {
				return err
			}
			if _, err := a.text(ctx, "-"); err != nil {
				return err
			}
			retrieved := 0
			for i := range writes {
				entry := memory.NewEntry(memory.Trajectory, fmt.Sprintf("step %d of a task was done by %s", i, a.scope.Namespace))
				if err := store.Store(ctx, entry); err != nil {
					return err
				}
				if err := tell(note{Stored: entry.ID}); err != nil {
					return err
				}
				const storesForEachRetrieval = 5
				if i%storesForEachRetrieval == 0 {
					if _, err := store.Retrieve(ctx, fmt.Sprintf("step %d", i), 5); err != nil {
						return err
					}
					retrieved++
				}
			}
			return tell(note{Retrieved: retrieved})
		}),
	}
	cmd.Flags().IntVar(&writes, "writes", 0, "how many entries to store")
	return cmd
}

// team are the worker processes of a demo.
type team []*worker.Process[note]

// startTeam starts the processes and waits until all have the database open.
func startTeam(ctx context.Context, d *demo) (t team, err error) {
	defer func() {
		if err != nil {
			t.stop()
		}
	}()
	for i := range d.processes {
		w, err := worker.Start[note](ctx, "demo-worker", "--db", d.database,
			"--namespace", fmt.Sprintf("worker:%d", i+1), "--writes", fmt.Sprint(d.writes))
		if err != nil {
			return t, err
		}
		t = append(t, w)
	}
	for _, w := range t {
		if _, err := w.Next(); err != nil { // it is ready
			return t, err
		}
	}
	return t, nil
}

// stop ends processes that are of no use any more.
func (t team) stop() {
	for _, w := range t {
		w.Stop()
	}
}

// done is what workers have done.
type done struct {
	stored    []uuid.UUID
	retrieved int
	elapsed   time.Duration // of all of them
}

// work lets all processes begin and waits until all have ended.
func (t team) work(ctx context.Context) (all done, err error) {
	began := time.Now()
	for _, w := range t {
		w.Begin()
	}
	parts, errs := make([]done, len(t)), make([]error, len(t))
	var working sync.WaitGroup
	for i, w := range t {
		working.Go(func() { parts[i], errs[i] = listen(w) })
	}
	working.Wait()
	all.elapsed = time.Since(began)
	if err := ctx.Err(); err != nil {
		return all, err // and not one for each process
	}
	for _, part := range parts {
		all.stored = append(all.stored, part.stored...)
		all.retrieved += part.retrieved
	}
	return all, errors.Join(errs...)
}

// listen reads what a process tells until it ends.
func listen(w *worker.Process[note]) (did done, err error) {
	for {
		n, err := w.Next()
		if err == io.EOF {
			return did, nil
		}
		if err != nil {
			return did, err
		}
		if n.Stored != uuid.Nil {
			did.stored = append(did.stored, n.Stored)
		}
		did.retrieved += n.Retrieved
	}
}
