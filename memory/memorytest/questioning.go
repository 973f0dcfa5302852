package memorytest

import (
	"math"
	"time"

	"github.com/loopmem/loopmem/memory"
)

var questionRules = []rule{
	{"QuestionForms", "A question finds words in all their forms: inflected, possessive, accented, composed or not, in scripts without spaces.", func(t *trial) {
		s := t.with(
			entry(1, "Caroline's cousins were painting sunrises."),
			entry(2, "We met at the Café Ångström"),
			entry(3, "The build uses C++, not C"),
			entry(4, "私は東京タワーの近くに住んでいます。"),
			entry(5, "我家的猫叫小黑。"),
			entry(6, "저는 한국어를 배우고 있어요"),
			entry(7, "ผมชอบกินข้าวผัด"),
			entry(8, "Кошка спит на окне"),
			entry(9, "Deployed 🚀 on 2023-05-08"),
			entry(10, "keywords count", func(e *memory.Entry) { e.Keywords = []string{"adoption agencies"} }))
		for text, want := range map[string][]int{
			"What did Caroline paint?":         {1},
			"a sunrise":                        {1},
			"Which cousin is Caroline’s?":      {1},
			"CAFE":                             {2},
			"cafe\u0301":                       {2},
			"angstrom":                         {2},
			"is c++ used?":                     {3},
			"東京タワーはどこですか":                      {4},
			"住む":                               nil,
			"東京":                               {4},
			"猫":                                {5},
			"小黑是谁":                             {5},
			"한국어":                              {6},
			"กินข้าว":                          {7},
			"кошка":                            {8},
			"🚀":                                {9},
			"what was deployed on 08 May?":     {9},
			"Who adopted from an agency?":      {10},
			"Where is the what of it":          {2, 3}, // nothing but stop words: they count then
			"xyzzy?":                           nil,
			"\"OR\" NEAR( * sunrise xyzzy) --": {1},
		} {
			t.same("Recall of "+text, unordered(hitIDs(s.recall(memory.Query{Text: text, Ranking: memory.RankingQuestion, NoReinforce: true}))), unordered(ids(want...)))
		}
	}},
	{"QuestionScore", "The score is the share of the question's weight that the entry holds, times what it is worth by recency, importance and strength.", func(t *trial) {
		s := t.with(entry(1, "red apples"), entry(2, "red pears"), entry(3, "green beans, strength 0.5", strength(0.5)), entry(4, "nothing"))
		hits := s.recall(memory.Query{Text: "red apples and green melons", Ranking: memory.RankingQuestion})
		t.same("Recall", hitIDs(hits), ids(1, 3, 2))
		// Of 4 entries, 2 hold red, and 1 each apples and green; none melons.
		red, rare := math.Log(2), math.Log(1+3.5/1.5)
		worth := 0.7 + 0.1 + 0.1*4/9 + 0.1
		for i, want := range []float64{
			(red + rare) / (red + 2*rare) * worth,
			rare / (red + 2*rare) * (worth - 0.05),
			red / (red + 2*rare) * worth,
		} {
			if got := hits[i].Score; math.Abs(got-want) > 1e-12 {
				t.Errorf("hit %d has the score %v, want %v", i, got, want)
			}
		}
		t.same("the words of the first", hits[0].Parts.Words, []string{"red", "appl"})
		t.same("matched", hits[0].Matched, true)
	}},
	{"QuestionOldAnswer", "An old entry that answers the question stands before a fresh and important one that has little of it.", func(t *trial) {
		fresh := func(e *memory.Entry) { e.Importance = 10 }
		s := t.with(
			entry(1, "The staging password rotates on Mondays", age(5000*time.Hour), strength(0.1)),
			entry(2, "Mondays are busy", fresh), entry(3, "We renamed staging", fresh), entry(4, "unrelated", fresh))
		t.same("Recall", hitIDs(s.recall(memory.Query{Text: "When does the staging password rotate?", Ranking: memory.RankingQuestion})), ids(1, 3))
	}},
	{"QuestionNoText", "Without words in the question every entry is found, and its worth decides.", func(t *trial) {
		s := t.with(entry(1, "weak", strength(0.1)), entry(2, "strong"))
		for _, text := range []string{"", " \n"} {
			t.same("Recall", hitIDs(s.recall(memory.Query{Text: text, Ranking: memory.RankingQuestion})), ids(2, 1))
		}
	}},
	{"QuestionScope", "Words weigh by what the handle sees: what lies outside changes no score.", func(t *trial) {
		secret := entry(3, "pears pears", restricted)
		s := t.with(entry(1, "apples", agent("a:b")), entry(2, "pears", agent("a:b")), secret, entry(4, "apples", agent("z")))
		alone := t.with(entry(1, "apples", agent("a:b")), entry(2, "pears", agent("a:b")))
		q := memory.Query{Text: "apples or pears", Ranking: memory.RankingQuestion, Window: 1, NoReinforce: true, Limit: 5}
		narrow := s.in(memory.Scope{Namespace: "a", MaxConfidentiality: new(memory.Internal)})
		want, got := alone.recall(q), narrow.recall(q)
		t.same("Recall where there is nothing else", hitIDs(want), ids(1, 2))
		t.same("Recall in the scope", hitIDs(got), hitIDs(want))
		for i := range got {
			t.same("the parts of a score", got[i].Parts, want[i].Parts)
		}
	}},
	{"QuestionSpeaker", "The last part of an agent is a word of its entries.", func(t *trial) {
		s := t.with(entry(1, "I like tea", agent("conv:1:gina")), entry(2, "I like tea", agent("conv:1:jon")), entry(3, "I like tea", agent("jon:1:x")))
		hits := s.recall(memory.Query{Text: "Does Jon like tea?", Ranking: memory.RankingQuestion, Limit: 1})
		t.same("Recall", hitIDs(hits), ids(2))
		s.update(1, memory.Change{Agent: new("conv:1:jonas")})
		s.update(2, memory.Change{Agent: new("conv:1:gina")})
		t.same("Recall after the agents changed", hitIDs(s.recall(memory.Query{Text: "Jonas", Ranking: memory.RankingQuestion})), ids(1))
	}},
	{"QuestionWindow", "With a window, entries created shortly before and after in the same conversation lend their words, at 0.4 of the weight.", func(t *trial) {
		turn := func(n int, text, who string, at time.Duration, edits ...func(*memory.Entry)) memory.Entry {
			e := entry(n, text, append(edits, agent(who))...)
			e.CreatedAt = epoch.Add(at - 100*time.Hour)
			return e
		}
		s := t.with( // not in the order in which it was said
			turn(3, "In Lisbon, last May", "conv:1:jon", 2*time.Minute),
			turn(1, "Where did you buy the guitar?", "conv:1:gina", time.Minute),
			turn(2, "the guitar", "conv:2:gina", 90*time.Second), // said between the two, elsewhere
			turn(4, "Nice town", "conv:1:gina", 3*time.Minute),
			turn(5, "It rained", "conv:1:gina", 2*time.Hour),
			turn(6, "guitar strings", "conv:3:jon", time.Minute, restricted),
			turn(7, "from Porto", "conv:3:gina", time.Minute))
		ask := func(window int, level memory.Confidentiality) []memory.Hit {
			return s.recall(memory.Query{
				Text: "guitar", Ranking: memory.RankingQuestion, Window: window, Limit: 9, NoReinforce: true,
				Filter: memory.Filter{MaxConfidentiality: &level},
			})
		}
		hits := ask(1, memory.Restricted)
		t.same("Recall with a window of 1", hitIDs(hits), ids(2, 1, 6, 3, 7))
		t.same("what is lent", hits[3].Parts.Lent, []string{"guitar"})
		t.same("matched", hits[3].Matched, false)
		t.same("the relevance of what is lent", hits[3].Parts.Relevance, 0.4)
		t.same("Recall with a window of 2", unordered(hitIDs(ask(2, memory.Restricted))), unordered(ids(1, 2, 3, 4, 6, 7)))
		t.same("Recall with a window of 3, two hours later", unordered(hitIDs(ask(3, memory.Restricted))), unordered(ids(1, 2, 3, 4, 6, 7)))
		t.same("Recall up to a level", unordered(hitIDs(ask(1, memory.Confidential))), unordered(ids(1, 2, 3)))
		t.same("Recall without a window", unordered(hitIDs(ask(0, memory.Restricted))), unordered(ids(1, 2, 6)))
	}},
	{"QuestionWindowFilters", "What is found by lent words passes the filter like everything else, but what lends need not.", func(t *trial) {
		s := t.with(entry(1, "guitar", agent("c:1:a")), entry(2, "Lisbon", agent("c:1:b")), entry(3, "guitar case", agent("c:1:b")), entry(4, "Porto", agent("c:1:a")))
		hits := s.recall(memory.Query{Text: "guitar", Ranking: memory.RankingQuestion, Window: 1, Limit: 9, Filter: memory.Filter{Agent: new("c:1:b")}})
		t.same("Recall", hitIDs(hits), ids(3, 2))
	}},
	{"QuestionFilters", "The limit counts what passes every filter.", func(t *trial) {
		var entries []memory.Entry
		for n := range 60 {
			e := entry(n+1, "the same words")
			if n >= 50 {
				e.Tags, e.Strength = []string{"wanted"}, float64(n)/100
			}
			entries = append(entries, e)
		}
		s := t.with(entries...)
		q := memory.Query{Text: "words", Ranking: memory.RankingQuestion, Limit: 3, NoReinforce: true}
		t.same("Recall without a filter", hitIDs(s.recall(q)), ids(1, 2, 3))
		q.Tags = []string{"unknown", "wanted"}
		t.same("Recall by tag", hitIDs(s.recall(q)), ids(60, 59, 58))
		q.MinStrength = new(0.58)
		t.same("Recall by tag and strength", hitIDs(s.recall(q)), ids(60, 59))
	}},
	{"QuestionFollowsChanges", "What is changed or forgotten is found by its new words, not the old, and weighs no more.", func(t *trial) {
		s := t.with(entry(1, "walking the dogs"), entry(2, "dogs"))
		s.update(1, memory.Change{Memory: new("feeding cats")})
		s.forget(2)
		t.same("Recall by the old words", len(s.recall(memory.Query{Text: "dog walk", Ranking: memory.RankingQuestion})), 0)
		t.same("Recall by the new words", hitIDs(s.recall(memory.Query{Text: "cat feeds", Ranking: memory.RankingQuestion})), ids(1))
	}},
	{"QuestionByEmbedding", "With a query embedding, an entry that has an embedding is found even where no word fits, but words weigh more.", func(t *trial) {
		s := t.with(entry(1, "far", vector(0, 1)), entry(2, "near", vector(1, 0)), entry(3, "wanted"), entry(4, "neither"), entry(5, "against", vector(-1, 0)))
		hits := s.recall(memory.Query{Text: "wanted", Embedding: []float32{1, 0}, Ranking: memory.RankingQuestion})
		t.same("Recall", hitIDs(hits), ids(3, 2, 1, 5))
		t.same("relevance", []float64{hits[0].Parts.Relevance, hits[1].Parts.Relevance, hits[3].Parts.Relevance}, []float64{0.8, 0.2, 0})
		hits = s.recall(memory.Query{Embedding: []float32{1, 0}, Ranking: memory.RankingQuestion, Limit: 1})
		t.same("Recall without a text", hitIDs(hits), ids(2))
	}},
	{"QuestionRefuses", "An unknown ranking and a window out of range are ErrInvalid.", func(t *trial) {
		s := t.with(entry(1, "one"))
		for _, q := range []memory.Query{{Ranking: 9}, {Window: -1}, {Window: memory.MaxWindow + 1}} {
			_, err := s.Recall(t.Context(), q)
			t.refused("Recall", err, memory.ErrInvalid)
		}
	}},
}
