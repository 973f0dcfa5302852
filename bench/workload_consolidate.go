package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// consolidating is one consolidation of a store that has never seen any.
func consolidating(kind string) []workload {
	return []workload{{
		name: "consolidate/" + kind,
		on:   func(b *backend) bool { return b.name != tunedScan && !b.answersOnly }, // there is one plain pass
		measure: func(ctx context.Context, t *trial) (sample, error) {
			if reason, err := t.tooSlow(ctx); reason != "" || err != nil {
				return sample{skipped: reason}, err
			}
			var stats memory.ConsolidationStats
			s, err := once(func() (err error) {
				stats, err = t.subject.Consolidate(ctx)
				return err
			})
			if err != nil {
				return s, err
			}
			if !t.yardstick() {
				s.checked, err = t.checkClusters(ctx, stats)
			}
			return s, err
		},
	}}
}

// waiting is how long the slowest of the writes of another handle takes while
// the store is consolidated. What they look for is not there, so that they
// change nothing.
func waiting() []workload {
	return []workload{{
		name: "slowest write while consolidating", on: isShared,
		measure: func(ctx context.Context, t *trial) (s sample, err error) {
			other, err := t.backend.open(ctx, t.folder)
			if err != nil {
				return s, err
			}
			defer func() { err = errors.Join(err, other.Close()) }()
			consolidated := make(chan error, 1)
			go func() {
				_, err := t.subject.Consolidate(ctx)
				consolidated <- err
			}()
			var slowest clock
			for {
				select {
				case err := <-consolidated:
					s.add(slowest, 1)
					return s, err
				default:
				}
				var c clock
				c.start()
				_, err := other.Forget(ctx, uuid.New())
				c.stop()
				if err != nil {
					return s, errors.Join(err, <-consolidated)
				}
				if c.took > slowest.took {
					slowest = c
				}
			}
		},
	}}
}

// once measures something that cannot be repeated.
func once(do func() error) (s sample, err error) {
	s.allocs, s.bytes, err = allocated(func() error {
		var c clock
		c.start()
		err := do()
		c.stop()
		s.add(c, 1)
		return err
	})
	return s, err
}

// tooSlow tells why a consolidation of many entries had better not be tried:
// a pass over a tenth of them takes so long that one over all, if it compares
// each with each, would try the patience. A pass cannot be stopped on the way.
func (t *trial) tooSlow(ctx context.Context) (reason string, err error) {
	const few = 20_000
	if len(t.entries) <= few {
		return "", nil
	}
	tenth := t.corpus
	tenth.entries = t.entries[:len(t.entries)/10]
	small, err := newTrial(ctx, t.options, tenth, t.backend)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, small.end()) }()
	if _, err := small.load(ctx); err != nil {
		return "", err
	}
	s, err := once(func() error {
		_, err := small.subject.Consolidate(ctx)
		return err
	})
	if quadratic := 100 * s.elapsed; quadratic > t.options.patience {
		return fmt.Sprintf("not tried: a tenth took %s", duration(int64(s.elapsed))), err
	}
	return "", err
}

// checkClusters checks that the pass has merged what the plain one merges. It
// puts a sample of the entries to the test: each must be in the cluster of
// the first entry before it that begins a cluster and is similar enough. If
// the sample is all of them, that proves the outcome, by induction.
func (t *trial) checkClusters(ctx context.Context, stats memory.ConsolidationStats) (checked int, err error) {
	cluster, err := t.clusters(ctx)
	if err != nil {
		return 0, err
	}
	type head struct {
		id    uuid.UUID
		words []string
	}
	n := len(t.entries)
	const comparisons = 10_000_000
	every := max(1, n/(comparisons/n+100))
	threshold := memory.DefaultConsolidation().MergeThreshold
	heads := make(map[memory.Category][]head)
	begun := make(map[uuid.UUID]uuid.UUID) // cluster → its first member
	merged := 0
	for i := range t.entries {
		e := &t.entries[i]
		first, member := begun[cluster[e.ID]]
		if !member {
			first = e.ID
			begun[cluster[e.ID]] = first
		} else {
			merged++
		}
		words := wordSet(e.Memory)
		if i%every == 0 {
			want := e.ID
			for _, h := range heads[e.Category] {
				if similarity(h.words, words) >= threshold {
					want = h.id
					break
				}
			}
			if first != want {
				return checked, &wrongError{"which entry begins the cluster of " + e.ID.String(), first.String(), want.String()}
			}
			checked++
		}
		if !member {
			heads[e.Category] = append(heads[e.Category], head{e.ID, words})
		}
	}
	if stats.EntriesBefore != n || stats.Merged != merged || stats.Pruned != 0 {
		return checked, &wrongError{"what consolidation did", fmt.Sprintf("%+v", stats), fmt.Sprintf("%d of %d merged, none pruned", merged, n)}
	}
	return checked, nil
}

// clusters maps every entry that was in the store to the one that is left of
// its cluster, as the store tells by the sources of each entry.
func (t *trial) clusters(ctx context.Context) (map[uuid.UUID]uuid.UUID, error) {
	cluster := make(map[uuid.UUID]uuid.UUID, len(t.entries))
	for e, err := range t.subject.Entries(ctx, memory.Selection{}) {
		if err != nil {
			return nil, err
		}
		cluster[e.ID] = e.ID
		for _, id := range e.SourceIDs {
			cluster[id] = e.ID
		}
	}
	if len(cluster) != len(t.entries) {
		return nil, &wrongError{"how many entries are left or merged", fmt.Sprint(len(cluster)), fmt.Sprint(len(t.entries))}
	}
	return cluster, nil
}
