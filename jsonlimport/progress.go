package jsonlimport

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
	Comparing  Phase = "comparing" // with a store, see [Verify]
)

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
