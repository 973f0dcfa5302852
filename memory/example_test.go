package memory_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// An agent loop stores what it learns, retrieves what fits the task at hand,
// and consolidates from time to time.
func Example() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	for _, text := range []string{
		"The tests need a running PostgreSQL",
		"The user prefers short answers",
		"The tests need a running PostgreSQL, version 15",
	} {
		if err := store.Store(ctx, memory.NewEntry(memory.Fact, text)); err != nil {
			log.Fatal(err)
		}
	}

	matches, err := store.Retrieve(ctx, "run the tests", 2)
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range matches {
		fmt.Printf("%.2f %s\n", m.Score, m.Entry.Memory)
	}

	stats, err := store.Consolidate(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d entries became %d\n", stats.EntriesBefore, stats.EntriesAfter)
	// Output:
	// 1.00 The tests need a running PostgreSQL
	// 1.00 The tests need a running PostgreSQL, version 15
	// 3 entries became 2
}

func ExampleNewEntry() {
	e := memory.NewEntry(memory.Insight, "Small commits are easier to review")
	e.Tags = []string{"git"}
	e.Importance = 8
	fmt.Println(e.Relevance, e.Strength, e.MemoryType, e.Confidentiality)
	fmt.Println(e.Validate())
	// Output:
	// 1 1 episodic public
	// <nil>
}

func ExampleStore_Recall() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	deploy := memory.NewEntry(memory.Fact, "Deploy with make release")
	deploy.Agent, deploy.Importance = "ops", 9
	window := memory.NewEntry(memory.Fact, "The release window is Tuesday")
	window.Agent = "ops"
	other := memory.NewEntry(memory.Fact, "A press release is due")
	other.Agent = "marketing"
	for _, e := range []memory.Entry{window, deploy, other} {
		if err := store.Store(ctx, e); err != nil {
			log.Fatal(err)
		}
	}

	recollection, err := store.Recall(ctx, memory.Query{
		Text:   "release",
		Filter: memory.Filter{Agent: new("ops")},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, h := range recollection.Hits {
		fmt.Println(h.Entry.AccessCount, h.Entry.Memory)
	}
	// Output:
	// 1 Deploy with make release
	// 1 The release window is Tuesday
}

// An update that names the version it was made from cannot undo what someone
// else has written meanwhile.
func ExampleStore_Update() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	e := memory.NewEntry(memory.Fact, "The API has a limit of 60 calls a minute")
	if err := store.Store(ctx, e); err != nil {
		log.Fatal(err)
	}

	record, err := store.Get(ctx, e.ID)
	if err != nil {
		log.Fatal(err)
	}
	change := memory.Change{Validated: new(true), IfVersion: record.Version}
	_, err = store.Update(ctx, e.ID, change)
	fmt.Println(err)
	_, err = store.Update(ctx, e.ID, change)
	fmt.Println(errors.Is(err, memory.ErrConflict))
	// Output:
	// <nil>
	// true
}

// A handle with a scope is a store of its own to those who hold it.
func ExampleStore_In() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	alice := store.In(memory.Scope{Namespace: "user:1"})
	bob := store.In(memory.Scope{Namespace: "user:12"})
	if err := alice.Store(ctx, memory.NewEntry(memory.Fact, "Alice likes tea")); err != nil {
		log.Fatal(err)
	}
	for _, handle := range []memory.Backend{alice, bob} {
		count, err := handle.Len(ctx)
		fmt.Println(count, err)
	}
	// Output:
	// 1 <nil>
	// 0 <nil>
}

func ExampleDecodeJSON() {
	_, err := memory.DecodeJSON([]byte(`{"id":"5b0c3f6e-0d5c-4c50-9e0b-5a7a3a0d6c11","category":"fact","memory":null}`))
	fmt.Println(err)
	// Output:
	// column 72: field "memory" is null; expected a string
}

func ExampleEntry_AppendJSON() {
	e := memory.NewEntry(memory.Fact, "Tea, no sugar")
	e.ID, _ = memory.ParseID("5b0c3f6e-0d5c-4c50-9e0b-5a7a3a0d6c11")
	e.CreatedAt = time.Unix(1760000000, 0)
	e.Agent = "user:1"
	fmt.Printf("%s\n", e.AppendJSON(nil))
	// Output:
	// {"id":"5b0c3f6e-0d5c-4c50-9e0b-5a7a3a0d6c11","category":"fact","memory":"Tea, no sugar","tags":[],"created_at":{"secs_since_epoch":1760000000,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,"validated":false,"last_accessed":null,"last_decayed":null,"agent":"user:1"}
}
