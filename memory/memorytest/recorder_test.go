package memorytest

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a TB that notes complaints instead of failing. What a store
// under test would have cleaned up is cleaned up with the real test.
type recorder struct {
	testing.TB
	mu         sync.Mutex // guards complaints: cases may complain from any goroutine
	complaints []string
}

// complaints runs a check that is expected to fail and returns what it said.
func complaints(t *testing.T, check func(testing.TB)) []string {
	t.Helper()
	r := &recorder{TB: t}
	done := make(chan struct{})
	go func() { // of its own, because FailNow ends the goroutine
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				r.Errorf("panic: %v", p)
			}
		}()
		check(r)
	}()
	<-done
	return r.complaints
}

// complain returns what one rule says about a store.
func complain(t *testing.T, r rule, open Open) []string {
	t.Helper()
	return complaints(t, func(tb testing.TB) { r.run(tb, open) })
}

// named returns the rule of that name.
func named(t *testing.T, name string) rule {
	t.Helper()
	for _, r := range rules() {
		if r.name == name {
			return r
		}
	}
	t.Fatalf("there is no rule %q", name)
	return rule{}
}

func (r *recorder) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, text)
}

func (r *recorder) Failed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.complaints) > 0
}

func (r *recorder) Fail()                        { r.note("failed") }
func (r *recorder) FailNow()                     { r.note("failed"); runtime.Goexit() }
func (r *recorder) Error(args ...any)            { r.note(fmt.Sprintln(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.note(fmt.Sprintln(args...)); runtime.Goexit() }
func (r *recorder) Fatalf(f string, args ...any) { r.note(fmt.Sprintf(f, args...)); runtime.Goexit() }
func (r *recorder) Logf(string, ...any)          {}
func (r *recorder) Log(...any)                   {}

// mentions reports whether any of the complaints contains the text.
func mentions(complaints []string, text string) bool {
	return strings.Contains(strings.Join(complaints, "\n"), text)
}
