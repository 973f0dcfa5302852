package sqlitestore

import (
	"slices"
	"strings"
	"time"

	"github.com/loopmem/loopmem/memory"
)

// condition is what stands behind WHERE, over the tables entry AS e and
// entry_state AS s. The texts come from a small fixed set, so that statements
// can be kept prepared; whatever varies is an argument.
type condition struct {
	terms []string
	args  []any
}

func where(term string, args ...any) condition {
	return condition{terms: []string{term}, args: args}
}

func (c condition) and(other condition) condition {
	return condition{
		terms: append(c.terms[:len(c.terms):len(c.terms)], other.terms...),
		args:  append(c.args[:len(c.args):len(c.args)], other.args...),
	}
}

func (c condition) or(other condition) condition {
	either := "(" + strings.Join(c.terms, " AND ") + " OR " + strings.Join(other.terms, " AND ") + ")"
	return where(either, slices.Concat(c.args, other.args)...)
}

func (c condition) sql() string {
	if len(c.terms) == 0 {
		return ""
	}
	return "WHERE " + strings.Join(c.terms, " AND ")
}

// within is the condition of a scope.
func within(scope memory.Scope) (c condition) {
	if scope.Empty() {
		return where("FALSE")
	}
	if scope.Namespace != "" {
		c = below(scope.Namespace)
	}
	return c.and(upTo(scope.MaxConfidentiality))
}

// below is the condition of an agent or those below it. A range, unlike LIKE
// or GLOB, knows no special characters and uses the index. ';' is the
// character after ':'.
func below(namespace string) condition {
	return where("(e.agent = ? OR e.agent >= ? AND e.agent < ?)", namespace, namespace+":", namespace+";")
}

func upTo(level *memory.Confidentiality) (c condition) {
	if level != nil {
		c = where("e.confidentiality <= ?", int(*level))
	}
	return c
}

// passing is the condition of a filter. It lets pass every row that the
// filter does, and few others: effective strength, which SQL cannot compute
// to the last bit, is for memory.Filter to decide in the end.
func passing(f *memory.Filter, now time.Time) (c condition) {
	switch {
	case f.Agent != nil:
		c = where("e.agent = ?", *f.Agent)
	case f.AgentPrefix != "":
		c = where("e.agent >= ?", f.AgentPrefix)
		if after, ok := afterPrefix(f.AgentPrefix); ok {
			c = c.and(where("e.agent < ?", after))
		}
	}
	if f.Category != "" {
		c = c.and(where("e.category = ?", string(f.Category)))
	}
	if f.MemoryType != nil {
		c = c.and(where("e.memory_type = ?", int(*f.MemoryType)))
	}
	if f.MinStrength != nil && *f.MinStrength > 0 {
		// Nothing is stronger than its fade says; see fade.go.
		c = c.and(where("s.fade >= ?", fadeThreshold(*f.MinStrength, now)-fadeMargin))
	}
	return c.and(upTo(f.MaxConfidentiality))
}

// afterPrefix returns the least text that is greater than every text with the
// prefix, compared byte by byte as SQLite does.
func afterPrefix(prefix string) (string, bool) {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1]), true
		}
	}
	return "", false
}
