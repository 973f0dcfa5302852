package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// importAnswer is what import prints as JSON, also if it is refused.
type importAnswer struct {
	*jsonlimport.Report
	*failure
}

// failure tells a program why an import or a comparison was refused or broken
// off.
type failure struct {
	Error string `json:"error"`
	// Problems are the first lines, or the file, that it was refused for.
	Problems     []*jsonlimport.LineError `json:"problems"`
	ProblemCount int                      `json:"problem_count"`
}

// failureOf returns nil for no error.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	f := &failure{Error: inWords(err).Error(), Problems: []*jsonlimport.LineError{}}
	if refused, ok := errors.AsType[*jsonlimport.RefusedError](err); ok {
		f.Problems, f.ProblemCount = refused.Lines, refused.Total
	} else if file, ok := errors.AsType[*jsonlimport.FileError](err); ok {
		f.Problems, f.ProblemCount = append(f.Problems, &jsonlimport.LineError{File: file.File, Reason: file.Reason}), 1
	}
	return f
}

// adviseImport names the flags that errors of jsonlimport speak of.
func adviseImport(err error) error {
	refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
	switch {
	case !ok:
		return err // also nil
	case errors.Is(refused, memory.ErrConflict):
		return &advisedError{err, "See --on-conflict keep and --on-conflict replace."}
	case slices.ContainsFunc(refused.Lines, func(line *jsonlimport.LineError) bool { return line.TooLong }):
		return &advisedError{err, "See --max-line, or else --skip-malformed."}
	default:
		return &advisedError{err, "See --skip-malformed."}
	}
}

func describeImport(r *jsonlimport.Report) string {
	var b strings.Builder
	verb := ""
	if r.DryRun {
		verb = "would be "
	}
	fmt.Fprintf(&b, "%s read from %s: %s%s imported, %s there already%s, %s replaced, %s repeated%s (%.1f s)",
		plural(r.Read, "entry"), plural(len(r.Files), "file"), verb, humanize.Comma(int64(r.Imported)),
		humanize.Comma(int64(r.Existing)), unlike(r.Differing), humanize.Comma(int64(r.Replaced)),
		humanize.Comma(int64(r.Repeated)), unlike(r.Superseded), r.Seconds)
	describeFaults(&b, r.SkippedLines, r.Skipped, r.Files, r.Warnings)
	return b.String()
}

// unlike tells how many of some entries say something else than those that
// count in their place.
func unlike(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s with other content)", humanize.Comma(int64(n)))
}

// describeFaults tells about lines that were skipped and what else a person
// should look at.
func describeFaults(b *strings.Builder, skippedLines int, skipped []*jsonlimport.LineError, files []jsonlimport.FileReport, warnings []jsonlimport.Warning) {
	if skippedLines > 0 {
		fmt.Fprintf(b, "\nskipped %s:", plural(skippedLines, "malformed line"))
		for _, fault := range skipped {
			fmt.Fprintf(b, "\n  %s", visible(fault.Error()))
		}
		if more := skippedLines - len(skipped); more > 0 {
			fmt.Fprintf(b, "\n  and %s more", humanize.Comma(int64(more)))
		}
	}
	for _, f := range files {
		if f.Rejected != "" {
			fmt.Fprintf(b, "\nthe skipped lines of %s are in %s", visible(f.File), visible(f.Rejected))
		}
	}
	for _, w := range warnings {
		fmt.Fprintf(b, "\nwarning: %s", visible(w.String()))
	}
}
