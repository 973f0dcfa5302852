package jsonlimport

import (
	"context"
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
	// lookup, if set, tells validate what the store has under an id.
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
