package jsonlimport

import "fmt"

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
	// Replaced counts those that replaced an entry of the store.
	Replaced int `json:"replaced"`
	// Repeated counts those whose id comes again later in the same run; the
	// last one counts.
	Repeated int `json:"repeated"`
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
	Rejected string `json:"rejected,omitempty"` // where its skipped lines are
}

// Warning is something in a source that is no fault but may surprise.
type Warning struct {
	File string `json:"file"`
	Text string `json:"text"`
}

// String returns the file and the text.
func (w Warning) String() string { return w.File + ": " + w.Text }

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
