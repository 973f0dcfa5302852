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
	"workload", "backend", "p50", "p99", "ops/s", "allocs/op", "B/op",
	"vs reference", "vs tuned scan", "peak memory", "file", "checked",
}

// cells are the row of a measurement.
func cells(m *measurement) []string {
	if m.Skipped != "" {
		return []string{m.Workload, m.Backend, m.Skipped}
	}
	row := []string{
		m.Workload, m.Backend, duration(m.P50), duration(m.P99), humanize.SIWithDigits(m.PerSecond, 1, ""),
		"", "", factor(m.VsReference), factor(m.VsTuned), "", "", "",
	}
	if m.Bytes > 0 {
		row[5], row[6] = humanize.SIWithDigits(m.Allocs, 1, ""), humanize.IBytes(uint64(m.Bytes))
	}
	if m.PeakMemory > 0 {
		row[9] = humanize.IBytes(uint64(m.PeakMemory))
	}
	if m.FileBytes > 0 {
		row[10] = fmt.Sprintf("%s, %.2fx JSONL", humanize.IBytes(uint64(m.FileBytes)), m.FileRatio)
	}
	if m.Checked > 0 {
		row[11] = humanize.Comma(int64(m.Checked))
	}
	return row
}

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

func factor(x float64) string {
	switch {
	case x == 0:
		return ""
	case x < 10:
		return fmt.Sprintf("%.2fx", x)
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
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(r.Environment.lines(), "\n"))
	var part, group string
	for i := range r.Results {
		m := &r.Results[i]
		if title := heading(m); title != part {
			part = title
			fmt.Fprintf(w, "\n%s\n\n%s\n", title, strings.Join(columns, "\t"))
		} else if m.Workload != group {
			fmt.Fprintln(w, strings.Repeat("\t", len(columns)-1))
		}
		group = m.Workload
		fmt.Fprintln(w, strings.Join(cells(m), "\t"))
	}
	return w.Flush()
}

// heading names the part of the report that a measurement belongs to.
func heading(m *measurement) string {
	return fmt.Sprintf("%s entries, corpus %s", humanize.Comma(int64(m.N)), m.Corpus)
}
