package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize"
)

// measure makes all measurements that were asked for: of each corpus with
// each number of entries, each stage on each backend.
func (s *settings) measure(ctx context.Context, r *results) error {
	for _, name := range s.corpora {
		for _, n := range s.ns {
			c, err := newCorpus(ctx, name, n, s.seed)
			if err != nil {
				return err
			}
			if err := s.measureCorpus(ctx, c, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// newCorpus loads a corpus of n entries, a few more to be stored later, and
// what it can be asked. A file gives what it has.
func newCorpus(ctx context.Context, name string, n int, seed uint64) (corpus, error) {
	const moreIn = 10 // for so many entries one more
	entries, err := loadCorpus(ctx, name, n+n/moreIn, seed)
	if err != nil {
		return corpus{}, err
	}
	n = min(n, len(entries)-len(entries)/(moreIn+1))
	c := corpus{name: name, entries: entries[:n], more: entries[n:]}
	if len(c.more) < 2 {
		return corpus{}, fmt.Errorf("%s has only %d entries, which is too few to tell anything", name, len(entries))
	}
	c.asked = newQuestions(c.entries)
	return c, nil
}

// measureCorpus takes each stage with each backend, and puts what belongs
// together side by side.
func (s *settings) measureCorpus(ctx context.Context, c corpus, r *results) error {
	var found []measurement
	var names []string
	for _, stage := range stages() {
		names = append(names, stage.names()...)
		if !slices.ContainsFunc(stage.names(), s.wants) {
			continue
		}
		adapted := c
		if stage.adapt != nil {
			var err error
			if adapted, err = stage.adapt(ctx, c, s.seed); err != nil {
				return err
			}
		}
		for _, b := range backends {
			if len(s.backends) > 0 && !slices.Contains(s.backends, b.name) {
				continue
			}
			err := s.measureStage(ctx, adapted, b, stage, func(workload string, sample sample) {
				m := newMeasurement(&c, workload, b.name, sample)
				found = append(found, m)
				s.progress("%s, %s: %s, %s: %s", c.name, humanize.Comma(int64(m.N)), m.Backend, m.Workload, outcome(&m))
			})
			if err != nil {
				return fmt.Errorf("%s with %d entries on %s: %w", c.name, len(c.entries), b.name, err)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b measurement) int {
		return cmp.Compare(slices.Index(names, a.Workload), slices.Index(names, b.Workload))
	})
	r.Results = append(r.Results, found...)
	return nil
}

// measureStage loads one store and has it go through the workloads, if there
// is any for it.
func (s *settings) measureStage(ctx context.Context, c corpus, b backend, stage stage, note func(string, sample)) (err error) {
	var workloads []workload
	for _, w := range stage.workloads {
		if s.wants(w.name) && w.isOn(&b) {
			workloads = append(workloads, w)
		}
	}
	noteImport := stage.noteImport && s.wants(importing) && !b.answersOnly
	if len(workloads) == 0 && !noteImport {
		return nil
	}
	t, err := newTrial(ctx, *s, c, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	loaded, err := t.load(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", importing, err)
	}
	if noteImport {
		note(importing, loaded)
	}
	for _, w := range workloads {
		if w.closed {
			err = t.close()
		} else {
			err = t.open(ctx)
		}
		if err != nil {
			return err
		}
		measured, err := w.measure(ctx, t)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		note(w.name, measured)
	}
	return nil
}

// outcome is a measurement in a word.
func outcome(m *measurement) string {
	if m.Skipped != "" {
		return m.Skipped
	}
	return duration(m.P50)
}
