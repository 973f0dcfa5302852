package jsonlimport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Options set up an import. The zero Options are the careful ones.
type Options struct {
	// Format is the form of all inputs; nil means that each is recognized by
	// its first line that tells.
	Format Format
	// OnConflict says what becomes of an entry whose id is in the store
	// already. The default keeps the stored one, so that importing again
	// changes nothing and newer local state is not taken back. With
	// [memory.Fail] such an id refuses the whole import.
	OnConflict memory.OnConflict
	// SkipMalformed stores the good lines and writes the others, unchanged,
	// to the rejected file of their input. It appears with mode 0600 just
	// before the first write to the store, and replaces none: if there is one
	// with other lines, it gets the next free name ([FileReport] has it). By
	// default one malformed line means that nothing is stored.
	SkipMalformed bool
	// Admit, if set, is asked about each entry before anything is written, and
	// refuses, best with a [memory.FieldError], what the store would refuse:
	// in the midst of storing that would come too late and without the line.
	// It may complete the entry, as [memory.Scope.Admit] does.
	Admit func(*memory.Entry) error
	// DryRun validates and counts, and writes nothing at all.
	DryRun bool

	// MaxLineBytes is the length of the longest line accepted, in bytes;
	// default 64 MiB. A longer one counts as malformed. An import needs a few
	// times the length of the longest line in memory.
	MaxLineBytes int
	// MaxErrors is how many malformed lines a [RefusedError] lists; default 20.
	MaxErrors int
	// BatchEntries and BatchBytes bound what is stored with one write, as the
	// others who write to the store wait meanwhile; default 250 entries or
	// 128 KiB of lines, whichever comes first. Where that takes longer than
	// 0.2 s, as it may on a slow machine, the next writes are smaller. A
	// longer line is stored whole, with what came before it; a line that holds
	// more entries is split.
	BatchEntries int
	BatchBytes   int
	// TempDir is where streams are copied to; default [os.TempDir].
	TempDir string
	// Progress, if set, is called every now and then from the goroutine that
	// reads, and must return soon.
	Progress func(Progress)
}

func (o Options) withDefaults() *Options {
	o.MaxLineBytes = cmp.Or(max(o.MaxLineBytes, 0), 64<<20)
	o.MaxErrors = cmp.Or(max(o.MaxErrors, 0), 20)
	o.BatchEntries = cmp.Or(max(o.BatchEntries, 0), 250)
	o.BatchBytes = cmp.Or(max(o.BatchBytes, 0), 128<<10)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	if o.Admit == nil {
		o.Admit = func(*memory.Entry) error { return nil }
	}
	return &o
}

// Store is what Import needs of a store; every [memory.Backend] has it.
type Store interface {
	memory.BatchWriter
	// Get is used to see which ids exist, before anything is written, and
	// whether entries that are kept differ.
	Get(ctx context.Context, id uuid.UUID) (memory.Record, error)
}

// Import reads all inputs and stores their entries, in the order of the
// inputs and their lines. Where an id comes more than once, its last entry
// counts.
//
// Nothing is stored if an input cannot be read ([FileError]), a line is
// malformed or an id in conflict ([RefusedError]), an input changes before
// the first write ([ErrSourceChanged]), or the context ends until then. If
// it fails or the context ends later, the error is a [PartialError]: whole
// batches are stored, and importing again completes it. The report tells
// how far it came in any case.
//
// Any number of imports may run into one store at the same time.
func Import(ctx context.Context, store Store, inputs []Input, options Options) (Report, error) {
	r := newRun(options)
	defer r.close()
	r.lookup = store.Get
	err := r.validate(ctx, inputs)
	if err == nil && !options.DryRun {
		err = r.store(ctx, store)
	}
	r.report.summarize()
	r.report.Seconds = time.Since(r.started).Seconds()
	return r.report, err
}

// store is the second pass of an import.
func (r *run) store(ctx context.Context, store Store) error {
	for i, f := range r.rejected {
		var err error
		if r.report.Files[i].Rejected, err = f.commit(); err != nil {
			return err
		}
	}
	pace := newPace(r.opts.BatchEntries)
	err := r.again(ctx, Storing, func(batch []found) error {
		for len(batch) > 0 {
			part := batch[:min(pace.entries, len(batch))]
			batch = batch[len(part):]
			begun := time.Now()
			switch err := r.storePart(ctx, store, part); {
			case err != nil && ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return fmt.Errorf("%s, line %d and what follows: %w", part[0].source.Name, part[0].line, err)
			}
			pace.took(len(part), time.Since(begun))
		}
		return nil
	})
	stored := r.report.Imported + r.report.Existing + r.report.Replaced
	switch {
	case err == nil:
		return nil
	case stored == 0:
		return nothingStored(err)
	default:
		return &PartialError{Stored: stored, Total: len(r.seen), Err: err, Exist: r.opts.OnConflict == memory.Fail}
	}
}

// storePart stores some entries with one write.
func (r *run) storePart(ctx context.Context, store Store, part []found) error {
	entries := make([]memory.Entry, len(part))
	for i := range part {
		entries[i] = part[i].entry
	}
	result, err := store.StoreBatch(ctx, entries, r.opts.OnConflict)
	if err != nil {
		return err
	}
	r.report.Imported += result.Stored
	r.report.Existing += result.Kept
	r.report.Replaced += result.Replaced
	if result.Kept == 0 {
		return nil
	}
	for i := range part {
		record, err := store.Get(ctx, part[i].entry.ID)
		if errors.Is(err, memory.ErrNotFound) {
			r.report.outOfSight(&part[i])
			continue
		}
		if err != nil {
			return err
		}
		r.report.compare(&part[i], &record.Entry)
	}
	return nil
}
