package jsonlimport_test

import (
	"context"
	"fmt"
	"log"
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
