package main

import (
	"math"
	"slices"
	"time"

	"github.com/loopmem/loopmem/sqlitestore"
)

// sample is what was measured of one workload on one backend.
type sample struct {
	took    []time.Duration // of each operation
	elapsed time.Duration   // of all of them, which overlap where processes work together
	cpu     time.Duration   // processor time of all of them
	checked int             // how many answers were compared with the truth
	allocs  float64         // an operation
	bytes   float64         // allocated by an operation
	peak    int64           // most memory of a process of its own, in bytes; 0 is unknown
	file    int64           // size of the store's file; 0 is none
	parts   []sqlitestore.Size
	skipped string // why there are no figures
}

// clock measures one operation.
type clock struct {
	began     time.Time
	took      time.Duration
	cpuBefore time.Duration
	cpu       time.Duration
}

func (c *clock) start() { c.cpuBefore, c.began = cpuTime(), time.Now() }

func (c *clock) stop() {
	c.took = time.Since(c.began)
	c.cpu = cpuTime() - c.cpuBefore
}

// add takes so many operations into the sample, which were measured as one.
func (s *sample) add(c clock, operations int) {
	s.took = append(s.took, slices.Repeat([]time.Duration{c.took / time.Duration(operations)}, operations)...)
	s.elapsed += c.took
	s.cpu += c.cpu
}

// percentile returns the least value that p percent of the sample do not
// exceed; 0 for none. This is the nearest-rank definition, which only ever
// returns values that were measured.
func percentile(values []time.Duration, p float64) time.Duration {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := int(math.Ceil(p / 100 * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// growth fits latency = c * n^exponent, by least squares on the logarithms,
// and returns the exponent. It needs two different n.
func growth(ns []int, latencies []float64) (exponent float64, ok bool) {
	var x, y, xx, xy float64
	for i := range ns {
		a, b := math.Log(float64(ns[i])), math.Log(latencies[i])
		x, y, xx, xy = x+a, y+b, xx+a*a, xy+a*b
	}
	count := float64(len(ns))
	spread := count*xx - x*x
	if len(ns) < 2 || spread < 1e-9 {
		return 0, false
	}
	return (count*xy - x*y) / spread, true
}
