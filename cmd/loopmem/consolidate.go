package main

import (
	"context"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

func consolidateCommand(a *app) *cobra.Command {
	var dryRun bool
	var age time.Duration
	cmd := &cobra.Command{
		Use:   "consolidate",
		Short: "Let relevance decay, merge near duplicates, prune what is worthless",
		Long: `Run one consolidation pass: count the uses since the last one, let relevance
decay with age, merge entries of one category and agent that say nearly the same,
and prune those whose relevance or quality is below the floor. Pinned entries
stay. What goes, goes to the archive of the database, where it is kept for 30
days.

Nearly the same is what shares three fifths of its words, so that two facts that
differ in a number alone are taken for one: pin what must stay apart, and look
with --dry-run and loopmem archive.

With --if-older, nothing happens if any process has run a pass less than that
ago: of many that do so by a timer, only the first runs one.`,
		Example: `  loopmem consolidate --dry-run
  loopmem consolidate
  loopmem consolidate --if-older 24h`,
		Args:    arguments(cobra.NoArgs, "takes no arguments"),
		PreRunE: func(cmd *cobra.Command, _ []string) error { return notBoth(cmd, "dry-run", "if-older") },
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.use(cmd, changing.orDry(dryRun), func(store memory.Backend) error {
				pass, tense := store.Consolidate, ""
				if dryRun {
					pass, tense = store.PreviewConsolidation, "would be: "
				} else if age > 0 {
					database, ok := store.(*sqlitestore.Store)
					if !ok {
						return usage(cmd, "--if-older works on databases; a JSONL file does not say when it was consolidated")
					}
					return a.consolidateIfOlder(cmd.Context(), database, age)
				}
				stats, err := pass(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(consolidated{stats, dryRun, true}, "%s%s", tense, describePass(&stats))
			})
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only tell what would happen")
	cmd.Flags().Func("if-older", "only if the last pass was that long ago, such as `24h` or 7d", intoValue(&age, parseAge))
	return cmd
}

// consolidated is what a pass did or, with DryRun, would do. Unless it ran,
// the counts are zero.
type consolidated struct {
	memory.ConsolidationStats
	DryRun bool `json:"dry_run"`
	Ran    bool `json:"ran"`
}

func (a *app) consolidateIfOlder(ctx context.Context, store *sqlitestore.Store, age time.Duration) error {
	stats, ran, err := store.ConsolidateIfOlder(ctx, age)
	if err != nil {
		return err
	}
	text := "nothing to do: the last pass was less than " + age.String() + " ago"
	if ran {
		text = describePass(&stats)
	}
	return a.answer(consolidated{stats, false, ran}, "%s", text)
}

func describePass(s *memory.ConsolidationStats) string {
	return plural(s.EntriesBefore, "entry") + " to " + humanize.Comma(int64(s.EntriesAfter)) +
		": " + humanize.Comma(int64(s.Merged)) + " merged, " + humanize.Comma(int64(s.Pruned)) + " pruned, " +
		humanize.IBytes(uint64(s.BytesSaved)) + " of text saved"
}
