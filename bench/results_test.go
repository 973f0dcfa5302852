package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// sampleResults are two backends at two sizes, and one that was left out.
func sampleResults() *results {
	r := &results{By: byP50, Environment: environment{OS: "linux", Arch: "amd64", CPU: "abacus", Cores: 2, Seed: 7, Go: "go1", SQLite: "3", Driver: "d 1"}}
	add := func(n int, backend string, s sample) {
		c := corpus{name: "zipf", entries: zipf(n, 1)}
		r.Results = append(r.Results, newMeasurement(&c, "retrieve/word in 10%", backend, s))
	}
	took := func(d time.Duration) sample {
		return sample{took: []time.Duration{d, d, 4 * d}, elapsed: 6 * d, cpu: 3 * d, allocs: 5, bytes: 80, checked: 3, peak: 1 << 20, file: 10_000}
	}
	add(10, reference, took(8*time.Microsecond))
	add(10, "sqlite", took(2*time.Microsecond))
	add(100, reference, took(80*time.Microsecond))
	add(100, "sqlite", took(4*time.Microsecond))
	add(100, "file", sample{skipped: "too slow"})
	r.compare()
	return r
}

func TestResults_compare(t *testing.T) {
	r := sampleResults()
	var ratios []float64
	for _, m := range r.Results {
		ratios = append(ratios, m.VsReference)
	}
	if !slices.Equal(ratios, []float64{1, 4, 1, 20, 0}) {
		t.Errorf("got %v", ratios)
	}
	m := r.Results[1]
	if m.Operations != 3 || m.P50 != 2000 || m.P99 != 8000 || m.CPU != 2000 || m.PerSecond != 250_000 || m.VsTuned != 0 {
		t.Errorf("got %+v", m)
	}
}

// Other programs read these names; they must not change unnoticed.
func TestResults_writeJSON(t *testing.T) {
	var out bytes.Buffer
	if err := sampleResults().writeJSON(&out); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"environment", "results", "compared_by", "seed", "go", "os", "arch", "cpu", "cores", "sqlite", "driver", "command", "time",
		"corpus", "n", "workload", "backend", "operations", "checked", "p50_ns", "p99_ns", "cpu_ns_per_op", "per_second",
		"allocs_per_op", "bytes_per_op", "peak_memory_bytes", "file_bytes", "file_ratio", "vs_reference", "skipped",
	} {
		if !strings.Contains(out.String(), `"`+name+`": `) {
			t.Errorf("no member %q", name)
		}
	}
}

// benchmarkLine is the form of a result that the benchmark format prescribes:
// name, iterations, and pairs of value and unit.
var benchmarkLine = regexp.MustCompile(`^Benchmark[^a-z\s]\S*-\d+\t\d+(\t[0-9.]+ \S+)+$`)

func TestResults_writeGoBench(t *testing.T) {
	var out bytes.Buffer
	if err := sampleResults().writeGoBench(&out); err != nil {
		t.Fatal(err)
	}
	results := 0
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "Benchmark"):
			results++
			if !benchmarkLine.MatchString(line) {
				t.Errorf("malformed: %q", line)
			}
		case !regexp.MustCompile(`^[a-z]+: .+$`).MatchString(line):
			t.Errorf("malformed: %q", line)
		}
	}
	if results != 4 {
		t.Errorf("%d results in\n%s", results, out.String())
	}
	want := "BenchmarkRetrieve:word_in_10%/corpus=zipf/n=10/backend=sqlite-2\t3\t2000 ns/op\t8000 p99-ns/op\t250000.0 op/s\t2000 cpu-ns/op\t80 B/op\t5 allocs/op\t1048576 peak-B\t10000 file-B\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("not in\n%s", out.String())
	}
}

func TestResults_plots(t *testing.T) {
	r := sampleResults()
	if got := r.plotTitles(); !slices.Equal(got, []string{"zipf, retrieve/word in 10%"}) {
		t.Fatalf("got %v", got)
	}
	curves := r.curves("zipf, retrieve/word in 10%")
	if len(curves) != 2 || curves[0].growth() != "  N^1.00" || curves[1].growth() != "  N^0.30" {
		t.Errorf("got %+v", curves)
	}
	r.Results = r.Results[:2]
	if got := r.plotTitles(); got != nil {
		t.Errorf("a plot of curves with one point: %v", got)
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[int64]string{
		1_234: "1.23µs", 12_345: "12µs", 1_234_567: "1.235ms", 123_456_789: "123.5ms", 1_234_567_890: "1.2346s",
	} {
		if got := duration(ns); got != want {
			t.Errorf("%d: got %s, want %s", ns, got, want)
		}
	}
}
