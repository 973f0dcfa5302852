// Command loopmem keeps the memories of agents in one file that any number of
// processes share.
//
//	loopmem demo                      see it work
//	loopmem import memory.jsonl       bring what an older store kept
//	loopmem add "text"                remember something
//	loopmem retrieve "words"          find it again
//	loopmem help                      everything else
//
// It exits with status 0, with 1 after an error, and with 2 if it was called
// in a way it does not understand.
//
// Each command is a file of this package that reads flags, calls the store and
// prints; what a command means is said in the packages memory, sqlitestore and
// jsonlimport. Reading order: run.go, store.go, print.go, then any command.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
