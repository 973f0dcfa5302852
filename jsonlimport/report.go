package jsonlimport

import (
	"bytes"
	"fmt"

	"github.com/dustin/go-humanize/english"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Report tells what an import did, or with [Options.DryRun] would do. Every
// entry read is counted once more: Read is the sum of Imported, Existing,
// Replaced and Repeated.
type Report struct {
	// Files are the sources in order, with the form each was read in.
	Files []FileReport `json:"files"`
	// Read counts the entries in all files.
	Read int `json:"read"`
	// Imported counts those stored under ids that were new.
	Imported int `json:"imported"`
	// Existing counts those whose id was in the store and stayed as it was.
	Existing int `json:"existing"`
	// Differing counts those among Existing of which the store says something
	// else than the file, beyond what use changes (see [VerifyReport]). The
	// warnings name the first of them.
	Differing int `json:"differing"`
	// Replaced counts those that replaced an entry of the store.
	Replaced int `json:"replaced"`
	// Repeated counts those whose id comes again later in the same run; the
	// last one counts.
	Repeated int `json:"repeated"`
	// Superseded counts those among Repeated that say something else than the
	// one that comes later. The warnings name the first of them.
	Superseded int `json:"superseded"`
	// SkippedLines counts malformed lines that were set aside, Skipped tells
	// about the first 1000 of them.
	SkippedLines int          `json:"skipped_lines"`
	Skipped      []*LineError `json:"skipped"`
	// TornBytes is the length of last lines that were cut short and dropped.
	TornBytes int64 `json:"torn_bytes"`
	// Warnings are what a person should look at; at most 1000.
	Warnings []Warning `json:"warnings"`
	// DryRun is set if nothing was written.
	DryRun bool `json:"dry_run"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// FileReport tells about one source.
type FileReport struct {
	File     string `json:"file"`
	Format   string `json:"format,omitempty"`   // empty if there was no entry to tell by
	Entries  int    `json:"entries"`            // read from this file
	Bytes    int64  `json:"bytes"`              // as it stands, packed or not
	Rejected string `json:"rejected,omitempty"` // where its skipped lines were written
}

// Warning is something in a source that is no fault but may surprise.
type Warning struct {
	File string `json:"file,omitempty"` // empty if it concerns the whole run
	Text string `json:"text"`
}

// String returns the file and the text.
func (w Warning) String() string {
	if w.File == "" {
		return w.Text
	}
	return w.File + ": " + w.Text
}

// listLimit bounds what a report lists, so that a file of nothing but faults
// does not fill the memory.
const listLimit = 1000

func (r *Report) warn(file, text string, args ...any) {
	if len(r.Warnings) < listLimit {
		r.Warnings = append(r.Warnings, Warning{File: file, Text: fmt.Sprintf(text, args...)})
	}
}

func (r *Report) skip(fault *LineError) {
	r.SkippedLines++
	if len(r.Skipped) < listLimit {
		r.Skipped = append(r.Skipped, fault)
	}
}

// namedAtMost is how many lines the warnings of one kind name.
const namedAtMost = 20

// supersede counts an entry that another one with its id replaces within the
// run although it says something else.
func (r *Report) supersede(last, now *sighting, id uuid.UUID) {
	if r.Superseded++; r.Superseded <= namedAtMost {
		r.warn(last.source.Name, "line %d is not stored: %s:%d says something else under its id %s, and the later one counts",
			last.line, now.source.Name, now.line, id)
	}
}

// compare counts an entry that is kept as it is in the store although the file
// says something else.
func (r *Report) compare(f *found, stored *memory.Entry) {
	inFile, inStore := withoutUse(f.format.Project(f.entry)), withoutUse(f.format.Project(*stored))
	inStore.ID = inFile.ID // it was looked up by that
	if bytes.Equal(inFile.AppendJSON(nil), inStore.AppendJSON(nil)) {
		return
	}
	r.Differing++
	form, ok := f.format.(owned)
	switch {
	case r.Differing > namedAtMost:
	case ok && collide(form, &f.entry, stored):
		r.warn(f.source.Name, "line %d is not stored: the store has an entry of another one under its id %s; %s", f.line, f.entry.ID, wayOut(form))
	default:
		r.warn(f.source.Name, "line %d is not stored: the store has another text or other fields under its id %s, and keeps them", f.line, f.entry.ID)
	}
}

// outOfSight counts an entry whose id the store has, but not for this handle.
func (r *Report) outOfSight(f *found) {
	if r.Differing++; r.Differing <= namedAtMost {
		r.warn(f.source.Name, "line %d is not stored: its id %s belongs to an entry outside the scope of the store", f.line, f.entry.ID)
	}
}

// summarize adds what the warnings do not name.
func (r *Report) summarize() {
	if more := r.Superseded - namedAtMost; more > 0 {
		r.warn("", "%s not stored, as later ones with their ids say something else", english.Plural(more, "more line is", "more lines are"))
	}
	if more := r.Differing - namedAtMost; more > 0 {
		r.warn("", "%s not stored, as the store has something else under their ids; loopmem verify lists them", english.Plural(more, "more line is", "more lines are"))
	}
}
