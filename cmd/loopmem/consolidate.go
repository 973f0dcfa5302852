package main

import (
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func consolidateCommand(a *app) *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "consolidate",
		Short: "Let relevance decay, merge near duplicates, prune what is worthless",
		Long: `Run one consolidation pass: count the uses since the last one, let relevance
decay with age, merge entries that say nearly the same, and prune those whose
relevance or quality is below the floor. Pinned entries stay. What goes, goes to
the archive of the database, where it is kept for 30 days.`,
		Example: `  loopmem consolidate --dry-run
  loopmem consolidate`,
		Args: arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.use(cmd, changing.orDry(dryRun), func(store memory.Backend) error {
				pass, tense := store.Consolidate, ""
				if dryRun {
					pass, tense = store.PreviewConsolidation, "would be: "
				}
				stats, err := pass(cmd.Context())
				if err != nil {
					return err
				}
				return a.answer(struct {
					memory.ConsolidationStats
					DryRun bool `json:"dry_run"`
				}{stats, dryRun}, "%s%s to %s: %d merged, %d pruned, %s of text saved", tense,
					plural(stats.EntriesBefore, "entry"), humanize.Comma(int64(stats.EntriesAfter)),
					stats.Merged, stats.Pruned, humanize.IBytes(uint64(stats.BytesSaved)))
			})
		}),
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only tell what would happen")
	return cmd
}
