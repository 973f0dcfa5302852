package sqlitestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// remember is the example of the README; a test of cmd/loopmem compares them.
func remember(ctx context.Context, path string) error {
	store, err := sqlitestore.Open(ctx, path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()

	entry := memory.NewEntry(memory.Fact, "The staging cluster is rebuilt every Monday.")
	entry.Agent, entry.Tags = "ops", []string{"staging"}
	if err := store.Store(ctx, entry); err != nil {
		return err
	}
	matches, err := store.Retrieve(ctx, "when is staging rebuilt", 3)
	if err != nil {
		return err
	}
	for _, m := range matches {
		fmt.Printf("%.2f %s\n", m.Score, m.Entry.Memory)
	}
	_, err = store.Consolidate(ctx) // every now and then: decay, merge, prune
	return err
}

func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	if err := remember(context.Background(), filepath.Join(folder, "memory.db")); err != nil {
		log.Fatal(err)
	}
	// Output: 0.90 The staging cluster is rebuilt every Monday.
}

// Several agents share a file, and each handle keeps to its own part of it.
func ExampleStore_In() {
	ctx := context.Background()
	store, err := sqlitestore.OpenInMemory(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	planner := store.In(memory.Scope{Namespace: "team:planner"})
	coder := store.In(memory.Scope{Namespace: "team:coder"})
	if err := planner.Store(ctx, memory.NewEntry(memory.Strategy, "Small steps that can be taken back.")); err != nil {
		log.Fatal(err)
	}
	if err := coder.Store(ctx, memory.NewEntry(memory.Fact, "The parser needs a locale.")); err != nil {
		log.Fatal(err)
	}
	for _, handle := range []memory.Backend{store, planner, coder} {
		n, err := handle.Len(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 2
	// 1
	// 1
}
