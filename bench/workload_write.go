package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/loopmem/loopmem/memory"
)

// writing are the workloads that change the store one entry at a time. They
// are few enough operations not to change its size by more than a tenth.
func writing() []workload {
	return []workload{
		{name: "store", measure: storing},
		{name: "forget", measure: forgetting},
		{name: "store at capacity", measure: storingAtCapacity},
	}
}

// storing stores new entries and reads each of them again.
func storing(ctx context.Context, t *trial) (sample, error) {
	more := t.more[:len(t.more)/2]
	return t.repeat(ctx, operation{
		most: len(more),
		do:   func(i int) error { return t.subject.Store(ctx, more[i]) },
		check: func(i int) error {
			got, err := t.subject.Get(ctx, more[i].ID)
			if err != nil {
				return err
			}
			return sameEntry("get what was just stored", &got.Entry, &more[i])
		},
		after: func(i int) error { return t.truth.Store(ctx, more[i]) },
	})
}

// forgetting forgets entries from all over the store.
func forgetting(ctx context.Context, t *trial) (sample, error) {
	most := len(t.more) / 2
	victim := func(i int) *memory.Entry { return &t.entries[i*len(t.entries)/most] }
	return t.repeat(ctx, operation{
		most: most,
		do: func(i int) error {
			found, err := t.subject.Forget(ctx, victim(i).ID)
			if err == nil && !found {
				err = &wrongError{"forget an entry that is there", "nothing found", "found"}
			}
			return err
		},
		check: func(i int) error { return t.gone(ctx, victim(i)) },
		after: func(i int) error {
			_, err := t.truth.Forget(ctx, victim(i).ID)
			return err
		},
	})
}

// storingAtCapacity stores new entries where each takes the place of the
// weakest one.
func storingAtCapacity(ctx context.Context, t *trial) (sample, error) {
	capacity := len(t.truth.records)
	if err := t.full(ctx, capacity); err != nil {
		return sample{}, err
	}
	t.truth.capacity = capacity
	more := t.more[len(t.more)/2:]
	s, err := t.repeat(ctx, operation{
		most: len(more),
		do:   func(i int) error { return t.subject.Store(ctx, more[i]) },
		check: func(i int) error {
			if err := t.gone(ctx, &t.truth.weakest().entry); err != nil {
				return err
			}
			n, err := t.subject.Len(ctx)
			if err == nil && n != capacity {
				err = &wrongError{"how many entries are in a full store", fmt.Sprint(n), fmt.Sprint(capacity)}
			}
			return err
		},
		after: func(i int) error { return t.truth.Store(ctx, more[i]) },
	})
	t.truth.capacity = 0
	return s, errors.Join(err, t.close()) // the next one opens it without a bound
}

// full opens the store anew, so that it is full as it stands. One that has no
// file gets its entries again.
func (t *trial) full(ctx context.Context, capacity int) error {
	if t.file == "" {
		t.subject = nil
		if err := t.open(ctx, memory.WithCapacity(capacity)); err != nil {
			return err
		}
		for e := range t.truth.Entries(ctx, memory.Selection{}) {
			if err := t.subject.Store(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(t.close(), t.open(ctx, memory.WithCapacity(capacity)))
}

// gone checks that an entry is not in the store.
func (t *trial) gone(ctx context.Context, e *memory.Entry) error {
	_, err := t.subject.Get(ctx, e.ID)
	if errors.Is(err, memory.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return &wrongError{"get an entry that has gone", string(e.AppendJSON(nil)), "not found"}
}

// sameEntry compares two entries in every field.
func sameEntry(question string, got, want *memory.Entry) error {
	if g, w := string(got.AppendJSON(nil)), string(want.AppendJSON(nil)); g != w {
		return &wrongError{question, g, w}
	}
	return nil
}
