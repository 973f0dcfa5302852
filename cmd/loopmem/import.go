package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func importCommand(a *app) *cobra.Command {
	var options jsonlimport.Options
	var quiet bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Bring memories from JSONL files of older stores",
		Long: `Read JSONL files, packed with gzip or not, and store their entries. A FILE of -
is standard input. A missing database is made.

Everything is read and checked before anything is stored: one malformed line,
and nothing is. Entries whose id is in the store already are kept as they are
there, so that importing again changes nothing. What is left out in doing so,
and fields that the form does not know, are counted and named; afterwards
"loopmem verify" tells whether the files may be deleted.

With --json, the report is one object. If the import is refused, it has the
reason as "error" and the first lines concerned as "problems".`,
		Example: `  loopmem import memory.jsonl
  loopmem import --dry-run 'agents/*.jsonl'
  loopmem import --skip-malformed --on-conflict replace old.jsonl.gz
  loopmem import --format agent-own-ids 'agents/*.jsonl'
  ssh host cat memory.jsonl | loopmem import -`,
		Args: arguments(cobra.MinimumNArgs(1), "takes the files to import"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			report, err := a.importFiles(cmd, args, quiet, options)
			_, partial := errors.AsType[*jsonlimport.PartialError](err)
			switch {
			case a.json:
				return errors.Join(a.answer(importAnswer{report, failureOf(err)}, ""), err)
			case err != nil && !partial:
				return err // nothing was stored, so there is nothing else to tell
			default:
				return errors.Join(a.answer(nil, "%s", describeImport(report)), err)
			}
		}),
	}
	flags := cmd.Flags()
	formatFlag(flags, &options.Format, "the form of all files (default: recognized by itself)")
	flags.BoolVar(&options.SkipMalformed, "skip-malformed", false, "store the good lines, write the others to FILE.rejected.jsonl")
	flags.BoolVar(&options.DryRun, "dry-run", false, "check everything, write nothing")
	flags.Func("on-conflict", "`CHOICE` for ids that exist: keep (default), replace or fail", intoValue(&options.OnConflict, parseOnConflict))
	lineFlag(flags, &options.MaxLineBytes)
	flags.BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// importFiles returns a report unless it fails before it reads a file.
func (a *app) importFiles(cmd *cobra.Command, args []string, quiet bool, options jsonlimport.Options) (*jsonlimport.Report, error) {
	inputs, err := a.inputs(args)
	if err != nil {
		return nil, err
	}
	target := importTarget{app: a, cmd: cmd}
	defer target.close()
	if err := target.openExisting(options.DryRun); err != nil {
		return nil, err
	}
	if options.Admit, err = target.admission(cmd.Context()); err != nil {
		return nil, err
	}
	progress := a.progress(quiet)
	options.Progress = progress.update
	report, err := jsonlimport.Import(cmd.Context(), &target, inputs, options)
	progress.finish()
	return &report, adviseImport(err)
}

// inputs are the files that arguments name, none of them the database itself.
func (a *app) inputs(args []string) ([]jsonlimport.Input, error) {
	inputs, err := jsonlimport.Inputs(args, a.in)
	if err != nil {
		return nil, err
	}
	for _, input := range inputs {
		if err := a.refuseOwnFile(input.Name, "name another file, or another database with --db"); err != nil && input.Stream == nil {
			return nil, err
		}
	}
	return inputs, nil
}

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

// lineFlag adds the flag for the longest line.
func lineFlag(flags *pflag.FlagSet, limit *int) {
	flags.Func("max-line", "`SIZE` of the longest line to read (default 64MiB); memory is needed for a few of them", intoValue(limit, func(text string) (int, error) {
		size, err := humanize.ParseBytes(text)
		if err != nil || size == 0 || size > math.MaxInt32 {
			return 0, fmt.Errorf("use a size up to 2GiB, such as 200MiB")
		}
		return int(size), nil
	}))
}

// formatFlag adds the flag that names a form of JSONL.
func formatFlag(flags *pflag.FlagSet, format *jsonlimport.Format, what string) {
	var names []string
	for _, f := range jsonlimport.Formats() {
		names = append(names, f.Name())
	}
	flags.Func("format", what+"; `NAME` is "+english.OxfordWordSeries(names, "or"), intoValue(format, jsonlimport.ParseFormat))
}

func parseOnConflict(text string) (memory.OnConflict, error) {
	switch text {
	case "keep":
		return memory.Keep, nil
	case "replace":
		return memory.Replace, nil
	case "fail":
		return memory.Fail, nil
	default:
		return 0, fmt.Errorf("use keep, replace or fail")
	}
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

// importTarget is the store that an import goes to. A file that does not exist
// is made when the first batch comes, so that a dry run and an import that is
// refused leave nothing behind.
type importTarget struct {
	app    *app
	cmd    *cobra.Command
	opened memory.Backend // nil as long as there is no file
	store  memory.Backend // opened, within the scope
}

func (t *importTarget) openExisting(dryRun bool) error {
	err := t.open(changing.orDry(dryRun))
	if errors.Is(err, fs.ErrNotExist) || t.isEmpty() {
		return nil
	}
	return err
}

// isEmpty reports whether the file of the database holds nothing: another
// process is about to make it.
func (t *importTarget) isEmpty() bool {
	path, _, err := t.app.databasePath()
	if err != nil {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() == 0
}

func (t *importTarget) open(want access) error {
	opened, err := t.app.open(t.cmd, want)
	if err != nil {
		return err
	}
	t.opened, t.store = opened, opened.In(t.app.scope)
	return nil
}

func (t *importTarget) close() {
	if t.opened != nil {
		t.app.close(t.opened)
	}
}

// admission refuses, before anything is written, what the store would refuse:
// entries outside the scope, and embeddings that its model cannot have made.
func (t *importTarget) admission(ctx context.Context) (func(*memory.Entry) error, error) {
	var model memory.Model
	if t.opened != nil {
		var err error
		if model, err = t.store.EmbeddingModel(ctx); err != nil {
			return nil, err
		}
	}
	scope := t.app.scope
	return func(e *memory.Entry) error {
		switch {
		case scope.Admit(e) == nil:
		case scope.Contains(e.Agent, memory.Public):
			return &memory.FieldError{Field: "confidentiality", Reason: fmt.Sprintf("is %s, which is above --clearance %s", e.Confidentiality, *scope.MaxConfidentiality)}
		default:
			return &memory.FieldError{Field: "agent", Reason: fmt.Sprintf("is %q, which is neither --namespace %s nor below it", e.Agent, scope.Namespace)}
		}
		if err := model.Fits(e.Embedding); err != nil {
			return &memory.FieldError{Field: "embedding", Reason: err.Error()}
		}
		return nil
	}, nil
}

// Get implements [jsonlimport.Store].
func (t *importTarget) Get(ctx context.Context, id uuid.UUID) (memory.Record, error) {
	if t.opened == nil {
		return memory.Record{}, memory.ErrNotFound
	}
	return t.store.Get(ctx, id)
}

// StoreBatch implements [jsonlimport.Store].
func (t *importTarget) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	if t.opened == nil {
		if err := t.open(creating); err != nil {
			return memory.BatchResult{}, err
		}
	}
	return t.store.StoreBatch(ctx, entries, onConflict)
}
