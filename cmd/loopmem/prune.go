package main

import (
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
				pruned, verb, err := 0, "pruned", error(nil)
				if dryRun {
					verb = "would prune"
					pruned, err = rule.Preview(cmd.Context(), store)
				} else {
					pruned, err = store.Prune(cmd.Context(), rule.MinStrength, rule.MinAge, rule.Namespace)
				}
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
	flags.Var((*strength)(&rule.MinStrength), "min-strength", "prune what is weaker than this")
	flags.Func("min-age", "prune only what is older than this `AGE`, such as 36h or 30d (default 24h)", intoValue(&rule.MinAge, parseAge))
	flags.StringVar(&rule.Namespace, "agent-prefix", "", "prune only entries of this `AGENT` and those below it (tg:1 covers tg:1:x, not tg:12)")
	flags.BoolVar(&dryRun, "dry-run", false, "only tell how many entries would go")
	return cmd
}
