package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func verifyCommand(a *app) *cobra.Command {
	var options jsonlimport.Options
	var quiet bool
	cmd := &cobra.Command{
		Use:   "verify FILE...",
		Short: "Compare JSONL files with the store",
		Long: `Compare the entries of JSONL files with those in the store, without changing
either, and list what differs or is missing. Fields that the form does not know
and lines that were cut short are in no store, and listed too, as are lines of
which a later one with the same id says something else: that one counts. If the
exit status is 0, the store has what the files say but for the lines listed, and
they may be deleted.`,
		Example: `  loopmem import memory.jsonl && loopmem verify memory.jsonl`,
		Args:    arguments(cobra.MinimumNArgs(1), "takes the files to compare"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			err := a.use(cmd, reading, func(store memory.Backend) error {
				return a.verify(cmd, store, args, quiet, options)
			})
			if _, missing := errors.AsType[*missingError](err); missing {
				return &advisedError{err, "(an import that finds nothing to store makes none)"}
			}
			return err
		}),
	}
	formatFlag(cmd.Flags(), &options.Format, "the form of all files (default: recognized by itself)")
	cmd.Flags().BoolVar(&options.SkipMalformed, "skip-malformed", false, "compare the good lines, only count the others")
	lineFlag(cmd.Flags(), &options.MaxLineBytes)
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// verify compares the files and says what came out.
func (a *app) verify(cmd *cobra.Command, store memory.Backend, args []string, quiet bool, options jsonlimport.Options) error {
	report, err := a.verifyFiles(cmd, store, args, quiet, options)
	compared := err == nil
	if compared && !report.Complete() {
		err = errors.New("the store does not have everything that the files say; keep them")
	}
	switch {
	case a.json:
		return errors.Join(a.answer(verifyAnswer{report, failureOf(err)}, ""), err)
	case !compared:
		return err
	default:
		return errors.Join(a.answer(nil, "%s", describeVerify(report)), err)
	}
}

// verifyFiles returns a report unless it fails before it reads a file.
func (a *app) verifyFiles(cmd *cobra.Command, store memory.Backend, args []string, quiet bool, options jsonlimport.Options) (*jsonlimport.VerifyReport, error) {
	inputs, err := a.inputs(args)
	if err != nil {
		return nil, err
	}
	options.Admit = func(e *memory.Entry) error {
		_ = a.scope.Admit(e) // gives it the agent; what lies outside is missing in this store
		return nil
	}
	progress := a.progress(quiet)
	options.Progress = progress.update
	report, err := jsonlimport.Verify(cmd.Context(), store, inputs, options)
	progress.finish()
	if cmd.Context().Err() != nil {
		err = fmt.Errorf("the files were not compared to the end: %w", cmd.Context().Err())
	}
	return &report, adviseImport(err)
}

// verifyAnswer is what verify prints as JSON, also if it fails.
type verifyAnswer struct {
	*jsonlimport.VerifyReport
	*failure
}

func describeVerify(r *jsonlimport.VerifyReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s read from %s: %s equal, %s changed by use only, %s with other content, %s missing, %s repeated%s (%.1f s)",
		plural(r.Read, "entry"), plural(len(r.Files), "file"), humanize.Comma(int64(r.Same)), humanize.Comma(int64(r.Used)),
		humanize.Comma(int64(r.Different)), humanize.Comma(int64(r.Missing)), humanize.Comma(int64(r.Repeated)),
		unlike(r.Superseded), r.Seconds)
	for i := range r.Differences {
		d := &r.Differences[i]
		fmt.Fprintf(&b, "\n%s:%d: %s", visible(d.File), d.Line, d.ID)
		if d.Missing {
			b.WriteString(" is not in the store")
		}
		for _, f := range d.Fields {
			fmt.Fprintf(&b, "\n    %s: %s in the file, %s in the store", f.Field, value(f.File), value(f.Store))
		}
	}
	if more := r.Different + r.Missing - len(r.Differences); more > 0 {
		fmt.Fprintf(&b, "\nand %s more", humanize.Comma(int64(more)))
	}
	describeFaults(&b, r.SkippedLines, r.Skipped, r.Files, r.Warnings)
	return b.String()
}

func value(json string) string {
	if json == "" {
		return "nothing"
	}
	return visible(json)
}
