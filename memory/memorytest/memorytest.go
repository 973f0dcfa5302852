// Package memorytest checks any implementation of [memory.Backend] against
// the contract that all stores share. One call per backend does it:
//
//	func TestConformance(t *testing.T) {
//		memorytest.Run(t, func(t testing.TB, options ...memory.Option) memory.Backend {
//			store, err := mystore.Open(filepath.Join(t.TempDir(), "store"), options...)
//			if err != nil {
//				t.Fatal(err)
//			}
//			t.Cleanup(func() { store.Close() })
//			return store
//		})
//	}
//
// [Differential] goes further: it runs random histories through two or more
// backends side by side and compares every answer.
//
// # Golden cases
//
// The files in testdata hold inputs over awkward words (case, punctuation,
// combining marks, CJK, Devanagari, final sigma, dotted İ, emoji, FTS5
// operators) with the results that the published formulas give, computed
// independently of this module. They are the fixed point: a case that fails
// shows a fault of the store, never a reason to change the case. One JSON
// object a line:
//
//   - retrieve*.jsonl: entries in insertion order, and queries with the result
//     wanted, order, score (to the last bit) and matched.
//   - consolidate*.jsonl: config, now, entries, and the stats and survivors
//     wanted, equal in every field the case lists, relevance within 1e-6.
//   - recall*.jsonl: now, entries, queries with score (within 1e-9),
//     access_count and strength wanted, and prunes with the ids that go. Each
//     of them starts from the given entries.
//
// The variable LOOPMEM_CONFORMANCE_DIR names another directory to take the
// cases from. A directory that lacks one of the kinds fails the test.
package memorytest

import (
	"slices"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// Open makes a fresh, empty store for one case, with the options given, and
// has t.Cleanup close it. Some cases close the store themselves; a second
// Close must do no harm.
type Open func(t testing.TB, options ...memory.Option) memory.Backend

// Run checks a backend against every rule of the contract. Each rule is a
// subtest of its own, and a failed one is explained.
func Run(t *testing.T, open Open) {
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) { r.run(t, open) })
	}
}

// rule is one sentence of the contract with the check that it holds.
type rule struct {
	name  string
	text  string
	check func(t *trial)
}

func rules() []rule {
	return slices.Concat(
		goldenRules,
		storingRules,
		batchRules,
		retrievalRules,
		stampRules,
		recallRules,
		questionRules,
		updateRules,
		consolidationRules,
		removalRules,
		listingRules,
		scopeRules,
		embeddingRules,
		handleRules,
	)
}

func (r *rule) run(t testing.TB, open Open) {
	defer func() {
		if t.Failed() {
			t.Logf("the rule: %s", r.text)
		}
	}()
	r.check(&trial{TB: t, open: open, clock: newClock()})
}
