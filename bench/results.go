package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/loopmem/loopmem/sqlitestore"
)

// results are all figures of a run, and what they were measured with. --json
// writes them as they are here.
type results struct {
	Environment environment   `json:"environment"`
	By          cost          `json:"compared_by"`
	Results     []measurement `json:"results"`
}

// environment is what one has to know to compare figures.
type environment struct {
	Command string    `json:"command"`
	Time    time.Time `json:"time"`
	Seed    uint64    `json:"seed"`
	Go      string    `json:"go"`
	OS      string    `json:"os"`
	Arch    string    `json:"arch"`
	CPU     string    `json:"cpu,omitempty"`
	Cores   int       `json:"cores"`
	SQLite  string    `json:"sqlite"`
	Driver  string    `json:"driver"`
}

// cost is the figure by which backends are compared.
type cost string

const (
	byP50 cost = "p50" // what a user waits for
	byCPU cost = "cpu" // what a machine with other things to do cannot blur
)

// of returns the cost of an operation in nanoseconds.
func (c cost) of(m *measurement) int64 {
	if c == byCPU {
		return m.CPU
	}
	return m.P50
}

// measurement is what one workload showed on one backend with so many
// entries.
type measurement struct {
	Corpus     string  `json:"corpus"`
	N          int     `json:"n"`
	Workload   string  `json:"workload"`
	Backend    string  `json:"backend"`
	Operations int     `json:"operations"`
	Checked    int     `json:"checked"` // operations or entries that were compared with the truth
	P50        int64   `json:"p50_ns"`
	P99        int64   `json:"p99_ns"`
	CPU        int64   `json:"cpu_ns_per_op,omitempty"` // processor time of the whole process
	PerSecond  float64 `json:"per_second"`
	Allocs     float64 `json:"allocs_per_op,omitempty"`
	Bytes      float64 `json:"bytes_per_op,omitempty"`
	PeakMemory int64   `json:"peak_memory_bytes,omitempty"` // of a process of its own
	FileBytes  int64   `json:"file_bytes,omitempty"`
	// FileRatio is the size of the file, with the entries alone, to that of
	// the entries as JSONL.
	FileRatio float64 `json:"file_ratio,omitempty"`
	// Parts is what each table and index takes of the file.
	Parts []sqlitestore.Size `json:"parts,omitempty"`
	// The factors by which the yardsticks take longer; 0 where they were not
	// measured.
	VsReference float64 `json:"vs_reference,omitempty"`
	VsTuned     float64 `json:"vs_tuned_scan,omitempty"`
	Skipped     string  `json:"skipped,omitempty"` // why there are no figures
}

func newMeasurement(c *corpus, workload, backend string, s sample) measurement {
	m := measurement{
		Corpus: c.name, N: len(c.entries), Workload: workload, Backend: backend,
		Operations: len(s.took), Checked: s.checked, Skipped: s.skipped,
		P50: int64(percentile(s.took, 50)), P99: int64(percentile(s.took, 99)),
		Allocs: s.allocs, Bytes: s.bytes, PeakMemory: s.peak, FileBytes: s.file, Parts: s.parts,
	}
	if len(s.took) > 0 {
		m.CPU = int64(s.cpu) / int64(len(s.took))
	}
	if s.elapsed > 0 {
		m.PerSecond = float64(len(s.took)) / s.elapsed.Seconds()
	}
	if s.file > 0 {
		m.FileRatio = float64(s.file) / float64(linesSize(c))
	}
	return m
}

// linesSize is the size of the corpus as JSONL.
func linesSize(c *corpus) (size int64) {
	var line []byte
	for i := range c.entries {
		line = c.entries[i].AppendJSON(line[:0])
		size += int64(len(line)) + 1
	}
	return size
}

// compare sets the ratios, once all backends have been measured.
func (r *results) compare() {
	type key struct {
		corpus, workload, backend string
		n                         int
	}
	costs := make(map[key]float64)
	for i := range r.Results {
		m := &r.Results[i]
		costs[key{m.Corpus, m.Workload, m.Backend, m.N}] = float64(r.By.of(m))
	}
	for i := range r.Results {
		m := &r.Results[i]
		if own := r.By.of(m); own > 0 {
			m.VsReference = costs[key{m.Corpus, m.Workload, reference, m.N}] / float64(own)
			m.VsTuned = costs[key{m.Corpus, m.Workload, tunedScan, m.N}] / float64(own)
		}
	}
}

func (r *results) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// newEnvironment looks around.
func newEnvironment(ctx context.Context, command string, seed uint64) (environment, error) {
	e := environment{
		Command: command, Time: time.Now().UTC().Truncate(time.Second), Seed: seed, Go: runtime.Version(),
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: processor(), Cores: runtime.GOMAXPROCS(0),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "modernc.org/sqlite" {
				e.Driver = module.Path + " " + module.Version
			}
		}
	}
	store, err := sqlitestore.OpenInMemory(ctx)
	if err != nil {
		return e, err
	}
	defer store.Close()
	stats, err := store.Stats(ctx)
	e.SQLite = stats.SQLiteVersion
	return e, err
}

// processor names the processor where the system has a file that does; Go has
// no function for it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return ""
}
