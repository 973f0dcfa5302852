package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func retrieveCommand(a *app) *cobra.Command {
	limit := 5
	var restricted bool
	cmd := &cobra.Command{
		Use:   "retrieve QUERY",
		Short: "Rank all entries by a query, the best first",
		Long: `Rank all entries by how well their text and tags answer the query and by their
relevance, and print the best. Those that match are marked with * and counted
as used by the next consolidation; the others fill the result. Nothing in the
query is syntax. Restricted entries are left out.`,
		Example: `  loopmem retrieve "when is staging rebuilt"
  loopmem retrieve -n 20 --json deploy key`,
		Args: arguments(cobra.MinimumNArgs(1), "takes a query"),
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			var options []memory.Option
			if restricted {
				options = append(options, memory.WithRestricted())
			}
			return a.use(cmd, reading, func(store memory.Backend) error {
				matches, err := store.Retrieve(cmd.Context(), strings.Join(args, " "), limit)
				if err != nil {
					return err
				}
				if len(matches) == 0 && limit > 0 {
					fmt.Fprintln(a.err, "loopmem: nothing is remembered that may be shown here")
				}
				t := table{app: a}
				for i := range matches {
					m := &matches[i]
					if err := t.add(&m.Entry, &rank{m.Score, m.Matched}); err != nil {
						return err
					}
				}
				return t.finish()
			}, options...)
		}),
	}
	amountFlag(cmd.Flags(), &limit, "limit", "n", math.MaxInt, "how many entries to print at most")
	cmd.Flags().BoolVar(&restricted, "restricted", false, "restricted entries too, which are otherwise kept out of prompts")
	return cmd
}
