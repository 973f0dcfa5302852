package sqlitestore

import (
	"strings"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// queryPlan returns SQLite's plan for a statement.
func queryPlan(t *testing.T, s *Store, query string, args ...any) string {
	t.Helper()
	var steps []string
	err := s.view(t.Context(), func(tx *tx) error {
		return tx.each(func(rows *sqlx.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			steps = append(steps, detail)
			return err
		}, "EXPLAIN QUERY PLAN "+query, args...)
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(steps, "\n")
}

// TestPlans makes sure that the statements on the way to an answer are
// look-ups in an index and never scans of a table.
func TestPlans(t *testing.T) {
	s := openFixture(t)
	var statements []string // that a recall in exact mode runs, in the end
	s.fault.set(func(query string) error {
		statements = append(statements, query)
		return nil
	})
	for _, query := range []memory.Query{
		{Text: "vault, deploy", ExactWords: true},
		{Text: "vault", ExactWords: true, Filter: memory.Filter{AgentPrefix: "a", Category: memory.Fact, MinStrength: new(0.1)}},
		{Text: "eploy"},
		{Text: "vault", ExactWords: true, Filter: memory.Filter{Agent: new("")}},
		{Text: "vault deploy", Ranking: memory.RankingQuestion, Window: 2, Limit: 3},
		{Text: "vault", Ranking: memory.RankingQuestion, Filter: memory.Filter{Tags: []string{"ops"}, MaxConfidentiality: new(memory.Internal)}, Limit: 3},
	} {
		if _, err := s.Recall(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	s.fault.set(nil)
	if len(statements) == 0 {
		t.Fatal("no statement was seen")
	}
	for _, statement := range statements {
		if !strings.Contains(statement, "SELECT") {
			continue
		}
		args := make([]any, strings.Count(statement, "?"))
		for i := range args {
			args[i] = "x"
		}
		plan := queryPlan(t, s, statement, args...)
		for step := range strings.SplitSeq(plan, "\n") {
			scan := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "VIRTUAL TABLE INDEX") && !strings.Contains(step, "CONSTANT")
			if scan && !strings.Contains(step, "json_each") {
				t.Errorf("%q scans:\n%s", statement, plan)
			}
			if strings.Contains(step, "TEMP B-TREE") && strings.Contains(statement, "created_at") {
				t.Errorf("%q sorts the times:\n%s", statement, plan)
			}
		}
	}
}

// TestPlansOfFilters makes sure that a filter alone uses the index that fits.
func TestPlansOfFilters(t *testing.T) {
	s := openFixture(t)
	now := time.Now()
	for name, test := range map[string]struct {
		filter memory.Filter
		index  string
	}{
		"agent":        {memory.Filter{Agent: new("a")}, "entry_by_agent"},
		"agent prefix": {memory.Filter{AgentPrefix: "a"}, "entry_by_agent"},
		"category":     {memory.Filter{Category: memory.Fact}, "entry_by_category"},
	} {
		t.Run(name, func(t *testing.T) {
			c := passing(&test.filter, now)
			if plan := queryPlan(t, s, selectRows+c.sql(), c.args...); !strings.Contains(plan, test.index) {
				t.Errorf("the plan does not use %s:\n%s", test.index, plan)
			}
		})
	}
	t.Run("relevance", func(t *testing.T) {
		plan := queryPlan(t, s, `
			SELECT s.row_id FROM entry_state AS s CROSS JOIN entry AS e USING (row_id)
			WHERE e.confidentiality < 3`+mostRelevantFirst)
		if !strings.Contains(plan, "entry_state_by_relevance") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the walk by relevance is a sort:\n%s", plan)
		}
	})
	t.Run("fade", func(t *testing.T) {
		c := fadingAfter(fading{})
		plan := queryPlan(t, s, selectFading+c.sql()+inOrderOfFading, c.args...)
		if !strings.Contains(plan, "entry_state_by_fade") || strings.Contains(plan, "TEMP B-TREE") {
			t.Errorf("the walk by fading is a sort:\n%s", plan)
		}
	})
	t.Run("not fading yet", func(t *testing.T) {
		err := s.write(t.Context(), func(w *writeTx) error {
			c, err := w.unfading()
			if plan := queryPlan(t, s, selectFading+c.sql(), c.args...); !strings.Contains(plan, "entry_state_ahead") {
				t.Errorf("rows are looked for one by one:\n%s", plan)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("prune", func(t *testing.T) {
		err := s.write(t.Context(), func(w *writeTx) error {
			c, err := w.prunable(&memory.PruneRule{MinStrength: 0.1})
			if plan := queryPlan(t, s, selectRows+c.sql(), c.args...); !strings.Contains(plan, "MULTI-INDEX OR") {
				t.Errorf("rows are looked for one by one:\n%s", plan)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
}
