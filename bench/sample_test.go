package main

import (
	"math"
	"testing"
	"time"
)

func TestPercentile(t *testing.T) {
	values := []time.Duration{50, 10, 40, 20, 30}
	for _, c := range []struct {
		p    float64
		want time.Duration
	}{{0, 10}, {20, 10}, {21, 20}, {50, 30}, {99, 50}, {100, 50}} {
		if got := percentile(values, c.p); got != c.want {
			t.Errorf("percentile %v is %d, want %d", c.p, got, c.want)
		}
	}
	if values[0] != 50 {
		t.Error("the sample was sorted")
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("percentile of nothing is %d", got)
	}
}

func TestGrowth(t *testing.T) {
	ns := []int{1000, 10_000, 100_000}
	for _, exponent := range []float64{0, 0.5, 1, 2} {
		var latencies []float64
		for _, n := range ns {
			latencies = append(latencies, 3e-6*math.Pow(float64(n), exponent))
		}
		if got, ok := growth(ns, latencies); !ok || math.Abs(got-exponent) > 1e-9 {
			t.Errorf("exponent %v comes out as %v, %v", exponent, got, ok)
		}
	}
	for _, same := range [][]int{nil, {1000}, {1000, 1000}} {
		if _, ok := growth(same, make([]float64, len(same))); ok {
			t.Errorf("a curve through %v", same)
		}
	}
}
