package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func recallCommand(a *app) *cobra.Command {
	var query memory.Query
	var e embedding
	cmd := &cobra.Command{
		Use:   "recall [TEXT]",
		Short: "Recall entries that pass filters, and what they are linked to",
		Long: `Print the entries that contain a word of the text and pass every filter, ranked
by age, importance, relevance to the text and strength, together with entries
they are linked to. What is recalled becomes stronger, as memories do.

Words are found inside longer ones too, unless --exact-words is given.`,
		Example: `  loopmem recall staging --category fact --limit 3
  loopmem recall "perf regression" --exact-words --agent-prefix ci:
  loopmem recall --tag ops --min-strength 0.5 --no-reinforce`,
		RunE: a.withStore(reading, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			query.Text = strings.Join(args, " ")
			store, err := e.before(cmd.Context(), a, store)
			if err != nil {
				return err
			}
			found, err := store.Recall(cmd.Context(), query)
			if err != nil {
				return err
			}
			t := table{app: a}
			for i := range found.Hits {
				h := &found.Hits[i]
				if err := t.add(&h.Entry, &rank{h.Score, h.Matched}); err != nil {
					return err
				}
			}
			return t.finish()
		}),
	}
	filterFlags(cmd.Flags(), &query.Filter)
	cmd.Flags().IntVarP(&query.Limit, "limit", "n", 10, "how many entries to print at most; 0 means all")
	cmd.Flags().BoolVar(&query.ExactWords, "exact-words", false, "compare whole words")
	cmd.Flags().BoolVar(&query.NoReinforce, "no-reinforce", false, "leave the strength of what is recalled as it is")
	e.optionalFlags(cmd.Flags(), "also find what is said in other words, by embeddings")
	return cmd
}
