package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// processes are the workloads that run the program loopmem, as a shell or an
// agent's hook does: it starts, opens the store, answers and ends.
func processes() []workload {
	return []workload{
		{name: "process/retrieve", on: hasFile, closed: true, measure: retrievingCold},
		{name: "process/import", on: isShared, closed: true, measure: importingCold},
	}
}

func retrievingCold(ctx context.Context, t *trial) (sample, error) {
	program, err := t.options.program(ctx)
	if err != nil {
		return sample{}, err
	}
	command := func(i int) []string {
		text := t.asked.tenth[i%len(t.asked.tenth)]
		return []string{"--db", t.path(), "--json", "retrieve", "-n", fmt.Sprint(limit), "--", text}
	}
	var out []byte
	var spent, runs time.Duration
	s, err := t.repeat(ctx, operation{
		do: func(i int) error {
			printed, cpu, err := run(ctx, program, command(i)...)
			out, spent, runs = printed, spent+cpu, runs+1
			return err
		},
		check: func(i int) error {
			want, err := t.truth.Retrieve(ctx, t.asked.tenth[i%len(t.asked.tenth)], limit)
			if err != nil {
				return err
			}
			return samePrinted(string(out), want)
		},
	})
	if err != nil {
		return s, err
	}
	// What was counted meanwhile is about this process.
	s.allocs, s.bytes, s.cpu = 0, 0, spent/runs*time.Duration(len(s.took))
	s.peak, err = peak(ctx, program, command(0)...)
	return s, err
}

// samePrinted compares printed answers, which are entries with a few members
// behind their own.
func samePrinted(out string, want []memory.Match) error {
	got := slices.Collect(strings.Lines(out))
	if len(got) != len(want) {
		return &wrongError{"how many entries are printed", fmt.Sprint(len(got)), fmt.Sprint(len(want))}
	}
	for i := range got {
		entry := want[i].Entry.AppendJSON(nil)
		if !strings.HasPrefix(got[i], string(entry[:len(entry)-1])) {
			return &wrongError{fmt.Sprintf("what is printed as result %d", i+1), got[i], string(entry)}
		}
	}
	return nil
}

// importingCold imports the corpus with the program, which tells how much
// memory an import needs.
func importingCold(ctx context.Context, t *trial) (s sample, err error) {
	program, err := t.options.program(ctx)
	if err != nil {
		return s, err
	}
	imported, err := newTrial(ctx, t.options, t.corpus, t.backend)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, imported.end()) }()
	if err := imported.close(); err != nil {
		return s, err
	}
	lines := filepath.Join(imported.folder, "corpus.jsonl")
	if err := writeLines(lines, t.entries); err != nil {
		return s, err
	}
	started := time.Now()
	_, cpu, err := run(ctx, program, "--db", imported.path(), "import", lines)
	if err != nil {
		return s, err
	}
	s.add(clock{took: time.Since(started), cpu: cpu}, len(t.entries))
	s.peak, err = peak(ctx, program, "--db", filepath.Join(imported.folder, "second.db"), "import", lines)
	if err != nil {
		return s, err
	}
	if _, err := imported.truth.StoreBatch(ctx, t.entries, memory.Replace); err != nil {
		return s, err
	}
	if err := imported.open(ctx); err != nil {
		return s, err
	}
	s.checked, err = imported.checkAll(ctx)
	return s, err
}

// writeLines writes entries as JSONL.
func writeLines(path string, entries []memory.Entry) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	var line []byte
	for i := range entries {
		line = append(entries[i].AppendJSON(line[:0]), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return w.Flush()
}

// run runs a program and returns what it prints and the processor time that
// it takes.
func run(ctx context.Context, program string, args ...string) (out []byte, cpu time.Duration, err error) {
	command := exec.CommandContext(ctx, program, args...)
	var failure bytes.Buffer
	command.Stderr = &failure
	if out, err = command.Output(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %s", filepath.Base(program), err, strings.TrimSpace(failure.String()))
	}
	return out, command.ProcessState.UserTime() + command.ProcessState.SystemTime(), nil
}

// buildProgram builds the program loopmem into a folder.
func buildProgram(ctx context.Context, folder string) (string, error) {
	path := filepath.Join(folder, "loopmem.exe")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/loopmem/loopmem/cmd/loopmem").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build loopmem: %w: %s", err, out)
	}
	return path, nil
}
