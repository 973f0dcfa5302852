package memorytest

import (
	"testing"

	"pgregory.net/rapid"
)

// FuzzDifferential is [Differential] for the fuzzer of the go command: the
// bytes that it makes up are decoded into a history of calls. Each history
// gets stores of its own, so they should be cheap to open.
func FuzzDifferential(f *testing.F, reference Open, others ...Open) {
	opens := append([]Open{reference}, others...)
	f.Add([]byte("store, recall, consolidate, forget"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := lineup{t: t, opens: opens}
		rapid.MakeFuzz(l.run)(t, data)
	})
}
