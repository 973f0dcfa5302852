package main

import (
	"context"
	"fmt"

	"github.com/loopmem/loopmem/memory"
)

// retrieving are the workloads of Retrieve. The access stamps that it leaves
// are written while it is measured.
func retrieving() []workload {
	var out []workload
	for _, kind := range kinds {
		out = append(out, workload{name: "retrieve/" + kind.name, on: onAll, measure: func(ctx context.Context, t *trial) (sample, error) {
			texts := kind.texts(&t.asked)
			var got []memory.Match
			return t.repeat(ctx, operation{
				do: func(i int) (err error) {
					got, err = t.subject.Retrieve(ctx, texts[i%len(texts)], limit)
					return err
				},
				check: func(i int) error {
					text := texts[i%len(texts)]
					want, err := t.truth.Retrieve(ctx, text, limit)
					if err != nil {
						return err
					}
					return sameMatches(fmt.Sprintf("retrieve %q", text), got, want)
				},
			})
		}})
	}
	return out
}

// recalling are the workloads of Recall without embeddings.
func recalling() []workload {
	var out []workload
	for _, exact := range []bool{true, false} {
		mode := "substrings"
		if exact {
			mode = "exact"
		}
		for _, kind := range kinds {
			out = append(out, asking("recall "+mode+"/"+kind.name, func(c *corpus) []memory.Query {
				return queries(kind.texts(&c.asked), memory.Query{ExactWords: exact})
			}))
		}
	}
	return append(out, asking("recall exact/agent filter", func(c *corpus) []memory.Query {
		agent := c.entries[len(c.entries)/2].Agent
		return queries(c.asked.tenth, memory.Query{ExactWords: true, Filter: memory.Filter{Agent: &agent}})
	}))
}

// questioning are the workloads of Recall by the ranking for questions, of ten
// words each. The yardsticks take no part: they do not know it.
func questioning() []workload {
	tenWords := func(name string, ask func(*corpus) memory.Query) workload {
		w := asking("recall question/"+name, func(c *corpus) []memory.Query {
			q := ask(c)
			q.Ranking = memory.RankingQuestion
			return queries(c.asked.ten, q)
		})
		w.on = isStore
		return w
	}
	return []workload{
		tenWords("ten words", func(*corpus) memory.Query { return memory.Query{} }),
		tenWords("window 2", func(*corpus) memory.Query { return memory.Query{Window: 2} }),
		tenWords("agent filter", func(c *corpus) memory.Query {
			return memory.Query{Window: 2, Filter: memory.Filter{Agent: &c.entries[len(c.entries)/2].Agent}}
		}),
	}
}

func isStore(b *backend) bool { return !b.yardstick() }

// hybrid are the workloads of Recall with embeddings.
func hybrid() []workload {
	near := func(c *corpus, asked []memory.Query) []memory.Query {
		for i := range asked {
			asked[i].Embedding = c.entries[i%len(c.entries)].Embedding
		}
		return asked
	}
	question := asking("recall question/hybrid 384", func(c *corpus) []memory.Query {
		return near(c, queries(c.asked.ten, memory.Query{Ranking: memory.RankingQuestion, Window: 2}))
	})
	question.on = isStore
	return []workload{
		asking("recall exact/hybrid 384", func(c *corpus) []memory.Query {
			return near(c, queries(c.asked.tenth, memory.Query{ExactWords: true}))
		}),
		question,
	}
}

// queries are a query with each of the texts.
func queries(texts []string, q memory.Query) []memory.Query {
	out := make([]memory.Query, len(texts))
	for i, text := range texts {
		out[i] = q
		out[i].Text, out[i].Limit = text, limit
	}
	return out
}

// asking is a workload of Recall. Every answer strengthens what it returns,
// and thereby changes the next; the truth keeps up with that.
func asking(name string, ask func(*corpus) []memory.Query) workload {
	return workload{name: name, on: onAll, measure: func(ctx context.Context, t *trial) (sample, error) {
		asked := ask(&t.corpus)
		var got memory.Recollection
		return t.repeat(ctx, operation{
			do: func(i int) (err error) {
				got, err = t.subject.Recall(ctx, asked[i%len(asked)])
				return err
			},
			check: func(i int) error {
				q := asked[i%len(asked)]
				want, err := t.truth.rank(ctx, q)
				if err != nil {
					return err
				}
				return sameHits(fmt.Sprintf("%s %q", name, q.Text), got.Hits, want)
			},
			after: func(int) error {
				t.truth.touch(got.Hits, true)
				return nil
			},
		})
	}}
}
