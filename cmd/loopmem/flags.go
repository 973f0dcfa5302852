package main

import (
	"errors"
	"fmt"
	"math"
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

// filled makes the function of a flag that takes any text but an empty one. As
// a filter that would be none, and $UNSET in a script would choose everything.
func filled[T ~string](target *T) func(string) error {
	return func(text string) error {
		if text == "" {
			return errors.New("it is empty; give a text, or leave the flag out")
		}
		*target = T(text)
		return nil
	}
}

// filledList is the same for a flag that may be repeated.
func filledList(target *[]string) func(string) error {
	return func(text string) error {
		var one string
		if err := filled(&one)(text); err != nil {
			return err
		}
		*target = append(*target, one)
		return nil
	}
}

// filterFlags adds the flags that choose entries.
func filterFlags(flags *pflag.FlagSet, f *memory.Filter) {
	flags.Func("category", "only this category `NAME`", filled(&f.Category))
	flags.Func("tag", "only entries with this `TAG`; repeated: with any of them", filledList(&f.Tags))
	flags.Func("agent", "only this `AGENT`; empty: only entries without one", into(&f.Agent, verbatim))
	flags.Func("agent-prefix", "only agents that begin with this `TEXT` (tg:1 is the beginning of tg:12 too; --namespace tg:1 leaves that out)", filled(&f.AgentPrefix))
	flags.Func("type", "only this memory `TYPE`: episodic, semantic or reflection", into(&f.MemoryType, memory.ParseMemoryType))
	flags.Func("min-strength", "only entries at least that strong now, `0..1`", into(&f.MinStrength, parseStrength))
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
	usage := "`NAME`: trajectory, insight, error_pattern, strategy, fact, working, or one of your own"
	if e.Category != "" {
		usage += fmt.Sprintf(" (default %s)", e.Category)
	}
	flags.Func("category", usage, filled(&e.Category))
	flags.StringVar(&e.Agent, "agent", "", "the `AGENT` it belongs to, such as tg:123:assistant")
	flags.Func("importance", "`1..10`, default 5", intoValue(&e.Importance, parseImportance))
	flags.StringVar(&e.Summary, "summary", "", "a `TEXT` that says it shorter")
	flags.BoolVar(&e.Validated, "validated", false, "it was confirmed")
	flags.BoolVar(&e.Pinned, "pin", false, "neither consolidate nor prune it")
	flags.Func("confidentiality", "`LEVEL`: public (default), internal, confidential or restricted", intoValue(&e.Confidentiality, memory.ParseConfidentiality))
}

func verbatim(text string) (string, error) { return text, nil }

// strength is the value of a flag from 0 to 1.
type strength float64

func (s *strength) Set(text string) error {
	value, err := parseStrength(text)
	if err == nil {
		*s = strength(value)
	}
	return err
}

func (s *strength) String() string { return strconv.FormatFloat(float64(*s), 'g', -1, 64) }
func (s *strength) Type() string   { return "0..1" }

func parseStrength(text string) (float64, error) {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || !(x >= 0 && x <= 1) {
		return 0, fmt.Errorf("use a number from 0 to 1")
	}
	return x, nil
}

// amount is the value of a flag that counts something.
type amount struct {
	value *int
	most  int
}

// amountFlag adds a flag that takes a number from 0 to most, by default what
// value holds.
func amountFlag(flags *pflag.FlagSet, value *int, name, shorthand string, most int, usage string) {
	flags.VarP(&amount{value, most}, name, shorthand, usage)
}

func (a *amount) Set(text string) error {
	n, err := strconv.Atoi(text)
	switch {
	case (err != nil || n < 0) && a.most == math.MaxInt:
		return fmt.Errorf("use a whole number, 0 or more")
	case err != nil || n < 0 || n > a.most:
		return fmt.Errorf("use a whole number from 0 to %d", a.most)
	}
	*a.value = n
	return nil
}

func (a *amount) String() string {
	if a.value == nil {
		return "0" // pflag asks a zero one for what not to print as a default
	}
	return strconv.Itoa(*a.value)
}

func (a *amount) Type() string { return "int" }

func parseImportance(text string) (uint8, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 10 {
		return 0, fmt.Errorf("use a number from 1 to 10")
	}
	return uint8(n), nil
}

// period is the value of a flag that says how long to wait. It is never 0,
// which the options behind such flags take for their defaults.
type period time.Duration

func (p *period) Set(text string) error {
	value, err := parseAge(text)
	if err != nil || value == 0 {
		return fmt.Errorf("use a duration above 0, such as 3s or 1m")
	}
	*p = period(value)
	return nil
}

func (p *period) String() string { return time.Duration(*p).String() }
func (p *period) Type() string   { return "duration" }

// parseAge reads a duration as Go writes it, or in days: 36h, 30d.
func parseAge(text string) (time.Duration, error) {
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(days, 64); !(n >= 0 && n <= 36500) {
			n = -1
		}
		age = time.Duration(n * float64(24*time.Hour))
	}
	if err != nil || age < 0 {
		return 0, fmt.Errorf("use a duration such as 36h or 30d")
	}
	return age, nil
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
