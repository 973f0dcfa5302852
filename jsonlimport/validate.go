package jsonlimport

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

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
		var err error
		if it.fault, err = v.collision(ctx, it); err != nil {
			return err
		}
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
// another entry, or nil. What the store has is looked at only where the line
// would replace it.
func (v *validation) collision(ctx context.Context, it *item) (*LineError, error) {
	form, ok := it.format.(owned)
	if !ok {
		return nil, nil
	}
	for i := range it.entries {
		e := &it.entries[i]
		owner, id := form.owner(e)
		if id == "" {
			continue
		}
		fault := func(where string) *LineError {
			return &LineError{File: v.source.Name, Line: it.line.number, Field: "id", Reason: fmt.Sprintf(
				"%q of %q is also the id of an entry of another one, in %s; %s", shorten(id), shorten(owner), where, wayOut(form))}
		}
		last, seen := v.seen[e.ID]
		if seen && last.owner != 0 && last.owner != v.ownerOf(form, e) {
			return fault(fmt.Sprintf("%s:%d", last.source.Name, last.line)), nil
		}
		if seen || v.lookup == nil || v.opts.OnConflict != memory.Replace {
			continue
		}
		record, exists, err := v.stored(ctx, e.ID)
		if err != nil {
			return nil, err
		}
		if exists && collide(form, e, &record.Entry) {
			return fault("the store"), nil
		}
	}
	return nil, nil
}

// collide reports whether two entries have one id by accident; see [owned].
func collide(form owned, a, b *memory.Entry) bool {
	ownerA, idA := form.owner(a)
	ownerB, idB := form.owner(b)
	return idA != "" && idB != "" && ownerA != ownerB
}

func wayOut(form owned) string {
	return "if each has ids of its own, choose the format " + form.ownIDs().Name()
}

// stored returns what the store has under an id.
func (r *run) stored(ctx context.Context, id uuid.UUID) (record memory.Record, exists bool, err error) {
	record, err = r.lookup(ctx, id)
	if errors.Is(err, memory.ErrNotFound) {
		return record, false, nil
	}
	if err != nil {
		return record, false, nothingStored(err)
	}
	return record, true, nil
}

// sighting is what a run remembers of the last entry with an id.
type sighting struct {
	number  int    // of the entry, from 1
	content uint64 // fingerprint of what it says
	owner   uint64 // fingerprint of whose it is; 0 if its id is unique anyway
	source  *source
	line    int
}

// ownerOf returns the fingerprint for a sighting; form may be nil.
func (r *run) ownerOf(form owned, e *memory.Entry) uint64 {
	if form == nil {
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
	form, _ := f.format.(owned)
	now := sighting{r.number, r.content(f), r.ownerOf(form, &f.entry), f.source, f.line}
	r.seen[id] = now
	if repeated {
		r.report.Repeated++
		if last.content != now.content {
			r.report.supersede(&last, &now, id)
		}
		return nil
	}
	if r.lookup == nil || !r.opts.DryRun && r.opts.OnConflict != memory.Fail {
		return nil
	}
	record, exists, err := r.stored(ctx, id)
	if err != nil {
		return err
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
