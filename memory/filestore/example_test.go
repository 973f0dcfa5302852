package filestore_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "loopmem")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "memory.jsonl")

	store, err := filestore.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := store.Store(ctx, memory.NewEntry(memory.Insight, "prefer Glob for file search")); err != nil {
		log.Fatal(err)
	}
	if err := store.Close(); err != nil {
		log.Fatal(err)
	}

	// Later, in another run of the program:
	store, err = filestore.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	matches, err := store.Retrieve(ctx, "file search", 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range matches {
		fmt.Printf("%.1f %s\n", m.Score, m.Entry.Memory)
	}
	// Output: 1.0 prefer Glob for file search
}
