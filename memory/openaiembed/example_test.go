package openaiembed_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/openaiembed"
)

func Example() {
	ctx := context.Background()
	// Anything that speaks the interface will do; this one knows no meaning,
	// only words.
	server := httptest.NewServer(wordEndpoint{})
	defer server.Close()

	embedder, err := openaiembed.New(openaiembed.Options{BaseURL: server.URL + "/v1", Model: "words"})
	if err != nil {
		log.Fatal(err)
	}
	store, err := memory.NewStore()
	if err != nil {
		log.Fatal(err)
	}
	memories, err := memory.NewEmbeddingMemory(ctx, store, embedder, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer memories.Close()
	if err := memories.Store(ctx, memory.NewEntry(memory.Fact, "The staging database runs on port 5433.")); err != nil {
		log.Fatal(err)
	}
	model, err := memories.EmbeddingModel(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(model)
	// Output: model "words" of 256 dimensions
}
