package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asProgram makes the test binary behave as the program, for the processes
// that the program starts of itself.
const asProgram = "LOOPMEM_BENCH_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Setenv(asProgram, "1")
	os.Exit(m.Run())
}

// mustRun runs the program with little to do and returns what it prints.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	var out, failure bytes.Buffer
	args = append([]string{"--budget", "1ms", "--report", ""}, args...)
	if status := Run(t.Context(), args, strings.NewReader(""), &out, &failure); status != 0 {
		t.Fatalf("status %d\n%s", status, failure.String())
	}
	return out.String()
}

func TestRun_everythingInOneProcess(t *testing.T) {
	out := mustRun(t, "-n", "100", "--corpus", "template,zipf", "--workloads", "import,retrieve,recall,store,forget,consolidate")
	for _, corpus := range []string{"template", "zipf"} {
		if !strings.Contains(out, "100 entries, corpus "+corpus) {
			t.Errorf("nothing about the corpus %s", corpus)
		}
	}
	for _, b := range backends {
		for _, workload := range []string{"import", "retrieve/word in 10%", "recall exact/hybrid 384", "store at capacity", "forget"} {
			asks := strings.HasPrefix(workload, "retrieve") || strings.HasPrefix(workload, "recall")
			if row := tableRow(out, workload, b.name); (row != "") != (asks || !b.answersOnly) {
				t.Errorf("%s on %s: %q", workload, b.name, row)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// tableRow returns the row of a printed table, or "".
func tableRow(out, workload, backend string) string {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, workload+" "); ok && strings.HasPrefix(strings.TrimLeft(rest, " "), backend+" ") {
			return line
		}
	}
	return ""
}

func TestRun_processes(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program loopmem")
	}
	out := mustRun(t, "-n", "100", "--budget", "10ms", "--backends", "file,sqlite", "--workloads", "process,mcp,mixed by 2,writers by 8")
	for _, workload := range []string{"process/retrieve", "process/import", "mcp/store", "mcp/recall/word in 10%", "mcp/recall/empty", "mixed by 2", "writers by 8"} {
		if tableRow(out, workload, "sqlite") == "" {
			t.Errorf("no row for %s in\n%s", workload, out)
		}
	}
}

func TestRun_files(t *testing.T) {
	folder := t.TempDir()
	report, asJSON, asBench := filepath.Join(folder, "report"), filepath.Join(folder, "r.json"), filepath.Join(folder, "r.txt")
	mustRun(t, "-n", "100,200", "--workloads", "retrieve/empty", "--backends", "reference,memory",
		"--report", report, "--json", asJSON, "--bench", asBench)

	var r results
	content, err := os.ReadFile(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Results) != 4 || r.Environment.Seed != 1 || r.Environment.SQLite == "" || r.Environment.Go == "" {
		t.Errorf("got %+v", r)
	}
	for _, m := range r.Results {
		if m.Checked == 0 || m.P50 <= 0 || m.P99 < m.P50 || m.VsReference <= 0 {
			t.Errorf("got %+v", m)
		}
	}
	for _, name := range []string{"report.md", "results.json", "results.txt", "template-retrieve-empty.svg", "template-retrieve-empty.png"} {
		if info, err := os.Stat(filepath.Join(report, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	same, err := os.ReadFile(filepath.Join(report, "results.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if bench, err := os.ReadFile(asBench); err != nil || !bytes.Equal(bench, same) {
		t.Errorf("--bench wrote something else than the report has: %v", err)
	}
}

func TestRun_refusesWhatItDoesNotKnow(t *testing.T) {
	for _, args := range [][]string{
		{"--backends", "postgres"},
		{"-n", "3"},
		{"--budget", "0s"},
		{"--corpus", filepath.Join(t.TempDir(), "missing.jsonl")},
		{"everything"},
	} {
		var failure bytes.Buffer
		if status := Run(t.Context(), args, strings.NewReader(""), &bytes.Buffer{}, &failure); status == 0 {
			t.Errorf("%v: no error", args)
		}
		if !strings.HasPrefix(lastLine(failure.String()), "bench: ") {
			t.Errorf("%v: says %q", args, failure.String())
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// An interrupted run must not look like one that has measured everything.
func TestRun_interrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	progress := writerFunc(func(text string) {
		if strings.Contains(text, "retrieve/") {
			stop()
		}
	})
	var out bytes.Buffer
	if status := Run(ctx, []string{"-n", "100", "--budget", "1ms", "--report", ""}, strings.NewReader(""), &out, progress); status == 0 {
		t.Error("status 0")
	}
	if out.Len() > 0 {
		t.Errorf("printed %s", out.String())
	}
}

type writerFunc func(string)

func (f writerFunc) Write(p []byte) (int, error) {
	f(string(p))
	return len(p), nil
}
