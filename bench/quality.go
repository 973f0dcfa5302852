package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

// deepest is how many entries are asked for.
const deepest = 20

// approach is a way to put a question to a store.
type approach struct {
	name string
	ask  func(ctx context.Context, s subject, text string) ([]uuid.UUID, error)
	// embedded tells that entries and questions have embeddings.
	embedded bool
}

var approaches = []approach{
	{name: "retrieve", ask: func(ctx context.Context, s subject, text string) ([]uuid.UUID, error) {
		matches, err := s.Retrieve(ctx, text, deepest)
		ids := make([]uuid.UUID, len(matches))
		for i := range matches {
			ids[i] = matches[i].Entry.ID
		}
		return ids, err
	}},
	{name: "composite", ask: recallBy(memory.Query{})},
	{name: "composite exact words", ask: recallBy(memory.Query{ExactWords: true})},
	{name: "question", ask: recallBy(memory.Query{Ranking: memory.RankingQuestion})},
	{name: "question window 2", ask: recallBy(memory.Query{Ranking: memory.RankingQuestion, Window: 2})},
	{name: "question window 2 hashed vectors", ask: recallBy(memory.Query{Ranking: memory.RankingQuestion, Window: 2}), embedded: true},
}

func recallBy(query memory.Query) func(context.Context, subject, string) ([]uuid.UUID, error) {
	query.Limit = deepest
	return func(ctx context.Context, s subject, text string) ([]uuid.UUID, error) {
		query.Text = text
		found, err := s.Recall(ctx, query)
		ids := make([]uuid.UUID, len(found.Hits))
		for i := range found.Hits {
			ids[i] = found.Hits[i].Entry.ID
		}
		return ids, err
	}
}

// qualitySettings are what the flags say.
type qualitySettings struct {
	folder   string // of the conversations
	rankings []string
	stores   []string
	shuffle  bool
	after    time.Duration // of the last entry, or 0
	json     bool
	plot     string
}

func qualityCommand() *cobra.Command {
	var s qualitySettings
	cmd := &cobra.Command{
		Use:   "quality DIR",
		Short: "Measure how well questions are answered",
		Long: `Read conversations (*.memories.jsonl) and questions about them with the entries
that answer each (*.questions.jsonl), ask every question of a store that holds
its conversation and has not been asked before, and print how much of the
answer came back:

  recall@k  share of the entries that answer a question among the first k
  hit@10    share of the questions with any of them among the first 10
  MRR       mean of 1/rank of the first of them among the first 20, else 0

each averaged over the questions. They are asked now, when all that was said
long ago is faded alike, or with --after so long after the last entry.`,
		Example: `  go run ./bench quality "$LOOPMEM_LOCOMO_DIR"
  go run ./bench quality DIR --rankings question --stores memory,sqlite --json`,
		Args:          cobra.MaximumNArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			s.folder = os.Getenv("LOOPMEM_LOCOMO_DIR")
			if len(args) > 0 {
				s.folder = args[0]
			}
			if s.folder == "" {
				return errors.New("name a folder with *.memories.jsonl and *.questions.jsonl, or set LOOPMEM_LOCOMO_DIR")
			}
			return s.run(cmd)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&s.rankings, "rankings", nil, "only rankings with one of these `WORDS` in their name")
	flags.StringSliceVar(&s.stores, "stores", []string{"memory"}, "these stores, by `NAME`: memory, file, sqlite; their answers should not differ")
	flags.BoolVar(&s.shuffle, "shuffle", false, "put the entries of each conversation in random order first, times included: what a window then shows is unrelated")
	flags.DurationVar(&s.after, "after", 0, "ask so long after the last entry, by the clock of the stores, rather than now")
	flags.BoolVar(&s.json, "json", false, "print one JSON document in place of the table")
	flags.StringVar(&s.plot, "plot", filepath.Join("bench-report", "quality.svg"), "draw recall@10 by category into this `FILE`; empty for none")
	return cmd
}

func (s *qualitySettings) run(cmd *cobra.Command) error {
	conversations, err := readConversations(s.folder)
	if err != nil {
		return err
	}
	if s.shuffle {
		for i := range conversations {
			conversations[i].shuffle(uint64(i))
		}
	}
	for i := range conversations {
		conversations[i].askAt(s.after)
	}
	var q quality
	for _, name := range s.stores {
		at := slices.IndexFunc(backends, func(b backend) bool { return b.name == name && !b.yardstick() })
		if at < 0 {
			return fmt.Errorf("unknown store %q; use some of memory, file, sqlite", name)
		}
		for i := range approaches {
			if !s.wants(approaches[i].name) {
				continue
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", name, approaches[i].name)
			if err := q.measure(cmd.Context(), &approaches[i], &backends[at], conversations); err != nil {
				return fmt.Errorf("%s: %s: %w", name, approaches[i].name, err)
			}
		}
	}
	if s.plot != "" {
		if err := q.draw(s.plot); err != nil {
			return err
		}
	}
	if s.json {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		return encoder.Encode(&q)
	}
	return q.print(cmd.OutOrStdout())
}

func (s *qualitySettings) wants(ranking string) bool {
	return len(s.rankings) == 0 ||
		slices.ContainsFunc(s.rankings, func(part string) bool { return strings.Contains(ranking, part) })
}

// quality is all that was measured.
type quality struct {
	Questions int       `json:"questions"`
	Results   []*figure `json:"results"`
}

// figure is how well the questions of one category were answered, from 0 to 1.
type figure struct {
	Ranking   string  `json:"ranking"`
	Store     string  `json:"store"`
	Category  string  `json:"category"`
	Questions int     `json:"questions"`
	Recall5   float64 `json:"recall@5"`
	Recall10  float64 `json:"recall@10"`
	Recall20  float64 `json:"recall@20"`
	Hit10     float64 `json:"hit@10"`
	MRR       float64 `json:"mrr"`
}

// measure asks all questions and adds a figure for each category.
func (q *quality) measure(ctx context.Context, a *approach, b *backend, conversations []conversation) error {
	figures := make([]*figure, len(questionKinds))
	for i, category := range questionKinds {
		figures[i] = &figure{Ranking: a.name, Store: b.name, Category: category}
	}
	for i := range conversations {
		c := &conversations[i]
		err := c.askAll(ctx, a, b, func(question *labelled, ids []uuid.UUID) {
			figures[0].add(ids, question.Evidence)
			figures[question.Category].add(ids, question.Evidence)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	for _, f := range figures {
		if f.Questions > 0 {
			f.average()
			q.Results = append(q.Results, f)
		}
	}
	q.Questions = figures[0].Questions
	return nil
}

// add counts one answer.
func (f *figure) add(ids, evidence []uuid.UUID) {
	f.Questions++
	found := func(k int) float64 {
		n := 0
		for _, id := range ids[:min(k, len(ids))] {
			if slices.Contains(evidence, id) {
				n++
			}
		}
		return float64(n) / float64(len(evidence))
	}
	f.Recall5 += found(5)
	f.Recall10 += found(10)
	f.Recall20 += found(20)
	if found(10) > 0 {
		f.Hit10++
	}
	first := slices.IndexFunc(ids, func(id uuid.UUID) bool { return slices.Contains(evidence, id) })
	if first >= 0 {
		f.MRR += 1 / float64(first+1)
	}
}

// average turns sums into means.
func (f *figure) average() {
	for _, sum := range []*float64{&f.Recall5, &f.Recall10, &f.Recall20, &f.Hit10, &f.MRR} {
		*sum /= float64(f.Questions)
	}
}
