package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/loopmem/loopmem/memory"
)

// together are the workloads of several processes on one store. They come
// last, as they leave more entries than they find.
func together() []workload {
	var out []workload
	for _, processes := range []int{1, 2, 4, 8} {
		out = append(out, workload{
			name: fmt.Sprintf("mixed by %d", processes), on: isShared, closed: true,
			measure: working(processes, 20),
		})
	}
	for _, processes := range []int{1, 8} {
		out = append(out, workload{
			name: fmt.Sprintf("writers by %d", processes), on: isShared, closed: true,
			measure: working(processes, 100),
		})
	}
	return out
}

// working lets processes work in the store for a while, and looks afterwards
// for every entry that one of them was told is stored. That many percent of
// what they do is to store, the rest to retrieve.
func working(processes, storePercent int) func(context.Context, *trial) (sample, error) {
	return func(ctx context.Context, t *trial) (s sample, err error) {
		reports, err := employ(ctx, processes, task{
			Database: t.path(), For: 5 * t.options.budget, StorePercent: storePercent, Queries: t.asked.tenth,
		})
		if err != nil {
			return s, err
		}
		if err := t.open(ctx); err != nil {
			return s, err
		}
		defer func() { err = errors.Join(err, t.close()) }()
		for _, r := range reports {
			s.took = append(s.took, r.Took...)
			s.elapsed = max(s.elapsed, r.Elapsed)
			s.checked += len(r.Took)
			for _, id := range r.Stored {
				if _, err := t.subject.Get(ctx, id); errors.Is(err, memory.ErrNotFound) {
					return s, &wrongError{"get " + id.String() + ", which was acknowledged", "not found", "the entry"}
				} else if err != nil {
					return s, err
				}
			}
		}
		return s, nil
	}
}
