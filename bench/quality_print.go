package main

import (
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// print prints the table.
func (q *quality) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "category\tquestions\tranking\tstore\trecall@5\trecall@10\trecall@20\thit@10\tMRR")
	for _, category := range questionKinds {
		for _, f := range q.Results {
			if f.Category == category {
				fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\n",
					f.Category, f.Questions, f.Ranking, f.Store, f.Recall5, f.Recall10, f.Recall20, f.Hit10, f.MRR)
			}
		}
	}
	return w.Flush()
}

// rankingColors are those of Okabe and Ito again.
var rankingColors = []color.Color{
	color.RGBA{0x00, 0x00, 0x00, 0xff}, color.RGBA{0xe6, 0x9f, 0x00, 0xff}, color.RGBA{0x56, 0xb4, 0xe9, 0xff},
	color.RGBA{0x00, 0x9e, 0x73, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}, color.RGBA{0xcc, 0x79, 0xa7, 0xff},
}

// draw draws recall@10 by category, a bar for each ranking of the first
// store.
func (q *quality) draw(file string) error {
	p := plot.New()
	p.Title.Text = "Share of the answer among the first ten entries"
	p.Y.Label.Text = "recall@10"
	p.Y.Min, p.Y.Max = 0, 1.4 // room for the legend
	p.Legend.Top = true
	p.NominalX(questionKinds...)
	p.Add(plotter.NewGrid())

	bars := make(map[string]plotter.Values)
	var names []string
	for _, f := range q.Results {
		if f.Store != q.Results[0].Store {
			continue
		}
		if bars[f.Ranking] == nil {
			bars[f.Ranking] = make(plotter.Values, len(questionKinds))
			names = append(names, f.Ranking)
		}
		bars[f.Ranking][slices.Index(questionKinds, f.Category)] = f.Recall10
	}
	width := vg.Points(60 / float64(max(len(names), 1)))
	for i, name := range names {
		chart, err := plotter.NewBarChart(bars[name], width)
		if err != nil {
			return err
		}
		chart.LineStyle.Width = 0
		chart.Color = rankingColors[i%len(rankingColors)]
		chart.Offset = width * vg.Length(float64(i)-float64(len(names)-1)/2)
		p.Add(chart)
		p.Legend.Add(name, chart)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return p.Save(20*vg.Centimeter, 12*vg.Centimeter, file)
}
