package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/rivo/uniseg"

	"github.com/loopmem/loopmem/memory"
)

// answer prints what a command that is not about entries has to say: the
// object as JSON, or the readable text.
func (a *app) answer(object any, text string, args ...any) error {
	if !a.json {
		_, err := fmt.Fprintf(a.out, text+"\n", args...)
		return err
	}
	encoder := json.NewEncoder(a.out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(object)
}

// printJSON prints an entry in its JSONL form, with the members of extra, a
// struct or nil, after its own.
func (a *app) printJSON(e *memory.Entry, extra any) error {
	line := e.AppendJSON(nil)
	if extra != nil {
		members, err := json.Marshal(extra)
		if err != nil {
			return err
		}
		line = append(append(line[:len(line)-1], ','), members[1:]...)
	}
	_, err := a.out.Write(append(line, '\n'))
	return err
}

// table prints entries, one a line. As JSON each is printed as it comes; the
// readable form is printed by finish, when the widths are known.
type table struct {
	app  *app
	rows [][]string
}

// rank is what a search knows about an entry. The score is a float32 or a
// float64, and printed with the digits that it has.
type rank struct {
	Score   any  `json:"score"`
	Matched bool `json:"matched"`
}

// add adds an entry that was searched for, or with a nil rank just found.
func (t *table) add(e *memory.Entry, r *rank) error {
	if t.app.json {
		if r == nil {
			return t.app.printJSON(e, nil)
		}
		return t.app.printJSON(e, r)
	}
	row := []string{shortID(e)}
	if r != nil {
		matched := " "
		if r.Matched {
			matched = "*"
		}
		row = append(row, fmt.Sprintf("%.2f%s", r.Score, matched))
	}
	agent := ""
	if e.Agent != "" {
		agent = label(e.Agent)
	}
	t.rows = append(t.rows, append(row, fit(label(string(e.Category)), 24), fit(agent, 24), visible(e.Memory)))
	return nil
}

// list prints entries that were just found.
func (a *app) list(entries []memory.Entry) error {
	t := table{app: a}
	for i := range entries {
		if err := t.add(&entries[i], nil); err != nil {
			return err
		}
	}
	return t.finish()
}

// shortID is enough of an id to name the entry in any store of this world: 48
// bits of it.
func shortID(e *memory.Entry) string { return e.ID.String()[:13] }

// finish prints the rows. On a terminal each takes one line of it.
func (t *table) finish() error {
	if len(t.rows) == 0 {
		return nil
	}
	header := []string{"ID", "SCORE", "CATEGORY", "AGENT", "TEXT"}
	if len(t.rows[0]) < len(header) {
		header = append(header[:1], header[2:]...)
	}
	rows := append([][]string{header}, t.rows...)
	last := len(header) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], uniseg.StringWidth(row[i]))
		}
	}
	used := 0
	for _, width := range widths {
		used += width + 2
	}
	rest := 0
	if width := t.app.terminal(t.app.stdout); width > 0 {
		rest = max(width-used, 20)
	}
	for _, row := range rows {
		for i, width := range widths {
			fmt.Fprint(t.app.out, pad(row[i], width), "  ")
		}
		if _, err := fmt.Fprintln(t.app.out, fit(row[last], rest)); err != nil {
			return err
		}
	}
	return nil
}

// fields collects the lines "name  value" of a readable answer.
type fields struct{ b strings.Builder }

func (f *fields) add(name, text string, args ...any) {
	if f.b.Len() > 0 {
		f.b.WriteByte('\n')
	}
	fmt.Fprintf(&f.b, "%s  %s", pad(name, 15), fmt.Sprintf(text, args...))
}

func (f *fields) String() string { return f.b.String() }

func stamp(t *time.Time) string {
	if t == nil {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

func float(x float64, bits int) string { return strconv.FormatFloat(x, 'g', -1, bits) }

// plural counts things, such as "1,000 entries".
func plural(n int, word string) string {
	return humanize.Comma(int64(n)) + " " + english.PluralWord(n, word, "")
}
