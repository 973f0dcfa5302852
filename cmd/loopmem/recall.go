package main

import (
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func recallCommand(a *app) *cobra.Command {
	query := memory.Query{Ranking: memory.RankingQuestion, Limit: 10, Window: 2}
	var explain bool
	var e embedding
	cmd := &cobra.Command{
		Use:   "recall [TEXT]",
		Short: "Recall what answers a question, and what it is linked to",
		Long: `Print the entries that answer a question in plain language best. Words count in
all their forms and by how rare they are, none is required, and what was said
just before or after in the same conversation counts too (--window). Age,
importance and strength decide between answers that fit about equally well.
What is recalled becomes stronger, as memories do, and brings what it is linked
to.

With --ranking composite, entries that contain a word of the text, also inside a
longer one, are ranked by age, importance, relevance and strength alike;
--exact-words does the same with whole words.

Words that were found stand between asterisks. Restricted entries are among what
is recalled: before it goes into a prompt, leave them out with
--max-confidentiality confidential.`,
		Example: `  loopmem recall "When does the staging password rotate?" --explain
  loopmem recall staging --category fact --limit 3
  loopmem recall "perf regression" --exact-words --agent-prefix ci:
  loopmem recall --tag ops --min-strength 0.5 --no-reinforce`,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case !query.ExactWords:
			case !cmd.Flags().Changed("ranking"):
				query.Ranking = memory.RankingComposite
			case query.Ranking == memory.RankingQuestion:
				return usage(cmd, "--exact-words is for the composite ranking; the question ranking takes words in all their forms")
			}
			if query.Ranking == memory.RankingComposite && cmd.Flags().Changed("window") {
				return usage(cmd, "--window is for the question ranking; leave it out, or --exact-words and --ranking")
			}
			return nil
		},
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
			r := recollection{app: a, query: &query, explain: explain}
			return r.print(found.Hits)
		}),
	}
	filterFlags(cmd.Flags(), &query.Filter)
	amountFlag(cmd.Flags(), &query.Limit, "limit", "n", math.MaxInt, "how many entries to print at most; 0 means all")
	cmd.Flags().Func("ranking", "`NAME` of the ranking: question (default) or composite", intoValue(&query.Ranking, memory.ParseRanking))
	amountFlag(cmd.Flags(), &query.Window, "window", "", memory.MaxWindow, "how many entries before and after lend an entry their words; 0 for none")
	cmd.Flags().BoolVar(&query.ExactWords, "exact-words", false, "compare whole words, by the composite ranking")
	cmd.Flags().BoolVar(&explain, "explain", false, "show which words matched and how the score came about")
	cmd.Flags().BoolVar(&query.NoReinforce, "no-reinforce", false, "leave the strength of what is recalled as it is")
	e.optionalFlags(cmd.Flags(), "also find what is said in other words, by embeddings")
	return cmd
}
