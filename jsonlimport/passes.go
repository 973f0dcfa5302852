package jsonlimport

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// run reads some inputs twice: validate proves that all of it is good, again
// hands out the entries. What happens to them is up to [Import] and [Verify].
type run struct {
	opts    *Options
	report  Report
	started time.Time
	// lookup, if set, tells validate which ids exist in the store.
	lookup func(context.Context, uuid.UUID) (memory.Record, error)

	sources []*source
	total   int64             // bytes of all sources
	seed    maphash.Seed      // of the fingerprints
	last    map[uuid.UUID]int // number of the last entry with that id, from 1

	malformed RefusedError
	conflicts RefusedError
	rejected  []*rejectedFile // one for each source
}

// found is an entry and where it stands.
type found struct {
	entry  memory.Entry
	source *source
	line   int
	format Format
}

func newRun(options Options) *run {
	return &run{
		opts:      options.withDefaults(),
		report:    Report{DryRun: options.DryRun, Files: []FileReport{}, Skipped: []*LineError{}, Warnings: []Warning{}},
		started:   time.Now(),
		seed:      maphash.MakeSeed(),
		last:      make(map[uuid.UUID]int),
		malformed: RefusedError{Err: memory.ErrInvalid},
		conflicts: RefusedError{Err: memory.ErrConflict},
	}
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
	err := r.validateAll(ctx, inputs)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("nothing was stored: %w", err)
	}
	return err
}

func (r *run) validateAll(ctx context.Context, inputs []Input) error {
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
	progress := r.meter(Validating)
	for _, s := range r.sources {
		if err := r.validateSource(ctx, s, progress); err != nil {
			return err
		}
	}
	switch {
	case r.malformed.Total > 0:
		return &r.malformed
	case r.conflicts.Total > 0:
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
			if r.opts.DryRun {
				break
			}
			if rejected.out == nil {
				if err := r.sparesSources(rejected.path); err != nil {
					return err
				}
			}
			if err := rejected.add(it.line, it.rest); err != nil {
				return err
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

// sparesSources fails if a file of rejected lines would take the place of an
// input, as can happen where a pattern matches what a former import left.
func (r *run) sparesSources(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // there is no such file, or creating it will tell
	}
	for _, s := range r.sources {
		if s.spool == nil && os.SameFile(info, s.info) {
			return fileError(path, memory.ErrInvalid, "is an input, and skipped lines of another would replace it; move it elsewhere")
		}
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
	if r.lookup == nil {
		return nil
	}
	_, err := r.lookup(ctx, id)
	exists := err == nil
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return fmt.Errorf("nothing was stored: %w", err)
	}
	if exists && r.opts.OnConflict == memory.Fail {
		r.conflicts.add(&LineError{
			File: s.Name, Line: l.number, Field: "id",
			Reason: fmt.Sprintf("%s is in the store already", id),
		}, r.opts.MaxErrors)
	}
	if !r.opts.DryRun {
		return nil // the store itself will count
	}
	switch {
	case !exists:
		r.report.Imported++
	case r.opts.OnConflict == memory.Replace:
		r.report.Replaced++
	default:
		r.report.Existing++
	}
	return nil
}

// again is the second pass. It calls put with the entries of each chunk that
// count, after proving that they are those which were validated.
func (r *run) again(ctx context.Context, phase Phase, put func([]found) error) error {
	progress := r.meter(phase)
	number := 0
	for _, s := range r.sources {
		if err := r.readAgain(ctx, s, &number, progress, put); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) readAgain(ctx context.Context, s *source, number *int, progress *phaseMeter, put func([]found) error) error {
	chunk := newChunk(r.opts, r.seed)
	var batch []found
	var chunks int
	flush := func() error {
		// The last sum is of a chunk that is not full, often of an empty one,
		// so a source that has grown or shrunk differs in it at the latest.
		if chunk.cut() != s.sums[chunks] {
			return s.changed()
		}
		chunks++
		if err := put(batch); err != nil {
			return err
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
				batch = append(batch, found{entry: it.entries[i], source: s, line: it.line.number, format: it.format})
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
	progress.next(s, *number)
	return nil
}

func (r *run) info(s *source) FileInfo { return FileInfo{ModTime: s.modTime(r.started)} }
