package main

import (
	"bufio"
	"fmt"
	"io"
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
			benchName(m.Workload), benchName(m.Corpus), m.N, benchName(m.Backend), e.Cores, m.Operations, m.P50, m.P99, m.PerSecond)
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

// benchName writes a name as benchmark names are written: WordsLikeThis, the
// parts separated by slashes.
func benchName(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == ',' || r == '-' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
