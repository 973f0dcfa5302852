// Package worker starts processes of the program itself, so that several work
// in one database at the same time.
package worker

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
)

// Process is a worker as its employer has it in hand. It tells what it does as
// JSON values of type T on its standard output, first of all that it is ready.
// It begins when its standard input ends, so that all can begin together.
type Process[T any] struct {
	ctx     context.Context
	command *exec.Cmd
	in      io.WriteCloser
	notes   *json.Decoder
	failure bytes.Buffer // what it says on standard error
}

// Start starts this program with the arguments. The end of ctx ends it.
func Start[T any](ctx context.Context, args ...string) (*Process[T], error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process[T]{ctx: ctx, command: exec.CommandContext(ctx, program, args...)}
	p.command.Stderr = &p.failure
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.notes = json.NewDecoder(out)
	return p, p.command.Start()
}

// Tell writes a value as JSON to its standard input.
func (p *Process[T]) Tell(value any) error {
	if err := json.NewEncoder(p.in).Encode(value); err != nil {
		return p.explain(err)
	}
	return nil
}

// Begin lets it begin. If it is gone already, Next will say so.
func (p *Process[T]) Begin() { p.in.Close() }

// Next returns what it tells next, or [io.EOF] when it has ended well. Any
// other error ends it.
func (p *Process[T]) Next() (note T, err error) {
	err = p.notes.Decode(&note)
	if err == io.EOF {
		if err = p.command.Wait(); err == nil {
			return note, io.EOF
		}
	}
	if err != nil {
		return note, p.explain(err)
	}
	return note, nil
}

// Finish waits for its end. It is an error if it has anything left to tell.
func (p *Process[T]) Finish() error {
	switch _, err := p.Next(); err {
	case io.EOF:
		return nil
	case nil:
		return p.explain(errors.New("it tells more than was expected"))
	default:
		return err
	}
}

// Stop ends it, if it is of no use any more.
func (p *Process[T]) Stop() {
	p.command.Process.Kill()
	p.command.Wait()
}

// explain tells why it failed: because it was interrupted, or in its own
// words.
func (p *Process[T]) explain(err error) error {
	p.Stop() // from here on, all that it said is in failure
	if p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	return fmt.Errorf("a worker process failed: %w: %s", err, strings.TrimSpace(p.failure.String()))
}
