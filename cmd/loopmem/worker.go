package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

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

// worker is the demo's end of a worker process.
type worker struct {
	command *exec.Cmd
	start   io.Closer // of its standard input
	notes   *json.Decoder
	failure bytes.Buffer // what it says on standard error

	stored    []uuid.UUID
	retrieved int
}

type workers []*worker

// startWorkers starts the processes and waits until all have the database
// open.
func startWorkers(ctx context.Context, d *demo) (team workers, err error) {
	defer func() {
		if err != nil {
			team.stop()
		}
	}()
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for i := range d.processes {
		w := &worker{command: exec.CommandContext(ctx, program, "demo-worker", "--db", d.database,
			"--namespace", fmt.Sprintf("worker:%d", i+1), "--writes", fmt.Sprint(d.writes))}
		w.command.Stderr = &w.failure
		if w.start, err = w.command.StdinPipe(); err != nil {
			return team, err
		}
		out, err := w.command.StdoutPipe()
		if err != nil {
			return team, err
		}
		w.notes = json.NewDecoder(out)
		if err := w.command.Start(); err != nil {
			return team, err
		}
		team = append(team, w)
	}
	for _, w := range team {
		var n note
		if err := w.notes.Decode(&n); err != nil || !n.Ready {
			return team, w.explain(ctx, err)
		}
	}
	return team, nil
}

// stop ends processes that are of no use any more.
func (team workers) stop() {
	for _, w := range team {
		w.command.Process.Kill()
		w.command.Wait()
	}
}

// work lets all processes begin and returns what they have stored, how often
// they retrieved and how long it took.
func (team workers) work(ctx context.Context) (stored []uuid.UUID, retrieved int, elapsed time.Duration, err error) {
	began := time.Now()
	for _, w := range team {
		w.start.Close()
	}
	errs := make([]error, len(team))
	var all sync.WaitGroup
	for i, w := range team {
		all.Go(func() { errs[i] = w.listen(ctx) })
	}
	all.Wait()
	elapsed = time.Since(began)
	if err := ctx.Err(); err != nil {
		return nil, 0, 0, err // and not one for each process
	}
	for _, w := range team {
		stored = append(stored, w.stored...)
		retrieved += w.retrieved
	}
	return stored, retrieved, elapsed, errors.Join(errs...)
}

// listen reads what a process tells until it ends.
func (w *worker) listen(ctx context.Context) error {
	for {
		var n note
		err := w.notes.Decode(&n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return w.explain(ctx, err)
		}
		if n.Stored != uuid.Nil {
			w.stored = append(w.stored, n.Stored)
		}
		w.retrieved += n.Retrieved
	}
	if err := w.command.Wait(); err != nil {
		return w.explain(ctx, err)
	}
	return nil
}

// explain tells why a process failed: because the demo was interrupted, or in
// its own words.
func (w *worker) explain(ctx context.Context, err error) error {
	w.command.Process.Kill()
	w.command.Wait() // from here on, all that it said is in failure
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("a worker process failed: %w: %s", err, strings.TrimSpace(w.failure.String()))
}
