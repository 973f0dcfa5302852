package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/loopmem/loopmem/memory"
)

// into makes the function of a flag that sets a pointer which is nil
// otherwise.
func into[T any](target **T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		value, err := parse(text)
		if err == nil {
			*target = &value
		}
		return err
	}
}

// intoValue is the same for a target that has a default.
func intoValue[T any](target *T, parse func(string) (T, error)) func(string) error {
	return func(text string) error {
		value, err := parse(text)
		if err == nil {
			*target = value
		}
		return err
	}
}

// filterFlags adds the flags that choose entries.
func filterFlags(flags *pflag.FlagSet, f *memory.Filter) {
	flags.StringVar((*string)(&f.Category), "category", "", "only this category `NAME`")
	flags.StringArrayVar(&f.Tags, "tag", nil, "only entries with this `TAG`; repeated: with any of them")
	flags.Func("agent", "only this `AGENT`; empty: only entries without one", into(&f.Agent, verbatim))
	flags.StringVar(&f.AgentPrefix, "agent-prefix", "", "only agents that begin with this `TEXT`")
	flags.Func("type", "only this memory `TYPE`: episodic, semantic or reflection", into(&f.MemoryType, memory.ParseMemoryType))
	flags.Func("min-strength", "only entries at least that strong now, `0..1`", into(&f.MinStrength, parseFloat))
	flags.Func("max-confidentiality", "only entries up to this `LEVEL`: public, internal, confidential or restricted", into(&f.MaxConfidentiality, memory.ParseConfidentiality))
}

// isSet reports whether any flag of filterFlags was given.
func isSet(flags *pflag.FlagSet) bool {
	for _, name := range []string{"category", "tag", "agent", "agent-prefix", "type", "min-strength", "max-confidentiality"} {
		if flags.Changed(name) {
			return true
		}
	}
	return false
}

// entryFlags adds the flags that set fields of an entry.
func entryFlags(flags *pflag.FlagSet, e *memory.Entry) {
	flags.StringVar((*string)(&e.Category), "category", string(e.Category), "`NAME`: trajectory, insight, error_pattern, strategy, fact, working, or one of your own")
	flags.StringVar(&e.Agent, "agent", "", "the `AGENT` it belongs to, such as tg:123:assistant")
	flags.Func("importance", "`1..10`, default 5", intoValue(&e.Importance, parseImportance))
	flags.StringVar(&e.Summary, "summary", "", "a `TEXT` that says it shorter")
	flags.BoolVar(&e.Validated, "validated", false, "it was confirmed")
	flags.BoolVar(&e.Pinned, "pin", false, "neither consolidate nor prune it")
	flags.Func("confidentiality", "`LEVEL`: public (default), internal, confidential or restricted", intoValue(&e.Confidentiality, memory.ParseConfidentiality))
}

func verbatim(text string) (string, error) { return text, nil }

func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }

func parseImportance(text string) (uint8, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 10 {
		return 0, fmt.Errorf("use a number from 1 to 10")
	}
	return uint8(n), nil
}

// parseAge reads a duration as Go writes it, or in days: 36h, 30d.
func parseAge(text string) (time.Duration, error) {
	days, ok := strings.CutSuffix(text, "d")
	if !ok {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseFloat(days, 64)
	if err != nil || !(n >= 0 && n <= 36500) {
		return 0, fmt.Errorf("use a duration such as 36h or 30d")
	}
	return time.Duration(n * float64(24*time.Hour)), nil
}

// attributes reads --attribute KEY=VALUE.
type attributes map[string]string

func (m *attributes) set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return fmt.Errorf("use KEY=VALUE")
	}
	if *m == nil {
		*m = make(attributes)
	}
	(*m)[key] = value
	return nil
}
