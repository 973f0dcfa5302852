// Command stresstest has processes do everything at once to one database
// while it kills some and stops others, and then judges from a history of all
// calls whether anything that was acknowledged has been lost.
//
//	go run ./sqlitestore/stresstest -duration 10m -procs 8
//
// It exits with status 1 if something is wrong, and keeps the database and
// the history then. The tests of this package run it for a few seconds.
//
// Reading order: cast.go (what is written), history.go (what is recorded),
// worker.go (who writes), director.go (who kills), judge.go (what must hold).
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	if inWorker() {
		os.Exit(workerMain())
	}
	p := play{log: os.Stdout}
	flag.DurationVar(&p.duration, "duration", time.Minute, "how long to go on")
	flag.IntVar(&p.processes, "procs", 4, "how many processes at a time")
	flag.Uint64Var(&p.seed, "seed", rand.Uint64(), "repeats the choices of an earlier run, though not its timing")
	flag.Parse()
	if err := p.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "stresstest:", err)
		os.Exit(1)
	}
}

// play is one run of the harness.
type play struct {
	duration  time.Duration
	processes int
	seed      uint64
	log       io.Writer

	folder string // of the database and the history
}

func (p *play) database() string { return filepath.Join(p.folder, "memory.db") }
func (p *play) history() string  { return filepath.Join(p.folder, "history.jsonl") }

// run plays, judges, and cleans up if all is well.
func (p *play) run(ctx context.Context) (err error) {
	if p.folder, err = os.MkdirTemp("", "loopmem-stress-"); err != nil {
		return err
	}
	fmt.Fprintf(p.log, "seed %d, %d processes for %s\n", p.seed, p.processes, p.duration)
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nseed %d; database and history are kept in %s", err, p.seed, p.folder)
			return
		}
		err = os.RemoveAll(p.folder)
	}()
	if err := p.setTheScene(ctx); err != nil {
		return err
	}
	d := director{play: p, rand: rand.New(rand.NewPCG(p.seed, 0))}
	if err := d.direct(ctx); err != nil {
		return err
	}
	h, err := readHistory(p.history())
	if err != nil {
		return err
	}
	faults, err := judge(ctx, p.database(), h)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.log, "%s\nkilled %d, stopped %d, ended %d processes\n", h.summary(), d.killed, d.stopped, d.ended)
	if len(faults) > 0 {
		return fmt.Errorf("%d faults:\n%s", len(faults), strings.Join(faults, "\n"))
	}
	return nil
}
