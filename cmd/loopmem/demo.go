package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

// sample is what a team of four agents might remember after a week.
//
//go:embed sample.jsonl
var sample []byte

func demoCommand(a *app) *cobra.Command {
	var d demo
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "See it work, in a temporary database",
		Long: `Make a temporary database, import a bundled sample, let four processes store and
retrieve in it at the same time, check that nothing they stored is lost, search
and consolidate. It takes a few seconds and leaves nothing behind; your own
database is not touched.`,
		Example: `  loopmem demo`,
		Args:    arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			if d.writes < 1 || d.processes < 1 {
				return usage(cmd, "--writes and --processes must be at least 1")
			}
			return d.run(cmd.Context(), a)
		}),
	}
	cmd.Flags().IntVar(&d.processes, "processes", 4, "how many processes work at the same time")
	cmd.Flags().IntVar(&d.writes, "writes", 250, "how many entries each of them stores")
	return cmd
}

// demo is one run of the demonstration.
type demo struct {
	processes int
	writes    int
	folder    string
	database  string
}

func (d *demo) run(ctx context.Context, a *app) (err error) {
	if d.folder, err = os.MkdirTemp("", "loopmem-demo-"); err != nil {
		return err
	}
	defer os.RemoveAll(d.folder)
	d.database = filepath.Join(d.folder, "memory.db")
	file := filepath.Join(d.folder, "sample.jsonl")
	if err := writeSample(file, time.Now()); err != nil {
		return err
	}

	d.say(a, "This is loopmem with a database of its own, which is gone at the end.\n\nA team of four agents left its memories in a JSONL file. They are imported:")
	if err := d.command(ctx, a, "import", file); err != nil {
		return err
	}
	d.say(a, "\nNow %d processes open the database. Each stores %d entries and keeps retrieving:", d.processes, d.writes)
	result, err := d.work(ctx, a)
	if err != nil {
		return err
	}
	if result.Found < result.Acknowledged {
		return fmt.Errorf("%d of %d acknowledged entries are not in the database", result.Acknowledged-result.Found, result.Acknowledged)
	}
	d.say(a, "  %s stored in %.1f s, %s a second, beside %s retrievals", humanize.Comma(int64(result.Acknowledged)),
		result.Seconds, humanize.Comma(int64(result.StoresPerSecond)), humanize.Comma(int64(result.Retrieved)))
	d.say(a, "  %s acknowledged, %s found: nothing is lost", humanize.Comma(int64(result.Acknowledged)), humanize.Comma(int64(result.Found)))

	d.say(a, "\nThe agents look for what helps now. A * marks what matches:")
	for _, command := range [][]string{
		{"retrieve", "-n", "3", "uploads fail during the migration"},
		{"recall", "--agent-prefix", "atlas:", "--exact-words", "--limit", "3", "c++ staging"},
	} {
		if err := d.command(ctx, a, command...); err != nil {
			return err
		}
	}
	d.say(a, "\nNear duplicates merge and stale notes go, within the team's own namespace:")
	if err := d.command(ctx, a, "consolidate", "--namespace", "atlas"); err != nil {
		return err
	}
	d.say(a, `
Your turn:
  loopmem add "what you want to remember" --tag mine
  loopmem retrieve "what you look for"
  loopmem import memory.jsonl     memories of an older store
  loopmem help                    all commands
Run it from this folder with "go run ./cmd/loopmem" in place of "loopmem", or
install it with "go install ./cmd/loopmem".`)
	if a.json {
		return a.answer(result, "")
	}
	return nil
}

// say prints a line of the story, of which --json is spared.
func (d *demo) say(a *app, text string, args ...any) {
	if !a.json {
		fmt.Fprintf(a.out, text+"\n", args...)
		a.out.Flush() // an error stays with the writer and is seen at the end
	}
}

// command carries out a command of this program, as a user would type it.
func (d *demo) command(ctx context.Context, a *app, args ...string) error {
	var out, failure bytes.Buffer
	sub := newApp(strings.NewReader(""), &out, &failure, a.getenv)
	sub.terminal = func(any) int { return a.terminal(a.stdout) }
	if status := sub.run(ctx, append([]string{"--db", d.database}, args...)); status != exitOK {
		if err := ctx.Err(); err != nil {
			return err
		}
		return fmt.Errorf("%s", strings.TrimPrefix(strings.TrimSpace(failure.String()), "loopmem: "))
	}
	d.say(a, "  $ loopmem %s", strings.ReplaceAll(shellWords(args), d.folder+string(filepath.Separator), ""))
	for line := range strings.Lines(out.String()) {
		d.say(a, "  %s", strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// shellWords writes arguments as one would type them.
func shellWords(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		words[i] = arg
		if strings.Contains(arg, " ") {
			words[i] = `"` + arg + `"`
		}
	}
	return strings.Join(words, " ")
}

// writeSample writes the sample as if its last memory were an hour old: with
// the passing of years all of them would fade.
func writeSample(path string, now time.Time) error {
	var entries []memory.Entry
	var newest time.Time
	for line := range bytes.Lines(sample) {
		entry, err := memory.DecodeJSON(bytes.TrimSpace(line))
		if err != nil {
			return fmt.Errorf("bundled sample: %w", err)
		}
		entries = append(entries, entry)
		if entry.CreatedAt.After(newest) {
			newest = entry.CreatedAt
		}
	}
	later := now.Add(-time.Hour).Sub(newest)
	var lines []byte
	for i := range entries {
		entries[i].CreatedAt = entries[i].CreatedAt.Add(later)
		lines = append(entries[i].AppendJSON(lines), '\n')
	}
	return os.WriteFile(path, lines, 0o600)
}

// demoResult is what the processes achieved.
type demoResult struct {
	Processes       int     `json:"processes"`
	Acknowledged    int     `json:"acknowledged"`
	Found           int     `json:"found"`
	Retrieved       int     `json:"retrieved"`
	Seconds         float64 `json:"seconds"`
	StoresPerSecond float64 `json:"stores_per_second"`
}

// work lets the processes work and looks afterwards, in this one, for every
// entry that they were told is stored.
func (d *demo) work(ctx context.Context, a *app) (demoResult, error) {
	team, err := startTeam(ctx, d)
	if err != nil {
		return demoResult{}, err
	}
	did, err := team.work(ctx)
	if err != nil {
		return demoResult{}, err
	}
	store, err := a.openPath(ctx, d.database, reading, nil)
	if err != nil {
		return demoResult{}, err
	}
	defer a.close(store)
	result := demoResult{
		Processes: d.processes, Acknowledged: len(did.stored), Retrieved: did.retrieved,
		Seconds: did.elapsed.Seconds(), StoresPerSecond: float64(len(did.stored)) / did.elapsed.Seconds(),
	}
	for _, id := range did.stored {
		if found, err := exists(ctx, store, id); err != nil {
			return demoResult{}, err
		} else if found {
			result.Found++
		}
	}
	return result, nil
}

func exists(ctx context.Context, store memory.Backend, id uuid.UUID) (bool, error) {
	_, err := store.Get(ctx, id)
	if errors.Is(err, memory.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
