package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// text returns an argument, or for "-" what standard input holds, without the
// line ends behind it, of which git log prints two; $(...) of a shell leaves
// them out as well.
func (a *app) text(ctx context.Context, argument string) (string, error) {
	if argument != "-" {
		return argument, nil
	}
	text, err := interruptible(ctx, func() (string, error) {
		all, err := io.ReadAll(a.in)
		return string(all), err
	})
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	return strings.TrimRight(text, "\r\n"), nil
}

// confirmation is what a person is asked before something goes for good.
type confirmation struct {
	question string
	refused  string // what is so if the answer is no
	look     string // how to see first what would go
}

// confirm asks on the terminal and returns nil after a yes. Where there is no
// terminal, nobody can have agreed to what the filters happen to choose.
func (a *app) confirm(ctx context.Context, c confirmation) error {
	if a.terminal(a.in) == 0 {
		return fmt.Errorf("%s: there is no terminal to ask on; add --yes, or look first with %s", c.refused, c.look)
	}
	if err := a.out.Flush(); err != nil {
		return err
	}
	fmt.Fprint(a.err, c.question, " [y/N] ")
	reply, err := interruptible(ctx, func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(reply)) {
	case "y", "yes":
		return nil
	default:
		return errors.New(c.refused)
	}
}

// interruptible waits for a read, which cannot be interrupted itself, or for
// the end of the context; the read is then left behind.
func interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.text, r.err
	}
}
