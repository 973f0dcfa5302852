package main

import (
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func listCommand(a *app) *cobra.Command {
	var selection memory.Selection
	limit := 50
	var after string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List entries in the order in which they came, page by page",
		Example: `  loopmem list
  loopmem list --category error_pattern --limit 0
  loopmem list --reverse --limit 5
  loopmem list --after 1f3a9c2e-7b21`,
		Args: arguments(cobra.NoArgs, "takes filters as flags"),
		RunE: a.withStore(reading, func(cmd *cobra.Command, store memory.Backend, args []string) (err error) {
			if after != "" {
				if selection.After, err = store.Resolve(cmd.Context(), after); err != nil {
					return err
				}
			}
			var entries []memory.Entry
			for entry, err := range store.Entries(cmd.Context(), selection) {
				if err != nil {
					return err
				}
				if len(entries) == limit && limit > 0 {
					fmt.Fprintf(a.err, "loopmem: there are more: the same with --after %s\n", entries[limit-1].ID)
					break
				}
				entries = append(entries, entry)
			}
			return a.list(entries)
		}),
	}
	filterFlags(cmd.Flags(), &selection.Filter)
	amountFlag(cmd.Flags(), &limit, "limit", "n", math.MaxInt, "how many entries to print at most; 0 means all")
	cmd.Flags().BoolVar(&selection.Backward, "reverse", false, "begin with the entry that came last")
	cmd.Flags().StringVar(&after, "after", "", "begin behind the entry with this `ID`")
	return cmd
}
