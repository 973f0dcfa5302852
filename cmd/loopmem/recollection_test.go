package main

import (
	"testing"

	"github.com/loopmem/loopmem/memory"
)

func TestMarkWords(t *testing.T) {
	r := recollection{query: &memory.Query{Ranking: memory.RankingQuestion}}
	for text, want := range map[string]string{
		"":                                "",
		"no such thing":                   "no such thing",
		"She (Walks) her dog's  leash,\n": `She (*Walks*) her *dog's*  leash,\n`,
		"東京タワー、":                          "*東京タワー*、",
		"walk":                            "*walk*",
		"\x1bwalked ":                     `*\x1bwalked* `,
		"\u00a0walk\u3000...":             "\u00a0*walk*\u3000...",
	} {
		if got := markWords(text, r.finder(&memory.Parts{Words: []string{"walk", "dog", "東京"}})); got != want {
			t.Errorf("markWords(%q) = %q, want %q", text, got, want)
		}
	}
}
