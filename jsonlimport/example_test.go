package jsonlimport_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

func ExampleImport() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	file := jsonlimport.Input{Name: "testdata/clean.jsonl"}
	for range 2 {
		report, err := jsonlimport.Import(ctx, store, []jsonlimport.Input{file}, jsonlimport.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d read, %d imported, %d there already\n", report.Read, report.Imported, report.Existing)
	}
	// Output:
	// 6 read, 6 imported, 0 there already
	// 6 read, 0 imported, 6 there already
}

func ExampleImport_malformed() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	text := `{"id":"2adee6a3-a553-5015-bab8-1310d3984d51","category":"fact","memory":null}` + "\n"
	input := jsonlimport.Input{Name: "standard input", Stream: strings.NewReader(text)}
	_, err = jsonlimport.Import(ctx, store, []jsonlimport.Input{input}, jsonlimport.Options{})
	fmt.Println(err)
	// Output:
	// standard input:1:73: field memory: is null; expected a string, at `…"fact","memory":null}`
	// Nothing was stored. Correct this and import again, or skip malformed lines: they are then set aside and the others stored.
}

// A graph file moves into a store, is found complete there, and out again.
func ExampleVerify() {
	ctx := context.Background()
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	inputs := []jsonlimport.Input{{Name: "testdata/graph.jsonl"}}
	if _, err := jsonlimport.Import(ctx, store, inputs, jsonlimport.Options{}); err != nil {
		log.Fatal(err)
	}
	report, err := jsonlimport.Verify(ctx, store, inputs, jsonlimport.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d of %d are the same; complete: %t\n", report.Same, report.Read, report.Complete())
	if _, err := jsonlimport.Export(ctx, store, memory.Selection{}, jsonlimport.Graph{}, os.Stdout); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 7 of 7 are the same; complete: true
	// {"type":"entity","name":"Ada_Example","entityType":"person","observations":["Speaks fluent Spanish","Graduated in 2019","Prefers morning meetings"]}
	// {"type":"entity","name":"Initech","entityType":"organization","observations":["Ships on Fridays"]}
	// {"type":"entity","name":"Empty_Thing","entityType":"concept","observations":[]}
	// {"type":"relation","from":"Ada_Example","to":"Initech","relationType":"works_at"}
	// {"type":"relation","from":"Ada_Example","to":"Nobody_Known","relationType":"knows"}
}
