package sqlitestore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/loopmem/loopmem/memory"
)

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

	// Uncounted leaves the entries as they are that Recall and Retrieve return:
	// no access is counted, and nothing becomes stronger. For a process that
	// only reads, and is to leave no trace of what it asked for.
	Uncounted bool

	// ArchiveFor is how long entries removed by consolidation, Prune or the
	// capacity bound can be restored; 0 means 30 days. What is older is
	// dropped by the next consolidation.
	ArchiveFor time.Duration

	// MirrorBytes is how much memory, in bytes and roughly, the process may
	// take to keep a mirror of what entries are found by: their words, numbers
	// and embeddings. 0 means 64 MiB, enough for about 200,000 entries of 16
	// words, or 30,000 that have embeddings of 384 dimensions; 100,000 of those
	// take 180 MiB. A negative number means no mirror.
	//
	// Where there is no room for the embeddings, those are read from the file
	// each time that a query has one; where there is none for the rest either,
	// the store is asked in SQL each time. Both take longer. Either way, every
	// answer is of the latest state that any process has committed.
	MirrorBytes int64

	// MirrorAfter is how many queries a process makes before it keeps a mirror;
	// 0 means 16.
	MirrorAfter int
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

var synchronousNames = [...]string{"normal", "full"}

// String returns the name that [ParseSynchronous] reads.
func (s Synchronous) String() string {
	if int(s) >= 0 && int(s) < len(synchronousNames) {
		return synchronousNames[s]
	}
	return fmt.Sprintf("Synchronous(%d)", int(s))
}

// ParseSynchronous is the inverse of [Synchronous.String]: it reads "normal" or
// "full". Any other text is a [memory.ErrInvalid].
func ParseSynchronous(name string) (Synchronous, error) {
	if i := slices.Index(synchronousNames[:], name); i >= 0 {
		return Synchronous(i), nil
	}
	return 0, fmt.Errorf("%w: %q is no level of synchronous; use %s", memory.ErrInvalid, name, strings.Join(synchronousNames[:], " or "))
}

const (
	defaultBusyTimeout = 10 * time.Second
	defaultArchiveFor  = 30 * 24 * time.Hour
	defaultMirrorBytes = 64 << 20
	defaultMirrorAfter = 16

	// usualLog is the size in bytes at which the write-ahead log is taken into
	// the file. Larger than SQLite has it, as each page is then written there
	// once for many changes, which makes an import a quarter faster.
	usualLog = 16 << 20

	// pageSize is that of new databases, in bytes.
	pageSize = 4096

	// writerCache is how many bytes of pages the writer may keep. Entries come
	// in no order that the indexes have, and SQLite's own 2 MB make an import
	// into a large store read most pages again and again.
	writerCache = 16 << 20

	// readers is how many reads of one process run at the same time.
	readers = 4
	// deferAfter is how long the book-keeping of a Recall waits for the write
	// lock before it is put off.
	deferAfter = 100 * time.Millisecond
	// closePatience is how long Close waits for the write lock at most.
	closePatience = 2 * time.Second
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
	if o.MirrorBytes == 0 {
		o.MirrorBytes = defaultMirrorBytes
	}
	if o.MirrorAfter <= 0 {
		o.MirrorAfter = defaultMirrorAfter
	}
	return o
}
