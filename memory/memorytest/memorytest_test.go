package memorytest

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// The suite is tested on stores that break a rule each: one that passes them
// would protect nobody.

// opens returns an Open for stores with a fault.
func opens(fault func(*sound) memory.Backend, extra ...memory.Option) Open {
	return func(t testing.TB, options ...memory.Option) memory.Backend {
		s, err := memory.NewStore(append(options, extra...)...)
		if err != nil {
			t.Fatal(err)
		}
		return fault(s)
	}
}

var flawless = func(s *sound) memory.Backend { return s }

func TestRunPassesASoundStore(t *testing.T) { Run(t, opens(flawless)) }

func TestRunComplainsOfFaults(t *testing.T) {
	for name, test := range map[string]struct {
		open  Open
		rules []string
	}{
		"loses stamps":                {opens(func(s *sound) memory.Backend { return losesStamps{s} }), []string{"StampsOnMatches", "StampsFoldOnce", "StampsKeepLatest", "StampsBeforeMerge"}},
		"stamps what is cut off":      {opens(func(s *sound) memory.Backend { return stampsTheCutOff{s} }), []string{"StampsOnMatches"}},
		"counts at once":              {opens(func(s *sound) memory.Backend { return countsAtOnce{s} }), []string{"StampsArePending"}},
		"returns later ties first":    {opens(func(s *sound) memory.Backend { return laterTiesFirst{s} }), []string{"RetrieveTies", "GoldenRetrieve"}},
		"takes queries for syntax":    {opens(func(s *sound) memory.Backend { return takesQueriesForSyntax{s} }), []string{"QueriesAreText", "GoldenRetrieve"}},
		"leaks restricted entries":    {opens(flawless, memory.WithRestricted()), []string{"RetrieveRestricted", "GoldenRetrieve"}},
		"recalls without counting":    {opens(func(s *sound) memory.Backend { return recallsWithoutCounting{s} }), []string{"RecallCountsAccess", "RecallNoReinforce", "NoUpdateIsLost"}},
		"always reinforces":           {opens(func(s *sound) memory.Backend { return alwaysReinforces{s} }), []string{"RecallNoReinforce", "GoldenRecall"}},
		"folds the case of filters":   {opens(func(s *sound) memory.Backend { return foldsFilters{s} }), []string{"RecallFiltersAreLiteral"}},
		"replaces in place":           {opens(func(s *sound) memory.Backend { return replacesInPlace{s} }), []string{"StoreReplaces", "StampsGoWithTheEntry"}},
		"swallows invalid entries":    {opens(func(s *sound) memory.Backend { return swallowsInvalid{s} }), []string{"StoreRefuses"}},
		"truncates long texts":        {opens(func(s *sound) memory.Backend { return truncates{s} }), []string{"StoreLongText"}},
		"keeps microseconds":          {opens(func(s *sound) memory.Backend { return keepsMicroseconds{s} }), []string{"StoreKeepsEveryField", "StoreNormalizesTimes"}},
		"outlives contexts":           {opens(func(s *sound) memory.Backend { return outlivesContexts{s} }), []string{"CancelledContext"}},
		"stores batches one by one":   {opens(func(s *sound) memory.Backend { return storesOneByOne{s} }), []string{"BatchFail", "BatchMakesRoom", "StoreRefuses"}},
		"shares memory":               {opens(func(s *sound) memory.Backend { return sharesMemory{s, make(map[uuid.UUID]memory.Record)} }), []string{"CallersOwnWhatTheyGet"}},
		"ignores versions":            {opens(func(s *sound) memory.Backend { return ignoresVersions{s} }), []string{"UpdateIfVersion", "VersionsOutliveTheEntry"}},
		"keeps the embedding":         {opens(func(s *sound) memory.Backend { return keepsEmbedding{s} }), []string{"UpdateText", "UpdateChangesWhatItNames"}},
		"links one way":               {opens(func(s *sound) memory.Backend { return linksOneWay{s} }), []string{"LinkBothWays", "LinkRefuses"}},
		"knows no rankings":           {opens(func(s *sound) memory.Backend { return knowsNoRankings{s} }), []string{"QuestionForms", "QuestionScore", "QuestionOldAnswer", "QuestionSpeaker", "QuestionByEmbedding"}},
		"ignores windows":             {opens(func(s *sound) memory.Backend { return ignoresWindows{s} }), []string{"QuestionWindow", "QuestionWindowFilters", "QuestionRefuses"}},
		"prunes by text":              {opens(func(s *sound) memory.Backend { return prunesByText{s} }), []string{"PrunePrefix", "GoldenRecall"}},
		"consolidates in the preview": {opens(func(s *sound) memory.Backend { return doesWhatItPreviews{s} }), []string{"PreviewConsolidation"}},
		"miscounts the bytes saved":   {opens(func(s *sound) memory.Backend { return miscounts{s} }), []string{"GoldenConsolidate", "ConsolidateOnce"}},
		"unpins":                      {opens(func(s *sound) memory.Backend { return unpins{s} }), []string{"ConsolidatePinned"}},
		"lists live":                  {opens(func(s *sound) memory.Backend { return listsLive{s} }), []string{"EntriesSnapshot"}},
		"has no scopes":               {opens(func(s *sound) memory.Backend { return seesEverything{s} }), scopes()},
		"has no levels":               {opens(func(s *sound) memory.Backend { return forgetsLevels{s} }), scopes("ScopeIsLiteral")},
		"filters afterwards":          {opens(func(s *sound) memory.Backend { return filtersAfterwards{s} }), []string{"ScopeRetrieve", "ScopeRecall", "ScopeIsAStoreOfItsOwn"}},
		"never closes":                {opens(func(s *sound) memory.Backend { return neverCloses{s} }), []string{"Closed"}},
		"ignores its capacity":        {opens(flawless, memory.WithCapacity(0)), []string{"CapacityPushesOutTheWeakest", "CapacityTies", "CapacityFull"}},
		"ignores its clock":           {opens(flawless, memory.WithClock(newClock().now)), []string{"ConsolidateUsesTheClock", "StampsKeepLatest", "GoldenRecall", "GoldenConsolidate"}},
	} {
		for _, r := range test.rules {
			if len(complain(t, named(t, r), test.open)) == 0 {
				t.Errorf("a store that %s passes %s", name, r)
			}
		}
	}
}

// scopes returns the names of the rules about scopes, but for those excepted.
func scopes(except ...string) []string {
	var names []string
	for _, r := range scopeRules {
		if !slices.Contains(except, r.name) {
			names = append(names, r.name)
		}
	}
	return names
}

// Every rule can fail: a store that does nothing and reports success meets
// none of them.
func TestRunComplainsOfADeadStore(t *testing.T) {
	for _, r := range rules() {
		if len(complain(t, r, func(testing.TB, ...memory.Option) memory.Backend { return dead{} })) == 0 {
			t.Errorf("a store that does nothing passes %s", r.name)
		}
	}
}

// A suite that finds nothing to check must not pass.
func TestGoldenCasesMissing(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no directory":           nil,
		"no file":                {"other.jsonl": "{}"},
		"an empty file":          {"retrieve.jsonl": "\n", "consolidate.jsonl": "", "recall.jsonl": "\n\n"},
		"cases of nothing":       {"retrieve.jsonl": "{}", "consolidate.jsonl": "{}", "recall.jsonl": "{}"},
		"cases that are no JSON": {"retrieve.jsonl": "{", "consolidate.jsonl": "{", "recall.jsonl": "{"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "cases")
			if files != nil {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv(DirVariable, dir)
			for _, r := range goldenRules {
				if len(complain(t, r, opens(flawless))) == 0 {
					t.Errorf("%s passes", r.name)
				}
			}
		})
	}
}

// The variable leads to the cases it names, and to none else.
func TestGoldenCasesFromDirectory(t *testing.T) {
	dir := t.TempDir()
	right := `{"entries":[{"id":"5eed0001-0000-4000-8000-000000000001","category":"fact","memory":"a","tags":[],"created_at":{"secs_since_epoch":1,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,"validated":false}],"queries":[{"query":"a","limit":1,"want":[{"id":"5eed0001-0000-4000-8000-000000000001","score":1.0,"matched":true}]}]}`
	t.Setenv(DirVariable, dir)
	for text, pass := range map[string]bool{
		right: true,
		strings.Replace(right, `"score":1.0`, `"score":0.9999999`, 1):      false,
		strings.Replace(right, `"matched":true`, `"matched":false`, 1):     false,
		right + "\n" + strings.Replace(right, `"limit":1`, `"limit":0`, 1): false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "retrieve-own.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := complain(t, named(t, "GoldenRetrieve"), opens(flawless)); (len(got) == 0) != pass {
			t.Errorf("complaints are %q about %s", got, text)
		}
	}
}

func TestDifferentialComplains(t *testing.T) {
	// Histories are random, and a fault may wait for the right one: as many as
	// it takes, always the same ones, and fewer are not enough with -short.
	for name, value := range map[string]string{
		"rapid.nofailfile": "true", "rapid.shrinktime": "100ms", "rapid.seed": "1", "rapid.checks": "2000",
	} {
		f := flag.Lookup(name)
		t.Cleanup(func(before string) func() { return func() { f.Value.Set(before) } }(f.Value.String()))
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
	}
	for name, open := range map[string]Open{
		"loses stamps":             opens(func(s *sound) memory.Backend { return losesStamps{s} }),
		"replaces in place":        opens(func(s *sound) memory.Backend { return replacesInPlace{s} }),
		"recalls without counting": opens(func(s *sound) memory.Backend { return recallsWithoutCounting{s} }),
	} {
		got := complaints(t, func(tb testing.TB) { Differential(tb, opens(flawless), open) })
		if !mentions(got, "answers differently") {
			t.Errorf("a store that %s: complaints are %q", name, got)
		}
	}
}
