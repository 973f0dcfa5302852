package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// setTheScene makes the database.
func (p *play) setTheScene(ctx context.Context) error {
	store, err := sqlitestore.Open(ctx, p.database(), sqlitestore.Options{}, memory.WithEntries(sceneEntries()...))
	if err != nil {
		return err
	}
	return store.Close()
}

// director starts the processes, and sees to it that they have a hard life.
type director struct {
	*play
	rand    *rand.Rand
	started int
	cast    []*actor

	leaving                sync.WaitGroup // actors that were told to end
	mu                     sync.Mutex     // guards errs
	errs                   []error
	killed, stopped, ended int
}

// actor is the outside of a worker.
type actor struct {
	number  int
	command *exec.Cmd
	stdin   io.Closer
	stderr  bytes.Buffer
	asleep  bool // is stopped, and has a timer to wake it
}

// longestStop is well below the busy timeout, as the contract for processes
// that are stopped in the middle of a write has it.
const longestStop = busyTimeout / 10

// direct plays until the time is over and all processes have ended.
func (d *director) direct(ctx context.Context) error {
	defer d.sweep()
	for range d.processes {
		if err := d.hire(); err != nil {
			return err
		}
	}
	awake := make(chan *actor, d.processes)
	end := time.After(d.duration)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-awake:
			a.asleep = false
			if err := resume(a.command.Process); err != nil {
				return err
			}
		case <-time.After(time.Duration(d.rand.IntN(400)) * time.Millisecond):
			if err := d.disturb(awake); err != nil {
				return err
			}
		case <-end:
			for _, a := range d.cast {
				if a.asleep {
					if err := resume(a.command.Process); err != nil {
						return err
					}
				}
				d.dismiss(a)
			}
			d.leaving.Wait()
			return errors.Join(d.errs...)
		}
	}
}

// hire starts a process.
func (d *director) hire() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	d.started++
	a := &actor{number: d.started, command: exec.Command(program)}
	a.command.Env = append(os.Environ(),
		fmt.Sprintf("%s=%d", workerNumber, a.number),
		fmt.Sprintf("%s=%d", workerSeed, d.seed),
		workerDatabase+"="+d.database(),
		workerHistory+"="+d.history())
	a.command.Stderr = &a.stderr
	if a.stdin, err = a.command.StdinPipe(); err != nil {
		return err
	}
	d.cast = append(d.cast, a)
	return a.command.Start()
}

// disturb kills, stops or ends one of the processes that are awake.
func (d *director) disturb(awake chan<- *actor) error {
	i := d.rand.IntN(len(d.cast))
	a := d.cast[i]
	switch n := d.rand.IntN(10); {
	case a.asleep:
		return nil
	case n < 4:
		if err := suspend(a.command.Process); err != nil {
			return err
		}
		d.stopped++
		a.asleep = true
		time.AfterFunc(time.Duration(d.rand.Int64N(int64(longestStop))), func() { awake <- a })
		return nil
	case n < 8:
		if err := a.command.Process.Kill(); err != nil {
			return fmt.Errorf("process %d ended by itself: %w: %s", a.number, err, &a.stderr)
		}
		a.command.Wait() // says that it was killed
		d.killed++
	default:
		d.dismiss(a)
	}
	d.cast = append(d.cast[:i], d.cast[i+1:]...)
	return d.hire()
}

// dismiss lets a process close its store and end.
func (d *director) dismiss(a *actor) {
	d.ended++
	a.stdin.Close()
	d.leaving.Go(func() {
		if err := a.command.Wait(); err != nil {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.errs = append(d.errs, fmt.Errorf("process %d: %w: %s", a.number, err, &a.stderr))
		}
	})
}

// sweep ends what is still there after a failure.
func (d *director) sweep() {
	for _, a := range d.cast {
		a.command.Process.Kill()
	}
}
