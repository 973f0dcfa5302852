// Package jsonlimport moves memories out of JSONL files into a store, and
// back.
//
// [Import] reads any number of files, each in one of the forms that
// [Formats] lists, and works in two passes. The first reads and validates
// everything; only when every line is good, or the caller chose to set bad
// ones aside, does the second pass write, in batches. So an import is all or
// nothing, however many files it has, yet never holds more than a batch and
// the longest line in memory. The source files are only read.
//
// Where silence would lose or alter something, the importer is strict and
// says what is wrong in which line, see [RefusedError]. What it accepts it
// can write again: [Export] is the way back, and [Verify] compares a file
// with a store, for those who want to delete the file afterwards.
//
// # Cost
//
// Beside the batch and the longest line, each entry read costs about 100 bytes
// during the import: its id, where it stands, and a fingerprint of what it says,
// by which the later of two lines with one id wins, and it is told if the other
// one said something else.
//
// # Another form
//
// A form is one file in this package, a type with the methods of [Format],
// and a line in the list of formats. File agent.go is a good one to start
// from.
package jsonlimport
