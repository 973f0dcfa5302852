// Package mcpserver offers a store of memories to language models, through
// the Model Context Protocol over standard input and output.
//
// [New] makes a server over a [Source], which says how the store is opened;
// [Server.Serve] speaks with one client until that goes away. Every client
// has a server process of its own, and all of them may share one file.
//
// The tools are memory_store, memory_recall, memory_get, memory_update,
// memory_forget, memory_link, memory_consolidate, memory_prune and
// memory_stats. What a model may do with them is not up to the model: the
// [Options] fix the namespace, the confidentiality and whether it may write
// at all, and every call works on a handle that is narrowed accordingly.
//
// # What a client can rely on
//
// Nothing but protocol is written to the output, one message a line. Lines
// that are no messages are logged and passed over. When the input ends, or
// the context of Serve does, the calls in flight are finished and answered
// first, for 1.2 seconds at most; then they are cancelled. Serve returns within
// two seconds, even if the store is still waiting for a lock; then the latest
// accesses are not counted. A cancelled call stores nothing and gives the lock
// free at once.
//
// Arguments that a tool does not have, or that could be read as something else
// than was written, are refused. Every error says what to do next.
//
// The store is opened in the background, so that a server starts however busy
// the file is, and opened anew after it was deleted or replaced: the call
// that notices it fails and says so, the next one works.
//
// A recalled text may hold anything, also words that were put there to be
// obeyed. A result says that it quotes reference data. Its readable form quotes
// each text on one line, with angle brackets and everything escaped that is not
// seen, so that no text can look like a second record or like the end of the
// quotation; the structured content has the texts as they are.
//
// # The place of another server
//
// With [Options.Graph] the tools are those of the official knowledge-graph
// server, with its arguments and answers; graph_tools.go lists what differs.
// Its answers have no room for a notice that they quote data. The graph lives
// in entries as package jsonlimport makes them of its file, so all other clients
// recall what it says.
//
// Reading order: server.go, tool.go, transport.go, keeper.go, then any tool.
package mcpserver
