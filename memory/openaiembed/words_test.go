package openaiembed_test

import (
	"encoding/json"
	"net/http"

	"github.com/loopmem/loopmem/memory"
)

// wordEndpoint is an embeddings endpoint over memory.HashEmbedder.
type wordEndpoint struct{}

func (wordEndpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var asked struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	vectors, err := memory.HashEmbedder{}.Embed(r.Context(), asked.Input)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	type datum struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	data := make([]datum, len(vectors))
	for i, vector := range vectors {
		data[i] = datum{"embedding", i, vector}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data}) // the client may be gone
}
