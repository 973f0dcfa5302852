package sqlitestore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// Retrieve implements [memory.LoopMemory]. The access stamps are written
// shortly after the answer, in one write for all that come together.
func (s *Store) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: limit is %d; it must not be negative", memory.ErrInvalid, limit)
	}
	type result struct {
		memory.Match
		rowID int64
	}
	q := memory.NewRetrieveQuery(query)
	var results []result
	visible := within(s.scope)
	if !s.settings.Restricted {
		visible = visible.and(where("e.confidentiality < ?", int(memory.Restricted)))
	}
	err := s.view(ctx, func(t *tx) error {
		return t.eachRow(func(r row) error {
			results = append(results, result{q.Match(&r.entry), r.rowID})
			return nil
		}, visible, inOrder)
	})
	if err != nil {
		return nil, fmt.Errorf("retrieve: %w", err)
	}
	slices.SortStableFunc(results, func(a, b result) int { return cmp.Compare(b.Score, a.Score) })
	results = results[:min(limit, len(results))]
	now := s.settings.Now().UTC().Round(0)
	stamps := make(map[int64]time.Time)
	matches := make([]memory.Match, len(results))
	for i, r := range results {
		matches[i] = r.Match
		if r.Matched {
			stamps[r.rowID] = now
		}
	}
	s.putOff(backlog{stamps: stamps})
	return matches, nil
}
