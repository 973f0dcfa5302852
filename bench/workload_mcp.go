package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// overMCP are the workloads of an assistant: it speaks with a server process,
// loopmem mcp, through the official client and pipes. They come late, as they
// leave more entries than they find.
func overMCP() []workload {
	var out []workload
	for _, kind := range kinds {
		if kind.name == "substring" {
			continue // questions are about whole words
		}
		out = append(out, workload{
			name: "mcp/recall/" + kind.name, on: isShared, closed: true,
			measure: recallingOverMCP(kind.texts),
		})
	}
	return append(out, workload{name: "mcp/store", on: isShared, closed: true, measure: storingOverMCP})
}

// assistant is a client with a server process of its own.
type assistant struct {
	*mcp.ClientSession
	server  *exec.Cmd
	failure bytes.Buffer
}

// assist measures what an assistant does on the store of a trial.
func (t *trial) assist(ctx context.Context, work func(*assistant) operation) (s sample, err error) {
	program, err := t.options.program(ctx)
	if err != nil {
		return s, err
	}
	a := &assistant{server: exec.CommandContext(ctx, program, "mcp", "--db", t.path())}
	a.server.Stderr = &a.failure
	a.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "bench"}, nil).
		Connect(ctx, &mcp.CommandTransport{Command: a.server}, nil)
	if err != nil {
		return s, a.explain(err)
	}
	if err := a.greet(ctx); err != nil {
		return s, errors.Join(a.explain(err), a.Close())
	}
	op := work(a)
	calls := 0
	do := op.do
	op.do = func(i int) error {
		calls++
		return do(i)
	}
	s, err = t.repeat(ctx, op)
	if err = errors.Join(err, a.Close()); err != nil {
		return s, a.explain(err)
	}
	// What was counted meanwhile is about this process. Of the server's the
	// start is counted too.
	state := a.server.ProcessState
	s.allocs, s.bytes = 0, 0
	s.cpu = (state.UserTime() + state.SystemTime()) / time.Duration(calls) * time.Duration(len(s.took))
	return s, nil
}

// greet asks some questions that do not count: the first waits until the store
// is open, and it takes a few until the server finds answers faster (see
// [sqlitestore.Options.MirrorAfter]).
func (a *assistant) greet(ctx context.Context) error {
	for range 32 {
		if _, err := a.call(ctx, "memory_recall", map[string]any{"text": "hello", "reinforce": false}); err != nil {
			return err
		}
	}
	return nil
}

// explain adds the server's own words to an error.
func (a *assistant) explain(err error) error {
	return fmt.Errorf("loopmem mcp: %w: %s", err, strings.TrimSpace(a.failure.String()))
}

// call calls a tool and returns its structured answer as JSON.
func (a *assistant) call(ctx context.Context, tool string, arguments map[string]any) (json.RawMessage, error) {
	result, err := a.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return nil, err
	}
	if result.IsError {
		return nil, fmt.Errorf("%s fails: %v", tool, result.Content)
	}
	return json.Marshal(result.StructuredContent)
}

// recallingOverMCP asks in the way that the server does unless it is told
// otherwise, in plain language.
func recallingOverMCP(texts func(*questions) []string) func(context.Context, *trial) (sample, error) {
	return func(ctx context.Context, t *trial) (sample, error) {
		return t.assist(ctx, func(a *assistant) operation {
			asked := texts(&t.asked)
			var got json.RawMessage
			return operation{
				do: func(i int) (err error) {
					got, err = a.call(ctx, "memory_recall", map[string]any{"text": asked[i%len(asked)]})
					return err
				},
				check: func(i int) error {
					text := asked[i%len(asked)]
					want, err := t.truth.rank(ctx, memory.Query{Text: text, ExactWords: true, Limit: limit})
					if err != nil {
						return err
					}
					return plausibleRecall(text, got, len(want))
				},
			}
		})
	}
}

// plausibleRecall checks what can be said of an answer about entries that grow
// older and stronger meanwhile. A question finds words in other forms too, so
// there may be more than those with the word itself.
func plausibleRecall(text string, answer json.RawMessage, atLeast int) error {
	var got struct{ Entries []struct{ Score float64 } }
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	if n := len(got.Entries); n < atLeast || n > limit {
		return &wrongError{"how many entries come back for " + text, fmt.Sprint(n), fmt.Sprintf("%d to %d", atLeast, limit)}
	}
	for i := 1; i < len(got.Entries); i++ {
		if before, this := got.Entries[i-1].Score, got.Entries[i].Score; this > before {
			return &wrongError{"how entries are ordered for " + text, fmt.Sprint(this), fmt.Sprint("at most ", before)}
		}
	}
	return nil
}

// storingOverMCP stores new entries and reads each of them again.
func storingOverMCP(ctx context.Context, t *trial) (sample, error) {
	more := t.more[:len(t.more)/2]
	return t.assist(ctx, func(a *assistant) operation {
		var stored struct{ ID string }
		return operation{
			most: len(more),
			do: func(i int) error {
				answer, err := a.call(ctx, "memory_store", map[string]any{"memory": more[i].Memory, "tags": more[i].Tags})
				if err != nil {
					return err
				}
				return json.Unmarshal(answer, &stored)
			},
			check: func(i int) error {
				answer, err := a.call(ctx, "memory_get", map[string]any{"id": stored.ID})
				if err != nil {
					return err
				}
				var got struct{ Memory string }
				if err := json.Unmarshal(answer, &got); err != nil {
					return err
				}
				if got.Memory != more[i].Memory {
					return &wrongError{"get " + stored.ID, got.Memory, more[i].Memory}
				}
				return nil
			},
		}
	})
}
