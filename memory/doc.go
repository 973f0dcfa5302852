// Package memory is the domain of loopmem: what a memory is, how memories are
// ranked, how they fade and how they are consolidated. It knows no database.
//
// An [Entry] is one memory; [NewEntry] makes one. A [Backend] keeps entries.
// Agents that only need the loop of storing, retrieving and consolidating use
// the part of it called [LoopMemory]; [Recaller] adds filtered queries,
// updates and links. The in-memory [Store] of this package is the plain
// implementation that reads as the specification. The one for daily use,
// shared by any number of processes, is in package sqlitestore. Package
// memorytest checks any implementation against the contract.
//
// With embeddings, entries are also found by what they mean: an [Embedder]
// makes them, [EmbeddingMemory] puts it before a store, and [EmbedMissing]
// makes up for what was stored without. Package openaiembed talks to the
// endpoints that have models.
//
// The rules themselves are pure functions on entries, times and texts, which
// all stores share so that they cannot disagree: [RetrieveQuery.Score] and
// [Query.Rank] rank, [Entry.EffectiveStrength] and [Entry.Quality] weigh,
// [Consolidation.Plan] decides what a consolidation pass does, and
// [Entry.AppendJSON] and [DecodeJSON] are the JSONL form.
//
// Reading order: entry.go, backend.go, retrieve.go, recall.go,
// consolidate.go, store.go.
package memory
