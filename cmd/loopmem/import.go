package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"
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
"loopmem verify" tells whether the files may be deleted. With --namespace, what
has no agent gets that one, as it does with loopmem add.

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
