package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

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
		most:  len(more),
		do:    func(i int) error { return t.subject.Store(ctx, more[i]) },
		check: func(i int) error { return t.has(ctx, &more[i]) },
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
		for e, err := range t.truth.Entries(ctx, memory.Selection{}) {
			if err != nil {
				return err
			}
			if err := t.subject.Store(ctx, e); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(t.close(), t.open(ctx, memory.WithCapacity(capacity)))
}

// has checks that an entry is in the store as it was stored.
func (t *trial) has(ctx context.Context, e *memory.Entry) error {
	return t.sameEntry(ctx, e.ID, string(e.AppendJSON(nil)))
}

// gone checks that an entry is not in the store.
func (t *trial) gone(ctx context.Context, e *memory.Entry) error {
	return t.sameEntry(ctx, e.ID, notFound)
}

const notFound = "not found"

// sameEntry compares what the store has under an id with what it should have.
func (t *trial) sameEntry(ctx context.Context, id uuid.UUID, want string) error {
	record, err := t.subject.Get(ctx, id)
	got := notFound
	if err == nil {
		got = string(record.Entry.AppendJSON(nil))
	} else if !errors.Is(err, memory.ErrNotFound) {
		return err
	}
	if got != want {
		return &wrongError{"get " + id.String(), got, want}
	}
	return nil
}
