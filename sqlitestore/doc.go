// Package sqlitestore keeps memories in one SQLite file that any number of
// processes on one machine share. It is the store for daily use.
//
// [Open] opens or creates a file; [OpenInMemory] makes a store that is gone
// when it is closed. A [Store] is a [memory.Backend], safe for concurrent
// use, and answers exactly as the in-memory store of package memory does: it
// finds candidates with SQL and an inverted index, and ranks them with the
// functions of that package.
//
// # What is guaranteed
//
// A write that has returned without an error survives the death of any
// process, kill -9 included, and is seen by every process from then on. With
// [SynchronousFull] it survives power failure as well. A write that returns
// an error has changed nothing. Writers wait for each other in line, up to
// [Options.BusyTimeout] or the end of the context, and then fail with
// [memory.ErrBusy]. Reads never wait for writes; each sees one state of the
// whole store.
//
// Access book-keeping is the exception, on purpose: stamps of Retrieve are
// written up to a quarter of a second after the answer, and Recall puts its
// own off while another process holds the lock. Close writes what is left, and
// waits two seconds for the lock at most; a process that is killed loses that,
// but no entry.
//
// Every row has a checksum, and the store an account of all rows, so that
// [Store.Check] and [Diagnose] notice an entry that was changed or lost by the
// disk or by another program. [Store.Backup] copies the store while others
// write, [RestoreBackup] puts a copy in its place, and [Repair] salvages what
// can be read of a damaged file. What consolidation takes out can be brought
// back from the archive; what Forget takes out, by nothing: see there for what
// happens to its bytes.
//
// # Speed
//
// A process that has asked some questions keeps a mirror in memory: the words
// of every entry, the numbers by which entries are ranked, the embeddings as
// long as there is room, and the entries returned last (see
// [Options.MirrorBytes]). It then finds what matches there,
// and reads only what it returns, as far as it does not remember that. Before
// every answer the mirror is brought to the state of the store at that moment,
// whichever process has changed it. A process that asks once, as the command
// does, and one whose store is too large for a mirror, find entries by the
// indexes in the file.
//
// # Limits
//
// The file should be on a local disk. SQLite's write-ahead log needs memory that
// all its users share, the file FILE-shm, and two machines share none: each
// would take locks that the other does not see, and they would overwrite each
// other's commits. On a network file system Open therefore logs a warning. It
// does not refuse, since processes of one machine do share that memory there,
// and whether others use the file cannot be told. Another journal mode is no
// way out: in those, readers and writers wait for each other, and the locks of
// network file systems are what SQLite warns of. Let the machines talk to one
// of them instead, for instance with "loopmem mcp" over SSH.
//
// What is deleted, moved or replaced under an open store, FILE itself or one of
// the files beside it, is noticed with the next write, which fails with
// [ErrReplaced]; reads may go on for a while with what they have open.
//
// The log grows as long as a reader keeps an old state open, which is for the
// time of one call. Processes that only have the store open, or are stopped
// between two calls, are not in the way.
//
// # Inside
//
// Every write of every process passes through one function, pass in gate.go,
// and every read through view beside it. The schema is in package migrations,
// with the reasons beside the tables. Reading order: store.go, gate.go,
// conn.go, write.go, index.go, retrieve.go, recall.go, question.go,
// mirroring.go with internal/mirror, consolidate.go with replan.go, open.go;
// then check.go, doctor.go and backup.go. The command in folder stresstest
// kills and stops processes at all of this.
package sqlitestore
