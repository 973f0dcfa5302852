package memorytest

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

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
	{"QuestionWindow", "With a window, entries created shortly before and after in the same conversation lend their words, at half of the weight.", func(t *trial) {
		turns := conversation(20, map[int]string{9: "Where did you buy the guitar?", 10: "The old guitar?", 11: "A guitar shop", 12: "In Lisbon, last May"})
		for i := range turns[12:] { // after a pause
			turns[12+i].CreatedAt = turns[12+i].CreatedAt.Add(2 * time.Hour)
		}
		between := func(e *memory.Entry) { e.CreatedAt = turns[10].CreatedAt.Add(time.Second) }
		slices.Reverse(turns) // not in the order in which it was said
		s := t.with(append(turns,
			entry(21, "the guitar", agent("conv:2:gina"), between), // elsewhere
			entry(22, "guitar strings", agent("conv:3:jon"), restricted),
			entry(23, "from Porto", agent("conv:3:gina")))...)
		ask := func(window int, level memory.Confidentiality) []memory.Hit {
			return s.recall(memory.Query{
				Text: "guitar", Ranking: memory.RankingQuestion, Window: window, Limit: 30, NoReinforce: true,
				Filter: memory.Filter{MaxConfidentiality: &level},
			})
		}
		hits := ask(1, memory.Restricted)
		t.same("Recall with a window of 1", unordered(hitIDs(hits)), unordered(ids(8, 9, 10, 11, 12, 21, 22, 23)))
		at := slices.Index(hitIDs(hits), ids(12)[0])
		t.same("what is lent", hits[at].Parts.Lent, []string{"guitar"})
		t.same("matched", hits[at].Matched, false)
		t.same("the relevance of what is lent", hits[at].Parts.Relevance, 0.5)
		t.same("Recall with a window of 2, beyond which there was a pause", unordered(hitIDs(ask(2, memory.Restricted))), unordered(ids(7, 8, 9, 10, 11, 12, 21, 22, 23)))
		t.same("Recall up to a level", unordered(hitIDs(ask(1, memory.Confidential))), unordered(ids(8, 9, 10, 11, 12, 21)))
		t.same("Recall without a window", unordered(hitIDs(ask(0, memory.Restricted))), unordered(ids(9, 10, 11, 21, 22)))
	}},
	{"QuestionWindowOfUnrelated", "Entries lend nothing where those with a word of the question stand no closer together than chance has it.", func(t *trial) {
		s := t.with(conversation(20, map[int]string{3: "the guitar", 10: "a guitar", 17: "guitars"})...)
		hits := s.recall(memory.Query{Text: "guitar", Ranking: memory.RankingQuestion, Window: 2, Limit: 9})
		t.same("Recall", unordered(hitIDs(hits)), unordered(ids(3, 10, 17)))
	}},
	{"QuestionWindowFilters", "What is found by lent words passes the filter like everything else, but what lends need not.", func(t *trial) {
		s := t.with(conversation(30, map[int]string{5: "guitar", 6: "guitar case", 7: "guitar"})...)
		hits := s.recall(memory.Query{Text: "guitar", Ranking: memory.RankingQuestion, Window: 2, Limit: 9, Filter: memory.Filter{Agent: new("conv:1:jon")}})
		t.same("Recall", unordered(hitIDs(hits)), unordered(ids(4, 6, 8)))
	}},
	{"QuestionLikeTheReference", "Whatever is asked of conversations, with whatever filter and scope, the answer is that of the reference.", func(t *trial) {
		random := rand.New(rand.NewPCG(9, 9))
		entries := rambling(random, 90)
		s := t.with(entries...)
		reference, err := memory.NewStore(memory.WithEntries(entries...), memory.WithClock(t.clock.now))
		if err != nil {
			t.Fatal(err)
		}
		for range 150 {
			q, scope := anyQuestion(random)
			want := answerRecall(t.Context(), reference.In(scope), q)
			if got := answerRecall(t.Context(), s.Backend.In(scope), q); got != want {
				t.Fatalf("%+v in %+v (-reference +store):\n%s", q, scope, cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
			}
		}
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
		t.same("relevance", []float64{hits[0].Parts.Relevance, hits[1].Parts.Relevance, hits[3].Parts.Relevance}, []float64{1, 0.3, 0})
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

// conversation returns n turns of two speakers, a minute apart, of which those
// in texts say what is there, and the others nothing in particular.
func conversation(n int, texts map[int]string) (turns []memory.Entry) {
	for i := 1; i <= n; i++ {
		text, ok := texts[i]
		if !ok {
			text = "hm"
		}
		e := entry(i, text, agent([]string{"conv:1:jon", "conv:1:gina"}[i%2]))
		e.CreatedAt = epoch.Add(time.Duration(i)*time.Minute - 100*time.Hour)
		turns = append(turns, e)
	}
	return turns
}

// The words of rambling conversations, and who speaks.
var (
	ramblingWords  = strings.Fields("guitar piano violin tent lake boat bread oven flour rain")
	ramblingAgents = []string{"conv:1:jon", "conv:1:gina", "conv:2:jon", "conv:2:maria", "solo"}
)

// rambling returns n turns of several conversations at a time, each of which
// stays with a subject for a while.
func rambling(random *rand.Rand, n int) (turns []memory.Entry) {
	subject := 0
	for i := range n {
		if random.IntN(6) == 0 {
			subject = random.IntN(len(ramblingWords) - 3)
		}
		words := []string{"so"}
		for range random.IntN(4) {
			words = append(words, ramblingWords[subject+random.IntN(3)])
		}
		e := entry(i+1, strings.Join(words, " "), agent(ramblingAgents[random.IntN(len(ramblingAgents))]), strength(random.Float64()))
		e.CreatedAt = epoch.Add(time.Duration(i*random.IntN(3))*20*time.Minute - 100*time.Hour)
		e.Confidentiality = memory.Confidentiality(max(random.IntN(9)-5, 0))
		if random.IntN(3) == 0 {
			e.Embedding = []float32{random.Float32(), 1 - random.Float32(), 0.5}
		}
		turns = append(turns, e)
	}
	return turns
}

// anyQuestion returns a question about what is said in rambling conversations,
// and a scope to ask it in.
func anyQuestion(random *rand.Rand) (q memory.Query, scope memory.Scope) {
	q = memory.Query{Ranking: memory.RankingQuestion, Window: random.IntN(4), Limit: random.IntN(12)}
	var words []string
	for range random.IntN(4) {
		words = append(words, ramblingWords[random.IntN(len(ramblingWords))])
	}
	q.Text = strings.Join(words, " ")
	one := func() bool { return random.IntN(4) == 0 }
	if one() {
		q.Embedding = []float32{random.Float32(), random.Float32(), random.Float32()}
	}
	if one() {
		q.Agent = &ramblingAgents[random.IntN(len(ramblingAgents))]
	}
	if one() {
		q.MaxConfidentiality = new(memory.Internal)
	}
	if one() {
		q.MinStrength = new(random.Float64() / 4)
	}
	if one() {
		scope.Namespace = []string{"conv:1", "conv:2:maria", "solo"}[random.IntN(3)]
	}
	if one() {
		scope.MaxConfidentiality = new(memory.Confidential)
	}
	return q, scope
}
