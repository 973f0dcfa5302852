package jsonlimport

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// VerifyReport tells how files compare with a store. Every entry read is
// counted once more: Read is the sum of Repeated, Same, Used, Different and
// Missing.
type VerifyReport struct {
	Files    []FileReport `json:"files"`
	Read     int          `json:"read"`
	Repeated int          `json:"repeated"` // the id comes again later; only the last counts
	// Superseded counts those among Repeated that say something else than the
	// line that counts in their place.
	Superseded int `json:"superseded"`
	Same       int `json:"same"` // equal in every field of the file
	// Used counts entries that differ only in what their use in the store
	// changes: relevance, strength, access_count, last_accessed and
	// last_decayed.
	Used int `json:"used"`
	// Different counts entries of which the store says something else, or of
	// which the file has fields that the form does not know and no store has.
	Different int `json:"different"`
	Missing   int `json:"missing"`
	// Differences lists the first 1000 entries that differ or are missing.
	Differences []Difference `json:"differences"`

	SkippedLines int          `json:"skipped_lines"` // malformed, so in no store
	Skipped      []*LineError `json:"skipped"`
	TornBytes    int64        `json:"torn_bytes"`
	Warnings     []Warning    `json:"warnings"`
	Seconds      float64      `json:"seconds"`
}

// Complete reports whether the store has everything that the files say, so
// that they can be deleted. What is left of a line that was cut short is in no
// store either.
func (r *VerifyReport) Complete() bool {
	return r.Different == 0 && r.Missing == 0 && r.SkippedLines == 0 && r.TornBytes == 0
}

// Difference tells about one entry of a file that the store does not have in
// that form.
type Difference struct {
	File    string            `json:"file"`
	Line    int               `json:"line"`
	ID      uuid.UUID         `json:"id"`
	Missing bool              `json:"missing"` // from the store
	Fields  []FieldDifference `json:"fields,omitempty"`
}

// FieldDifference is a field of two entries, as JSON and shortened; empty
// means the default.
type FieldDifference struct {
	Field string `json:"field"`
	File  string `json:"file"`
	Store string `json:"store"`
}

// Getter is what Verify needs of a store; every [memory.Backend] has it.
type Getter interface {
	Get(ctx context.Context, id uuid.UUID) (memory.Record, error)
}

// Verify compares the entries of all inputs with those in the store, without
// changing either. Lines that are malformed are a [RefusedError], unless
// [Options.SkipMalformed] is set: then they are only counted. The order of
// entries is not compared, nor whether the store has others.
func Verify(ctx context.Context, store Getter, inputs []Input, options Options) (VerifyReport, error) {
	options.DryRun = true
	r := newRun(options)
	defer r.close()
	report := VerifyReport{Differences: []Difference{}}
	err := r.validate(ctx, inputs)
	if err == nil {
		err = r.again(ctx, Comparing, func(batch []found) error {
			for i := range batch {
				if err := report.compare(ctx, store, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	report.Files, report.Read, report.Repeated = r.report.Files, r.report.Read, r.report.Repeated
	report.Superseded = r.report.Superseded
	report.SkippedLines, report.Skipped = r.report.SkippedLines, r.report.Skipped
	r.report.summarize()
	report.TornBytes, report.Warnings = r.report.TornBytes, r.report.Warnings
	report.Seconds = time.Since(r.started).Seconds()
	return report, err
}

func (r *VerifyReport) compare(ctx context.Context, store Getter, f *found) error {
	record, err := store.Get(ctx, f.entry.ID)
	if errors.Is(err, memory.ErrNotFound) {
		r.Missing++
		r.list(f, Difference{Missing: true})
		return nil
	}
	if err != nil {
		return err
	}
	inFile, inStore := f.format.Project(f.entry), f.format.Project(record.Entry)
	fields := append(differences(&inFile, &inStore), f.ignored...)
	unused, unusedStored := withoutUse(inFile), withoutUse(inStore)
	switch {
	case len(fields) == 0:
		r.Same++
	case len(f.ignored) == 0 && len(differences(&unused, &unusedStored)) == 0:
		r.Used++
	default:
		r.Different++
		r.list(f, Difference{Fields: fields})
	}
	return nil
}

func (r *VerifyReport) list(f *found, d Difference) {
	if len(r.Differences) < listLimit {
		d.File, d.Line, d.ID = f.source.Name, f.line, f.entry.ID
		r.Differences = append(r.Differences, d)
	}
}

// withoutUse returns an entry without what its use in a store changes.
func withoutUse(e memory.Entry) memory.Entry {
	e.Relevance, e.Strength, e.AccessCount = memory.DefaultRelevance, memory.DefaultStrength, 0
	e.LastAccessed, e.LastDecayed = nil, nil
	return e
}

// differences returns the fields in which two entries differ, sorted by name.
func differences(a, b *memory.Entry) []FieldDifference {
	aLine, bLine := a.AppendJSON(nil), b.AppendJSON(nil)
	if bytes.Equal(aLine, bLine) {
		return nil
	}
	inA, inB := parseObject(aLine).fields, parseObject(bLine).fields
	all := maps.Clone(inA)
	maps.Copy(all, inB)
	var out []FieldDifference
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if !bytes.Equal(inA[field].raw, inB[field].raw) {
			out = append(out, FieldDifference{
				Field: field,
				File:  shorten(string(inA[field].raw)),
				Store: shorten(string(inB[field].raw)),
			})
		}
	}
	return out
}
