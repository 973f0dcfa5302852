package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeReport writes a folder with everything: report.md, which shows the
// plots, and the figures in both forms for programs.
func (r *results) writeReport(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	plots, err := r.drawPlots(folder)
	if err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{"results.json", r.writeJSON},
		{"results.txt", r.writeGoBench},
		{"report.md", func(w io.Writer) error { return r.writeMarkdown(w, plots) }},
	} {
		if err := writeFile(filepath.Join(folder, file.name), file.write); err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes a file of what write writes.
func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

func (r *results) writeMarkdown(out io.Writer, plots []drawn) error {
	w := bufio.NewWriter(out)
	fmt.Fprint(w, "# loopmem, measured\n\n")
	for _, line := range r.Environment.lines() {
		fmt.Fprintf(w, "    %s\n", line)
	}
	fmt.Fprintf(w, `
The ratios say how many times as long the yardsticks take, by %s: the
reference is the plain algorithm of the Rust stores, the tuned scan the best
that can be done without an index. "checked" is how many answers, or entries,
were compared with the truth.
`, r.By)
	var part string
	for i := range r.Results {
		m := &r.Results[i]
		if title := heading(m); title != part {
			part = title
			fmt.Fprintf(w, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells(m), " | "))
	}
	r.writeParts(w)
	if len(plots) > 0 {
		fmt.Fprint(w, "\n## Latency by number of entries\n\nBoth axes are logarithmic; the exponent is that of the growth fitted to each\ncurve.\n")
	}
	for _, p := range plots {
		fmt.Fprintf(w, "\n![%s](%s)\n", p.title, p.file)
	}
	return w.Flush()
}

// writeParts tells what each index costs, for every measurement that knows.
func (r *results) writeParts(w io.Writer) {
	for i := range r.Results {
		m := &r.Results[i]
		if len(m.Parts) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n## Parts of the file of %s: %s\n\n| table or index | bytes an entry | of the file |\n|---|---|---|\n", m.Backend, heading(m))
		const negligible = 0.005
		for _, part := range m.Parts {
			if share := float64(part.Bytes) / float64(m.FileBytes); share > negligible {
				fmt.Fprintf(w, "| %s | %.0f | %.0f%% |\n", part.Name, float64(part.Bytes)/float64(m.N), 100*share)
			}
		}
	}
}
