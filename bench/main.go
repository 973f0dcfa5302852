// Command bench measures loopmem, and proves while it measures that the
// answers are right:
//
//	go run ./bench -n 10000
//
// It loads the same generated memories into several stores, asks all of them
// the same questions, and prints a table. Beside loopmem's own stores stand
// two yardsticks that live in this package: the reference, which is the plain
// algorithm of the Rust stores, and the tuned scan, the best that can be done
// honestly without an index. Figures depend on the machine; the ratios to the
// yardsticks, taken in the same run, much less.
//
// A folder of reports is written too: the table with plots of latency against
// the number of entries, the figures as JSON, and in the format of Go
// benchmarks for benchstat.
//
// # Answers are checked
//
// Beside each store a scan is kept that knows all its entries. Answers are
// compared with the scan's to the last bit, outside of the time that counts,
// for as long as there is time: the column "checked" says how many were. One
// wrong answer ends the run with an error.
//
// # Reading order
//
// corpus.go and question.go make what is stored and asked, scan.go and
// scan_recall.go are the yardsticks, backend.go lists the stores, trial.go
// measures one, and the files workload_*.go say what is measured. The rest
// prints.
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
	os.Exit(Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
