package jsonlimport

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
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
	total   int64        // bytes of all sources
	seed    maphash.Seed // of the fingerprints
	number  int          // of the entry that was validated last
	seen    map[uuid.UUID]sighting
	line    []byte // of content, reused

	malformed RefusedError
	conflicts RefusedError
	rejected  []*rejectedFile // one for each source
}

// found is an entry and where it stands.
type found struct {
	entry   memory.Entry
	source  *source
	line    int
	format  Format
	ignored []FieldDifference // fields of the line that the form does not know
}

func newRun(options Options) *run {
	return &run{
		opts:      options.withDefaults(),
		report:    Report{DryRun: options.DryRun, Files: []FileReport{}, Skipped: []*LineError{}, Warnings: []Warning{}},
		started:   time.Now(),
		seed:      maphash.MakeSeed(),
		seen:      make(map[uuid.UUID]sighting),
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
		return nothingStored(err)
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
			return nothingStored(err)
		}
	}
	return ctx.Err()
}

func (r *run) validateSource(ctx context.Context, s *source, progress *phaseMeter) error {
	before := r.report.Read
	v := &validation{run: r, source: s, rejected: &rejectedFile{path: s.rejected()}}
	r.rejected = append(r.rejected, v.rejected)
	chunk := newChunk(r.opts, r.seed)
	format, notes, err := s.scan(ctx, r.opts, r.info(s), progress.read, func(it *item) error {
		if err := v.visit(ctx, it); err != nil {
			return err
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
	r.report.Files = append(r.report.Files, file)
	for _, note := range append(v.ignored.notes(), notes...) {
		r.report.warn(s.Name, "%s", note)
	}
	return nil
}

// validation is the first pass over one source.
type validation struct {
	*run
	source   *source
	rejected *rejectedFile
	ignored  ignoredFields
}

// visit counts the entries of a line, or what is wrong with it.
func (v *validation) visit(ctx context.Context, it *item) error {
	if it.torn {
		v.report.TornBytes += int64(len(it.line.raw))
		v.report.warn(v.source.Name, "the torn last line of %d bytes was dropped", len(it.line.raw))
		return nil
	}
	if it.fault == nil {
		it.fault = v.collision(it)
	}
	if it.fault != nil {
		v.number += len(it.entries) // the second pass counts them too
		return v.refuse(it)
	}
	v.ignored.add(it)
	for i := range it.entries {
		v.number++
		f := found{entry: it.entries[i], source: v.source, line: it.line.number, format: it.format}
		if err := v.count(ctx, &f); err != nil {
			return err
		}
	}
	return nil
}

// refuse deals with a malformed line.
func (v *validation) refuse(it *item) error {
	switch {
	case !v.opts.SkipMalformed:
		v.malformed.add(it.fault, v.opts.MaxErrors)
		return nil
	case v.opts.DryRun:
		v.report.skip(it.fault)
		return nil
	default:
		v.report.skip(it.fault)
		return v.rejected.add(it.line, it.rest)
	}
}

// collision is the fault of a line with an id that someone else has given to
// another entry, or nil.
func (v *validation) collision(it *item) *LineError {
	form, ok := it.format.(owned)
	if !ok {
		return nil
	}
	for i := range it.entries {
		owner, id := form.owner(&it.entries[i])
		last := v.seen[it.entries[i].ID]
		if id == "" || last.owner == 0 || last.owner == v.ownerOf(it.format, &it.entries[i]) {
			continue
		}
		return &LineError{File: v.source.Name, Line: it.line.number, Field: "id", Reason: fmt.Sprintf(
			"%q of %q is also the id of an entry of another one, in %s:%d; if each has ids of its own, choose the format %s",
			shorten(id), shorten(owner), last.source.Name, last.line, form.ownIDs().Name())}
	}
	return nil
}

// sighting is what a run remembers of the last entry with an id.
type sighting struct {
	number  int    // of the entry, from 1
	content uint64 // fingerprint of what it says
	owner   uint64 // fingerprint of whose it is; 0 if its id is unique anyway
	source  *source
	line    int
}

// ownerOf returns the fingerprint for a sighting.
func (r *run) ownerOf(format Format, e *memory.Entry) uint64 {
	form, ok := format.(owned)
	if !ok {
		return 0
	}
	owner, id := form.owner(e)
	if id == "" {
		return 0
	}
	return max(1, maphash.String(r.seed, owner))
}

// content returns a fingerprint of what an entry says.
func (r *run) content(f *found) uint64 {
	e := withoutUse(f.format.Project(f.entry))
	r.line = e.AppendJSON(r.line[:0])
	return maphash.Bytes(r.seed, r.line)
}

// count counts a valid entry and looks whether its id exists where that
// matters before the first write.
func (r *run) count(ctx context.Context, f *found) error {
	id := f.entry.ID
	r.report.Read++
	last, repeated := r.seen[id]
	now := sighting{r.number, r.content(f), r.ownerOf(f.format, &f.entry), f.source, f.line}
	r.seen[id] = now
	if repeated {
		r.report.Repeated++
		if last.content != now.content {
			r.report.supersede(&last, &now, id)
		}
		return nil
	}
	if r.lookup == nil {
		return nil
	}
	record, err := r.lookup(ctx, id)
	exists := err == nil
	if err != nil && !errors.Is(err, memory.ErrNotFound) {
		return nothingStored(err)
	}
	if exists && r.opts.OnConflict == memory.Fail {
		r.conflicts.add(&LineError{
			File: f.source.Name, Line: f.line, Field: "id",
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
		r.report.compare(f, &record.Entry)
	}
	return nil
}

func nothingStored(err error) error { return fmt.Errorf("nothing was stored: %w", err) }

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
		ignored := it.ignoredValues()
		for i := range it.entries {
			*number++
			if r.seen[it.entries[i].ID].number == *number {
				batch = append(batch, found{it.entries[i], s, it.line.number, it.format, ignored})
				ignored = nil // once is enough
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
