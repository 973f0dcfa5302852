// Package filestore keeps memories in a JSONL file, one entry a line, in the
// form that the Rust LoopMemory file store writes and reads. It suits one
// program with some thousand entries and a file that people want to look at;
// all of them are held in memory as well, in a mirror that answers every
// question.
//
// # One process
//
// The file belongs to one process at a time. Within it any number of handles
// may be open on one file, under whatever spelling of its path, and share one
// state: only the options are each handle's own. A second process is refused
// with [ErrInUse] where the system has file locks, as long as it uses this
// package; other programs, the Rust store among them, know nothing of the lock
// in FILE.lock. What they change is noticed before the next write, which is
// then refused with [ErrChanged] rather than done over theirs. For several
// processes there is package sqlitestore, and loopmem import moves a file
// there.
//
// A hard link is another file to this package: a rewrite replaces the file
// and leaves the link with the old content.
//
// # What is on disk when
//
// Store and StoreBatch append lines and return once the system has them, so
// that they survive the end of the process, however it ends. Only [Store.Flush]
// and every operation that changes entries that exist, Consolidate among
// them, also force them to the disk and thus survive a power failure: they
// write the whole file anew beside the old one and rename it into place. A
// crash at any moment leaves the old or the new file, or at most a torn last
// line, which the next open removes. The new file keeps the permissions of the
// old one, but neither its owner nor fields that an [memory.Entry] lacks.
//
// Two things live in the mirror only. The accesses that Recall counts are
// written by the next rewrite, by Flush or by Close. The stamps that Retrieve
// leaves wait for a consolidation and end with the last handle. Versions and
// the name of the embedding model, too, hold only until then.
package filestore
