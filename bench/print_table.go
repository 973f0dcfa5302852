package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
)

// columns of the table, printed and in the report.
var columns = []string{
	"workload", "backend", "p50", "p99", "cpu/op", "ops/s", "allocs/op", "B/op",
	"vs reference", "vs tuned scan", "peak memory", "file", "checked",
}

// cells are the row of a measurement.
func cells(m *measurement) []string {
	if m.Skipped != "" {
		return []string{m.Workload, m.Backend, m.Skipped}
	}
	return []string{
		m.Workload, m.Backend, duration(m.P50), duration(m.P99), shown(m.CPU, duration), count(m.PerSecond),
		shown(m.Allocs, count), shown(m.Bytes, func(b float64) string { return humanize.IBytes(uint64(b)) }),
		shown(m.VsReference, factor), shown(m.VsTuned, factor), shown(m.PeakMemory, size),
		shown(m.FileRatio, func(ratio float64) string { return fmt.Sprintf("%s, %.2fx JSONL", size(m.FileBytes), ratio) }),
		shown(m.Checked, func(n int) string { return humanize.Comma(int64(n)) }),
	}
}

// shown is a cell that stays empty where nothing was measured.
func shown[T int | int64 | float64](x T, text func(T) string) string {
	if x == 0 {
		return ""
	}
	return text(x)
}

func count(x float64) string  { return humanize.SIWithDigits(x, 1, "") }
func size(bytes int64) string { return humanize.IBytes(uint64(bytes)) }

// duration prints three digits, which is more than two runs agree on.
func duration(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d < 10*time.Microsecond:
		return d.Round(10 * time.Nanosecond).String()
	case d < 10*time.Millisecond:
		return d.Round(time.Microsecond).String()
	default:
		return d.Round(100 * time.Microsecond).String()
	}
}

// factor prints two digits or more.
func factor(x float64) string {
	switch {
	case x < 0.1:
		return fmt.Sprintf("%.2gx", x)
	case x < 10:
		return fmt.Sprintf("%.1fx", x)
	default:
		return fmt.Sprintf("%.0fx", x)
	}
}

// lines are the environment in words.
func (e *environment) lines() []string {
	cpu := e.CPU
	if cpu == "" {
		cpu = e.Arch
	}
	return []string{
		e.Command,
		fmt.Sprintf("seed %d, %s", e.Seed, e.Time.Format(time.RFC3339)),
		fmt.Sprintf("%s, %s/%s, %s, %d cores", e.Go, e.OS, e.Arch, cpu, e.Cores),
		fmt.Sprintf("SQLite %s, %s", e.SQLite, e.Driver),
	}
}

// printTable prints everything for a terminal.
func (r *results) printTable(out io.Writer) error {
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(r.Environment.lines(), "\n"))
	var part string
	for i := range r.Results {
		m := &r.Results[i]
		if title := heading(m); title != part {
			part = title
			fmt.Fprintf(w, "\n%s\n\n%s\n", title, strings.Join(columns, "\t"))
		}
		fmt.Fprintln(w, strings.Join(cells(m), "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(table.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// heading names the part of the report that a measurement belongs to.
func heading(m *measurement) string {
	return fmt.Sprintf("%s entries, corpus %s", humanize.Comma(int64(m.N)), m.Corpus)
}
