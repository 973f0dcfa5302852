package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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
there, so that importing again changes nothing.`,
		Example: `  loopmem import memory.jsonl
  loopmem import --dry-run 'agents/*.jsonl'
  loopmem import --skip-malformed --on-conflict replace old.jsonl.gz
  ssh host cat memory.jsonl | loopmem import -`,
		Args: arguments(cobra.MinimumNArgs(1), "takes the files to import"),
		RunE: a.action(func(cmd *cobra.Command, args []string) (err error) {
			inputs, err := jsonlimport.Inputs(args, a.in)
			if err != nil {
				return err
			}
			target := importTarget{app: a, cmd: cmd}
			defer target.close()
			if err := target.openExisting(options.DryRun); err != nil {
				return err
			}
			progress := a.progress(quiet)
			options.Progress = progress.update
			report, err := jsonlimport.Import(cmd.Context(), &target, inputs, options)
			progress.finish()
			if _, partial := errors.AsType[*jsonlimport.PartialError](err); err != nil && !partial {
				return adviseImport(err)
			}
			return errors.Join(a.answer(report, "%s", describeImport(&report)), err)
		}),
	}
	flags := cmd.Flags()
	formatFlag(flags, &options.Format, "the form of all files (default: recognized by itself)")
	flags.BoolVar(&options.SkipMalformed, "skip-malformed", false, "store the good lines, write the others to FILE.rejected.jsonl")
	flags.BoolVar(&options.DryRun, "dry-run", false, "check everything, write nothing")
	flags.Func("on-conflict", "`CHOICE` for ids that exist: keep (default), replace or fail", intoValue(&options.OnConflict, parseOnConflict))
	flags.BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
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
		return err
	case errors.Is(refused, memory.ErrConflict):
		return &advisedError{err, "See --on-conflict keep and --on-conflict replace."}
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
	fmt.Fprintf(&b, "%s read from %s: %s%s imported, %s there already, %s replaced, %s repeated (%.1f s)",
		plural(r.Read, "entry"), plural(len(r.Files), "file"), verb, humanize.Comma(int64(r.Imported)),
		humanize.Comma(int64(r.Existing)), humanize.Comma(int64(r.Replaced)), humanize.Comma(int64(r.Repeated)), r.Seconds)
	describeFaults(&b, r.SkippedLines, r.Skipped, r.Files, r.Warnings)
	return b.String()
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
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
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
