package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// text returns an argument, or for "-" what standard input holds, without its
// last line end.
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
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r"), nil
}

// confirm asks on the terminal, where there is one to ask; a script has said
// what it wants.
func (a *app) confirm(ctx context.Context, question string, args ...any) (bool, error) {
	if a.terminal(a.in) == 0 {
		return true, nil
	}
	if err := a.out.Flush(); err != nil {
		return false, err
	}
	fmt.Fprintf(a.err, question+" [y/N] ", args...)
	reply, err := interruptible(ctx, func() (string, error) { return bufio.NewReader(a.in).ReadString('\n') })
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	reply = strings.ToLower(strings.TrimSpace(reply))
	return reply == "y" || reply == "yes", nil
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
