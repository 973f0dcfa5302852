package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func pruneCommand(a *app) *cobra.Command {
	rule := memory.PruneRule{MinStrength: 0.1, MinAge: 24 * time.Hour}
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove entries that have faded",
		Long: `Remove the entries whose strength has faded below a bound and that were made
longer ago than another. Pinned entries stay. What is pruned goes to the
archive of the database, where it is kept for 30 days.`,
		Example: `  loopmem prune --dry-run
  loopmem prune --min-strength 0.05 --min-age 90d --agent-prefix tg:123`,
		Args: arguments(cobra.NoArgs, "takes its bounds as flags"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.use(cmd, changing.orDry(dryRun), func(store memory.Backend) error {
				prune, verb := store.Prune, "pruned"
				if dryRun {
					prune, verb = pruneNothing(store), "would prune"
				}
				pruned, err := prune(cmd.Context(), rule.MinStrength, rule.MinAge, rule.Namespace)
				if err != nil {
					return err
				}
				return a.answer(struct {
					Pruned int  `json:"pruned"`
					DryRun bool `json:"dry_run"`
				}{pruned, dryRun}, "%s %s", verb, plural(pruned, "entry"))
			})
		}),
	}
	flags := cmd.Flags()
	flags.Float64Var(&rule.MinStrength, "min-strength", rule.MinStrength, "prune what is weaker than this, 0..1")
	flags.Func("min-age", "prune only what is older than this `AGE`, such as 36h or 30d (default 24h)", intoValue(&rule.MinAge, parseAge))
	flags.StringVar(&rule.Namespace, "agent-prefix", "", "prune only entries of this `AGENT` and those below it (tg:1 covers tg:1:x, not tg:12)")
	flags.BoolVar(&dryRun, "dry-run", false, "only tell how many entries would go")
	return cmd
}

// pruneNothing applies the rule that Prune of the store applies, and only
// counts.
func pruneNothing(store memory.Backend) func(context.Context, float64, time.Duration, string) (int, error) {
	return func(ctx context.Context, minStrength float64, minAge time.Duration, namespace string) (n int, err error) {
		rule := memory.PruneRule{MinStrength: minStrength, MinAge: minAge, Namespace: namespace}
		if err := rule.Validate(); err != nil {
			return 0, err
		}
		now := time.Now()
		for entry, err := range store.Entries(ctx, memory.Selection{}) {
			if err != nil {
				return 0, err
			}
			if rule.Removes(&entry, now) {
				n++
			}
		}
		return n, nil
	}
}
