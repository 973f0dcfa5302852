package main

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// writeGoBench writes the figures in the format of Go benchmarks, each of
// them one line with the p50 as ns/op, for benchstat to compare runs.
func (r *results) writeGoBench(out io.Writer) error {
	w := bufio.NewWriter(out)
	e := &r.Environment
	fmt.Fprintf(w, "goos: %s\ngoarch: %s\npkg: github.com/loopmem/loopmem/bench\n", e.OS, e.Arch)
	if e.CPU != "" {
		fmt.Fprintf(w, "cpu: %s\n", e.CPU)
	}
	fmt.Fprintf(w, "seed: %d\ngo: %s\nsqlite: %s\ndriver: %s\n", e.Seed, e.Go, e.SQLite, e.Driver)
	for i := range r.Results {
		m := &r.Results[i]
		if m.Skipped != "" {
			continue
		}
		fmt.Fprintf(w, "Benchmark%s/corpus=%s/n=%d/backend=%s-%d\t%d\t%d ns/op\t%d p99-ns/op\t%.1f op/s",
			benchName(m.Workload), value(filepath.Base(m.Corpus)), m.N, value(m.Backend), e.Cores, m.Operations, m.P50, m.P99, m.PerSecond)
		if m.CPU > 0 {
			fmt.Fprintf(w, "\t%d cpu-ns/op", m.CPU)
		}
		if m.Bytes > 0 {
			fmt.Fprintf(w, "\t%.0f B/op\t%.0f allocs/op", m.Bytes, m.Allocs)
		}
		if m.PeakMemory > 0 {
			fmt.Fprintf(w, "\t%d peak-B", m.PeakMemory)
		}
		if m.FileBytes > 0 {
			fmt.Fprintf(w, "\t%d file-B", m.FileBytes)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// benchName writes the name of a workload as those of benchmarks are written:
// in one word that begins with a capital.
func benchName(workload string) string {
	return strings.ToUpper(workload[:1]) + value(workload[1:])
}

// value writes a name as the value of a key in a benchmark's name.
func value(name string) string { return strings.NewReplacer(" ", "_", "/", ":").Replace(name) }
