package memory_test

import (
	"testing"

	"github.com/loopmem/loopmem/memory"
)

func TestScopeContains(t *testing.T) {
	for _, test := range []struct {
		namespace, agent string
		want             bool
	}{
		{"", "", true},
		{"", "anyone", true},
		{"tg:1", "tg:1", true},
		{"tg:1", "tg:1:assistant", true},
		{"tg:1", "tg:1:", true},
		{"tg:1", "tg:12", false},
		{"tg:1", "tg", false},
		{"tg:1", "TG:1", false},
		{"tg:1", "", false},
		{"tg:1", "x:tg:1", false},
		{"tg", "tg:1", true},
		{"tg:", "tg:1", false}, // below "tg:" is only what starts with "tg::"
		{"tg:", "tg::1", true},
	} {
		s := memory.Scope{Namespace: test.namespace}
		if got := s.Contains(test.agent, memory.Restricted); got != test.want {
			t.Errorf("namespace %q contains %q: %t, want %t", test.namespace, test.agent, got, test.want)
		}
	}
	s := memory.Scope{MaxConfidentiality: new(memory.Internal)}
	for level, want := range map[memory.Confidentiality]bool{memory.Public: true, memory.Internal: true, memory.Confidential: false, memory.Restricted: false} {
		if got := s.Contains("", level); got != want {
			t.Errorf("a scope up to internal contains %s: %t, want %t", level, got, want)
		}
	}
}

func TestScopeIn(t *testing.T) {
	for _, test := range []struct {
		outer, inner, want string
		empty              bool
	}{
		{"", "", "", false},
		{"", "a", "a", false},
		{"a", "", "a", false},
		{"a", "a", "a", false},
		{"a", "a:b", "a:b", false},
		{"a:b", "a", "a:b", false},
		{"a", "ab", "", true},
		{"ab", "a", "", true},
		{"a:b", "a:c", "", true},
		{"a:b:c", "a", "a:b:c", false},
	} {
		s := memory.Scope{Namespace: test.outer}.In(memory.Scope{Namespace: test.inner})
		if s.Empty() != test.empty || !test.empty && s.Namespace != test.want {
			t.Errorf("%q in %q is %+v, want %q, empty %t", test.inner, test.outer, s, test.want, test.empty)
		}
		if test.empty {
			for _, agent := range []string{"", test.outer, test.inner} {
				if s.Contains(agent, memory.Public) {
					t.Errorf("%q in %q contains %q", test.inner, test.outer, agent)
				}
			}
			if again := s.In(memory.Scope{}); !again.Empty() {
				t.Errorf("narrowed once more, %q in %q is not empty any longer", test.inner, test.outer)
			}
		}
	}
}

func TestScopeInLevels(t *testing.T) {
	public, restricted := memory.Public, memory.Restricted
	for _, test := range []struct{ outer, inner, want *memory.Confidentiality }{
		{nil, nil, nil},
		{nil, &public, &public},
		{&public, nil, &public},
		{&public, &restricted, &public},
		{&restricted, &public, &public},
	} {
		s := memory.Scope{MaxConfidentiality: test.outer}.In(memory.Scope{MaxConfidentiality: test.inner})
		if got := s.MaxConfidentiality; (got == nil) != (test.want == nil) || got != nil && *got != *test.want {
			t.Errorf("%v in %v is %v, want %v", test.inner, test.outer, got, test.want)
		}
	}
}
