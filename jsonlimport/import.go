package jsonlimport

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
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
	// before the first write to the store, in place of one left by a former
	// import. By default one malformed line means that nothing is stored.
	SkipMalformed bool
	// DryRun validates and counts, and writes nothing at all.
	DryRun bool

	// MaxLineBytes is the length of the longest line accepted, in bytes;
	// default 64 MiB. A longer one counts as malformed. An import needs a few
	// times the length of the longest line in memory.
	MaxLineBytes int
	// MaxErrors is how many malformed lines a [RefusedError] lists; default 20.
	MaxErrors int
	// BatchEntries and BatchBytes bound what is stored with one write, as the
	// others who use the store wait meanwhile; default 500 entries or 256 KiB
	// of lines, whichever comes first, which takes an SQLite store a small
	// part of half a second. One line is never split, unless it holds more
	// entries than that.
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
	o.BatchEntries = cmp.Or(max(o.BatchEntries, 0), 500)
	o.BatchBytes = cmp.Or(max(o.BatchBytes, 0), 256<<10)
	if o.Progress == nil {
		o.Progress = func(Progress) {}
	}
	return &o
}

// Progress tells how far an import has come.
type Progress struct {
	Phase Phase
	// Done of Total bytes of all inputs were read in this phase. Total is 0
	// while a stream is copied, as its length is not known.
	Done, Total int64
	// Entries were read in this phase.
	Entries int
}

// Phase is a part of an import; each reads everything once.
type Phase string

// The phases in their order.
const (
	Copying    Phase = "copying"    // streams, to temporary files
	Validating Phase = "validating" // nothing is written
	Storing    Phase = "storing"
)

// Store is what Import needs of a store; every [memory.Backend] has it.
type Store interface {
	memory.BatchWriter
	// Get is used to see which ids exist, before anything is written.
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
	started := time.Now()
	r := &run{
		store:  store,
		opts:   options.withDefaults(),
		report: Report{DryRun: options.DryRun, Files: []FileReport{}, Skipped: []*LineError{}, Warnings: []Warning{}},
		seed:   maphash.MakeSeed(),
		last:   make(map[uuid.UUID]int),
		now:    started,
	}
	err := r.run(ctx, inputs)
	r.report.Seconds = time.Since(started).Seconds()
	return r.report, err
}

// run is one import.
type run struct {
	store  Store
	opts   *Options
	report Report
	now    time.Time

	sources []*source
	total   int64             // bytes of all sources
	seed    maphash.Seed      // of the fingerprints
	last    map[uuid.UUID]int // number of the last entry with that id, from 1

	malformed RefusedError
	conflicts RefusedError
	rejected  []*rejectedFile // one for each source
}

func (r *run) run(ctx context.Context, inputs []Input) error {
	defer r.close()
	if err := r.validate(ctx, inputs); err != nil {
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			return fmt.Errorf("nothing was stored: %w", err)
		}
		return err
	}
	if r.opts.DryRun {
		return nil
	}
	for _, f := range r.rejected {
		if err := f.commit(); err != nil {
			return err
		}
	}
	return r.storeAll(ctx)
}

func (r *run) close() {
	for _, s := range r.sources {
		s.close()
	}
	for _, f := range r.rejected {
		f.discard()
	}
}

// validate is the first pass. It ends with an error unless everything may be
// stored.
func (r *run) validate(ctx context.Context, inputs []Input) error {
	for _, input := range inputs {
		s, err := newSource(ctx, input, r.opts.TempDir, func(done int64) {
			r.opts.Progress(Progress{Phase: Copying, Done: r.total + done})
		})
		if err != nil {
			return err
		}
		r.sources = append(r.sources, s)
		r.total += s.info.Size()
	}
	r.malformed.Err, r.conflicts.Err = memory.ErrInvalid, memory.ErrConflict
	progress := r.meter(Validating)
	for _, s := range r.sources {
		if err := r.validateSource(ctx, s, progress); err != nil {
			return err
		}
	}
	if r.malformed.Total > 0 {
		return &r.malformed
	}
	if r.conflicts.Total > 0 {
		return &r.conflicts
	}
	for _, s := range r.sources {
		if err := s.unchanged(); err != nil {
			return fmt.Errorf("nothing was stored: %w", err)
		}
	}
	return ctx.Err()
}

func (r *run) validateSource(ctx context.Context, s *source, progress *phaseMeter) error {
	before := r.report.Read
	rejected := &rejectedFile{path: s.rejected()}
	r.rejected = append(r.rejected, rejected)
	chunk := newChunk(r.opts, r.seed)
	format, notes, err := s.scan(ctx, r.opts, r.info(s), progress.read, func(it *item) error {
		switch {
		case it.torn:
			r.report.TornBytes += int64(len(it.line.raw))
			r.report.warn(s.Name, "the torn last line of %d bytes was dropped", len(it.line.raw))
		case it.fault != nil && r.opts.SkipMalformed:
			r.report.skip(it.fault)
			if !r.opts.DryRun {
				if err := rejected.add(it.line, it.rest); err != nil {
					return err
				}
			}
		case it.fault != nil:
			r.malformed.add(it.fault, r.opts.MaxErrors)
		}
		for i := range it.entries {
			if err := r.count(ctx, s, it.line, it.entries[i].ID); err != nil {
				return err
			}
		}
		if chunk.add(it) {
			s.sums = append(s.sums, chunk.cut())
			progress.entries(r.report.Read)
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.sums = append(s.sums, chunk.cut())
	progress.next(s, r.report.Read)
	file := FileReport{File: s.Name, Entries: r.report.Read - before, Bytes: s.info.Size()}
	if format != nil {
		file.Format = format.Name()
	}
	if rejected.out != nil {
		file.Rejected = rejected.path
	}
	r.report.Files = append(r.report.Files, file)
	for _, note := range notes {
		r.report.warn(s.Name, "%s", note)
	}
	return nil
}

// count counts a valid entry and looks whether its id exists where that
// matters before the first write.
func (r *run) count(ctx context.Context, s *source, l *line, id uuid.UUID) error {
	r.report.Read++
	_, repeated := r.last[id]
	r.last[id] = r.report.Read
	if repeated {
		r.report.Repeated++
		return nil
	}
	if !r.opts.DryRun && r.opts.OnConflict != memory.Fail {
		return nil
	}
	_, err := r.store.Get(ctx, id)
	exists := err == nil
	switch {
	case err != nil && !errors.Is(err, memory.ErrNotFound):
		return fmt.Errorf("nothing was stored: %w", err)
	case exists && r.opts.OnConflict == memory.Fail:
		r.conflicts.add(&LineError{
			File: s.Name, Line: l.number, Field: "id",
			Reason: fmt.Sprintf("%s is in the store already", id),
		}, r.opts.MaxErrors)
	case exists && r.opts.OnConflict == memory.Keep:
		r.report.Existing++
	case exists:
		r.report.Replaced++
	default:
		r.report.Imported++
	}
	return nil
}

// storeAll is the second pass.
func (r *run) storeAll(ctx context.Context) error {
	// What fails on the way to the first write leaves the store as it was;
	// partial tells how things stand after that.
	partial := func(err error) error {
		stored := r.report.Imported + r.report.Existing + r.report.Replaced
		if stored == 0 {
			return fmt.Errorf("nothing was stored: %w", err)
		}
		return &PartialError{Stored: stored, Total: len(r.last), Err: err, Exist: r.opts.OnConflict == memory.Fail}
	}
	progress := r.meter(Storing)
	number := 0
	for _, s := range r.sources {
		if err := r.storeSource(ctx, s, &number, progress); err != nil {
			return partial(err)
		}
	}
	return nil
}

func (r *run) storeSource(ctx context.Context, s *source, number *int, progress *phaseMeter) error {
	chunk := newChunk(r.opts, r.seed)
	var batch []memory.Entry
	var chunks int
	flush := func() error {
		if chunks == len(s.sums) || chunk.cut() != s.sums[chunks] {
			return s.changed()
		}
		chunks++
		for part := range slices.Chunk(batch, r.opts.BatchEntries) {
			result, err := r.store.StoreBatch(ctx, part, r.opts.OnConflict)
			if err != nil {
				return err
			}
			r.report.Imported += result.Stored
			r.report.Existing += result.Kept
			r.report.Replaced += result.Replaced
		}
		clear(batch) // a long text need not outlive its batch
		batch = batch[:0]
		progress.entries(*number)
		return nil
	}
	_, _, err := s.scan(ctx, r.opts, r.info(s), progress.read, func(it *item) error {
		for i := range it.entries {
			*number++
			if r.last[it.entries[i].ID] == *number {
				batch = append(batch, it.entries[i])
			}
		}
		if chunk.add(it) {
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	if chunks != len(s.sums) {
		return s.changed()
	}
	progress.next(s, *number)
	return nil
}

func (r *run) info(s *source) FileInfo { return FileInfo{ModTime: s.modTime(r.now)} }

// phaseMeter adds up the progress of one phase over all sources.
type phaseMeter struct {
	report func(Progress)
	now    Progress
	base   int64 // bytes of the sources that are done
}

func (r *run) meter(phase Phase) *phaseMeter {
	m := &phaseMeter{report: r.opts.Progress, now: Progress{Phase: phase, Total: r.total}}
	m.report(m.now)
	return m
}

func (m *phaseMeter) read(done int64) {
	m.now.Done = m.base + done
	m.report(m.now)
}

func (m *phaseMeter) entries(n int) {
	m.now.Entries = n
	m.report(m.now)
}

func (m *phaseMeter) next(s *source, entries int) {
	m.base += s.info.Size()
	m.now.Done = m.base
	m.entries(entries)
}
