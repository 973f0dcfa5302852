package main

import (
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
either, and list what differs or is missing. If the exit status is 0, the store
has everything that the files say, and they may be deleted.`,
		Example: `  loopmem import memory.jsonl && loopmem verify memory.jsonl`,
		Args:    arguments(cobra.MinimumNArgs(1), "takes the files to compare"),
		RunE: a.withStore(reading, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			inputs, err := jsonlimport.Inputs(args, a.in)
			if err != nil {
				return err
			}
			progress := a.progress(quiet)
			options.Progress = progress.update
			report, err := jsonlimport.Verify(cmd.Context(), store, inputs, options)
			progress.finish()
			if err != nil {
				return adviseImport(err)
			}
			if err := a.answer(report, "%s", describeVerify(&report)); err != nil {
				return err
			}
			if !report.Complete() {
				return fmt.Errorf("the store does not have everything that the files say; keep them")
			}
			return nil
		}),
	}
	formatFlag(cmd.Flags(), &options.Format, "the form of all files (default: recognized by itself)")
	cmd.Flags().BoolVar(&options.SkipMalformed, "skip-malformed", false, "compare the good lines, only count the others")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func describeVerify(r *jsonlimport.VerifyReport) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s read from %s: %s equal, %s changed by use only, %s different, %s missing, %s repeated (%.1f s)",
		plural(r.Read, "entry"), plural(len(r.Files), "file"), humanize.Comma(int64(r.Same)), humanize.Comma(int64(r.Used)),
		humanize.Comma(int64(r.Different)), humanize.Comma(int64(r.Missing)), humanize.Comma(int64(r.Repeated)), r.Seconds)
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
