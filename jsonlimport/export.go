package jsonlimport

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/dustin/go-humanize/english"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// ExportReport tells what an export wrote.
type ExportReport struct {
	Format  string `json:"format"`
	Entries int    `json:"entries"`
	// Warnings name what the form could not hold. There are none for
	// [Loopctl].
	Warnings []string `json:"warnings"`
}

// Export writes the selected entries in insertion order, as one consistent
// snapshot of the store, whatever others write meanwhile. A [Loopctl] export,
// imported into an empty store, exports to the same bytes.
//
// A caller that writes a file should let it appear under its name only when
// Export has succeeded.
func Export(ctx context.Context, store memory.Lister, selection memory.Selection, format Format, w io.Writer) (ExportReport, error) {
	lost := losses{format: format, fields: make(map[string]int)}
	out := bufio.NewWriterSize(w, bufferSize)
	err := format.Write(out, lost.count(store.Entries(ctx, selection)))
	if err == nil {
		err = out.Flush()
	}
	report := ExportReport{Format: format.Name(), Entries: lost.entries, Warnings: lost.warnings()}
	if err != nil {
		return report, fmt.Errorf("export: %w", err)
	}
	return report, nil
}

// losses counts entries on their way into a form and what it cannot hold.
type losses struct {
	format  Format
	entries int
	fields  map[string]int
	foreign int // entries that the form turns into others
}

// selective is a form that has no place for some entries, and need not have.
type selective interface {
	leavesOut(e *memory.Entry) bool
}

func leavesOut(format Format, e *memory.Entry) bool {
	form, ok := format.(selective)
	return ok && form.leavesOut(e)
}

// count counts the entries that are ranged over, without those that the form
// leaves out. One that no store takes is damaged, and would make a file that
// nobody can import.
func (l *losses) count(entries iter.Seq2[memory.Entry, error]) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		for entry, err := range entries {
			if err == nil && leavesOut(l.format, &entry) {
				continue
			}
			if err == nil {
				err = sound(&entry)
			}
			if err == nil {
				l.add(&entry)
			}
			if !yield(entry, err) || err != nil {
				return
			}
		}
	}
}

func sound(entry *memory.Entry) error {
	if err := entry.Validate(); err != nil {
		return fmt.Errorf("entry %s is damaged: %w; loopmem doctor tells what else is", entry.ID, err)
	}
	return nil
}

func (l *losses) add(entry *memory.Entry) {
	l.entries++
	projected := l.format.Project(*entry)
	if projected.ID == uuid.Nil {
		l.foreign++
		return
	}
	for _, d := range differences(entry, &projected) {
		l.fields[d.Field]++
	}
}

func (l *losses) warnings() []string {
	out := []string{}
	if l.foreign > 0 {
		out = append(out, fmt.Sprintf("%s came from another form; little more than the text is kept", english.Plural(l.foreign, "entry", "")))
	}
	for _, field := range slices.Sorted(maps.Keys(l.fields)) {
		out = append(out, fmt.Sprintf("the form %s cannot keep %s of %s", l.format.Name(), field, english.Plural(l.fields[field], "entry", "")))
	}
	return out
}
