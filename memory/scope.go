package memory

import "strings"

// Scope is the part of a store that a handle may see and change. The zero
// Scope is the whole store.
type Scope struct {
	// Namespace limits the handle to entries whose agent is this name or lies
	// below it: tg:123 covers tg:123 and tg:123:assistant, never tg:1234.
	// Empty means every agent.
	Namespace string
	// MaxConfidentiality is the highest level the handle sees; nil means all.
	MaxConfidentiality *Confidentiality

	// nothing is set where two namespaces do not meet.
	nothing bool
}

// Contains reports whether an entry of that agent and level lies within s.
func (s *Scope) Contains(agent string, level Confidentiality) bool {
	return !s.nothing && within(agent, s.Namespace) &&
		(s.MaxConfidentiality == nil || level <= *s.MaxConfidentiality)
}

// Empty reports whether s can contain no entry at all, because it was
// narrowed to a namespace outside its own.
func (s *Scope) Empty() bool { return s.nothing }

// Whole reports whether s contains every entry there can be.
func (s *Scope) Whole() bool {
	return !s.nothing && s.Namespace == "" && (s.MaxConfidentiality == nil || *s.MaxConfidentiality >= Restricted)
}

// In narrows s to what inner covers as well. A scope can only shrink: a
// namespace outside s gives an empty scope.
func (s Scope) In(inner Scope) Scope {
	out := Scope{Namespace: inner.Namespace, nothing: s.nothing || inner.nothing}
	switch {
	case inner.Namespace == "" || within(s.Namespace, inner.Namespace) && s.Namespace != "":
		out.Namespace = s.Namespace
	case !within(inner.Namespace, s.Namespace):
		out.nothing = true
	}
	out.MaxConfidentiality = s.MaxConfidentiality
	if inner.MaxConfidentiality != nil && (out.MaxConfidentiality == nil || *inner.MaxConfidentiality < *out.MaxConfidentiality) {
		out.MaxConfidentiality = inner.MaxConfidentiality
	}
	return out
}

// Admit prepares an entry for being stored through a handle of this scope: an
// entry without an agent gets the namespace as its agent; one that lies
// outside is refused with [ErrScope].
func (s *Scope) Admit(e *Entry) error {
	if e.Agent == "" {
		e.Agent = s.Namespace
	}
	if !s.Contains(e.Agent, e.Confidentiality) {
		return ErrScope
	}
	return nil
}

// within reports whether agent is the namespace or lies below it; everything
// lies within the empty namespace.
func within(agent, namespace string) bool {
	rest, ok := strings.CutPrefix(agent, namespace)
	return namespace == "" || ok && (rest == "" || rest[0] == ':')
}
