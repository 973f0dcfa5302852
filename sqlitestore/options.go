package sqlitestore

import "time"

// Options are what is particular to a SQLite file. The zero value is a good
// choice; what all stores have in common is set by [memory.Option] values.
type Options struct {
	// MustExist makes Open fail with [io/fs.ErrNotExist] where there is no
	// file, instead of creating one.
	MustExist bool

	// BusyTimeout is how long a write waits for other writers before it fails
	// with [memory.ErrBusy]; 0 means 10 seconds. A context that ends earlier
	// ends the wait earlier.
	BusyTimeout time.Duration

	// Synchronous says what an acknowledged write survives; the default is
	// [SynchronousNormal].
	Synchronous Synchronous

	// ArchiveFor is how long entries removed by consolidation, Prune or the
	// capacity bound can be restored; 0 means 30 days. What is older is
	// dropped by the next consolidation.
	ArchiveFor time.Duration
}

// Synchronous is how far a write is carried before it is acknowledged.
type Synchronous int

const (
	// SynchronousNormal hands each commit to the operating system. It
	// survives the death of any process, kill -9 included; a power failure
	// may take back the latest commits, in whole transactions.
	SynchronousNormal Synchronous = iota
	// SynchronousFull forces each commit to the disk. It survives power
	// failure as well, at the price of one fsync a write.
	SynchronousFull
)

const (
	defaultBusyTimeout = 10 * time.Second
	defaultArchiveFor  = 30 * 24 * time.Hour

	// usualLog is the size in bytes that the write-ahead log has from time to
	// time in any case: SQLite takes it into the file after 1,000 pages, and a
	// large transaction more.
	usualLog = 16 << 20

	// readers is how many reads of one process run at the same time.
	readers = 4
	// deferAfter is how long the book-keeping of a Recall waits for the write
	// lock before it is put off.
	deferAfter = 100 * time.Millisecond
	// stampDelay is how long access stamps wait for company; the contract
	// allows 250 ms.
	stampDelay = 100 * time.Millisecond
)

func (o Options) withDefaults() Options {
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = defaultBusyTimeout
	}
	if o.ArchiveFor <= 0 {
		o.ArchiveFor = defaultArchiveFor
	}
	return o
}
