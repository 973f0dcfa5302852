package main

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// drawn is a plot in the report's folder.
type drawn struct {
	title string
	file  string // the SVG; a PNG of the same name lies beside it
}

// curve is one backend in a plot.
type curve struct {
	backend string
	points  plotter.XYs // entries, seconds
}

// colors of the backends; of those by Okabe and Ito, which nearly everyone
// can tell apart.
var colors = map[string]color.Color{
	reference: color.RGBA{0x00, 0x00, 0x00, 0xff},
	tunedScan: color.RGBA{0xe6, 0x9f, 0x00, 0xff},
	"memory":  color.RGBA{0x56, 0xb4, 0xe9, 0xff},
	"file":    color.RGBA{0x00, 0x9e, 0x73, 0xff},
	"sqlite":  color.RGBA{0xd5, 0x5e, 0x00, 0xff},
}

// drawPlots draws latency against the number of entries, one plot for each
// workload of each corpus, where there is more than one number to see.
func (r *results) drawPlots(folder string) ([]drawn, error) {
	var out []drawn
	for _, title := range r.plotTitles() {
		curves := r.curves(title)
		p, err := draws(title, string(r.By), curves)
		if err != nil {
			return nil, err
		}
		name := strings.NewReplacer("/", "-", " ", "-", ",", "", "%", "").Replace(title)
		for _, extension := range []string{".svg", ".png"} {
			if err := p.Save(16*vg.Centimeter, 10*vg.Centimeter, filepath.Join(folder, name+extension)); err != nil {
				return nil, fmt.Errorf("plot of %s: %w", title, err)
			}
		}
		out = append(out, drawn{title, name + ".svg"})
	}
	return out, nil
}

// plotTitle names the plot that a measurement belongs to. A corpus that is a
// file goes by its last name.
func plotTitle(m *measurement) string { return filepath.Base(m.Corpus) + ", " + m.Workload }

// plotTitles lists the plots in which a curve has two points.
func (r *results) plotTitles() []string {
	var titles []string
	for i := range r.Results {
		title := plotTitle(&r.Results[i])
		long := slices.ContainsFunc(r.curves(title), func(c curve) bool { return len(c.points) > 1 })
		if long && !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
	}
	return titles
}

// curves returns the curves of a plot in the order of the backends.
func (r *results) curves(title string) []curve {
	var out []curve
	for _, b := range backends {
		c := curve{backend: b.name}
		for i := range r.Results {
			if m := &r.Results[i]; m.Backend == b.name && r.By.of(m) > 0 && plotTitle(m) == title {
				c.points = append(c.points, plotter.XY{X: float64(m.N), Y: time.Duration(r.By.of(m)).Seconds()})
			}
		}
		slices.SortFunc(c.points, func(a, b plotter.XY) int { return cmp.Compare(a.X, b.X) })
		if len(c.points) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// growth is the fitted exponent of a curve in words, or "".
func (c *curve) growth() string {
	var ns []int
	var latencies []float64
	for _, p := range c.points {
		ns, latencies = append(ns, int(p.X)), append(latencies, p.Y)
	}
	if exponent, ok := growth(ns, latencies); ok {
		return fmt.Sprintf("  N^%.2f", exponent)
	}
	return ""
}

func draws(title, cost string, curves []curve) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text = "entries"
	p.Y.Label.Text = cost
	p.Title.Padding = vg.Points(6)
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker = decades(func(x float64) string { return fmt.Sprintf("%.0f", x) })
	p.Y.Tick.Marker = decades(func(s float64) string { return time.Duration(s*1e9 + 0.5).String() })
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for _, c := range curves {
		line, points, err := plotter.NewLinePoints(c.points)
		if err != nil {
			return nil, err
		}
		line.Color, points.Color = colors[c.backend], colors[c.backend]
		line.Width = vg.Points(1.5)
		points.Shape = draw.CircleGlyph{}
		p.Add(line, points)
		p.Legend.Add(c.backend+c.growth(), line, points)
	}
	widen(&p.X)
	widen(&p.Y)
	p.Y.Max *= 10 // room for the legend
	return p, nil
}

// widen stretches an axis to whole decades, so that at least two are labelled.
func widen(axis *plot.Axis) {
	low, high := math.Floor(math.Log10(axis.Min)), math.Ceil(math.Log10(axis.Max))
	axis.Min, axis.Max = math.Pow(10, low), math.Pow(10, max(high, low+1))
}

// decades labels the powers of ten.
type decades func(float64) string

// Ticks implements [plot.Ticker].
func (label decades) Ticks(low, high float64) []plot.Tick {
	ticks := plot.LogTicks{}.Ticks(low, high)
	for i := range ticks {
		if ticks[i].Label != "" {
			ticks[i].Label = label(ticks[i].Value)
		}
	}
	return ticks
}
