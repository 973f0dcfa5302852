package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loopmem/loopmem/internal/unseen"
	"github.com/loopmem/loopmem/memory"
)

func TestAddStoresEveryField(t *testing.T) {
	w := newWorld(t)
	id := w.add("retry uploads after a 503", "--category", "strategy", "--agent", "ci:uploader", "--tag", "http", "--tag", "two words",
		"--importance", "8", "--type", "semantic", "--keyword", "backoff", "--summary", "retry", "--pin", "--validated",
		"--confidentiality", "internal", "--author-user", "u1", "--author-tenant", "t1", "--attribute", "ticket=A-1", "--attribute", "note=a=b")
	got := w.entries("show", id)[0]
	want := memory.Entry{
		ID: got.ID, CreatedAt: got.CreatedAt, Relevance: 1, Strength: 1,
		Category: memory.Strategy, Memory: "retry uploads after a 503", Agent: "ci:uploader", Tags: []string{"http", "two words"},
		Importance: 8, MemoryType: memory.Semantic, Keywords: []string{"backoff"}, Summary: "retry", Pinned: true, Validated: true,
		Confidentiality: memory.Internal, AuthorUserID: "u1", AuthorTenantID: "t1",
		Attributes: map[string]string{"ticket": "A-1", "note": "a=b"},
	}
	if diff := cmp.Diff(want, got); diff != "" || got.ID.String() != id {
		t.Errorf("id %s; want (-) against got (+):\n%s", id, diff)
	}
}

func TestAddReadsStandardInput(t *testing.T) {
	w := newWorld(t)
	for input, want := range map[string]string{
		"one line\n":        "one line",
		"windows\r\n":       "windows",
		"two\n\nlines\n\n":  "two\n\nlines",
		"no line end":       "no line end",
		"  space is kept  ": "  space is kept  ",
	} {
		id := decode[struct{ ID string }](t, w.mustWith(input, "add", "-", "--json")).ID
		if got := w.entries("show", id)[0].Memory; got != want {
			t.Errorf("%q was stored as %q", input, got)
		}
	}
}

// small is a world with three entries, whose ids are returned.
func small(t *testing.T) (w *world, ids []string) {
	w = newWorld(t)
	for _, e := range []struct {
		text  string
		flags []string
	}{
		{"The staging cluster is rebuilt every Monday.", []string{"--tag", "ops", "--agent", "tg:1:ops"}},
		{"Uploads to staging fail with 503.", []string{"--category", "error_pattern", "--agent", "tg:12"}},
		{"Tea is at four.", []string{"--importance", "1", "--confidentiality", "restricted"}},
	} {
		ids = append(ids, w.add(e.text, e.flags...))
	}
	return w, ids
}

func TestReadableAnswers(t *testing.T) {
	w, ids := small(t)
	short := func(i int) string { return ids[i][:13] }
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"list": {[]string{"list"}, `
ID             CATEGORY       AGENT     TEXT
` + short(0) + `  fact           tg:1:ops  The staging cluster is rebuilt every Monday.
` + short(1) + `  error_pattern  tg:12     Uploads to staging fail with 503.
` + short(2) + `  fact                     Tea is at four.
`},
		"nothing": {[]string{"list", "--tag", "none"}, "\n"},
		"retrieve": {[]string{"retrieve", "-n", "2", "staging", "uploads"}, `
ID             SCORE  CATEGORY       AGENT     TEXT
` + short(1) + `  1.00*  error_pattern  tg:12     Uploads to staging fail with 503.
` + short(0) + `  0.80*  fact           tg:1:ops  The staging cluster is rebuilt every Monday.
`},
		"retrieve what does not match": {[]string{"retrieve", "-n", "1", "zebra"}, `
ID             SCORE  CATEGORY  AGENT     TEXT
` + short(0) + `  0.60   fact      tg:1:ops  The staging cluster is rebuilt every Monday.
`},
		"consolidate": {[]string{"consolidate", "--dry-run"}, "\nwould be: 3 entries to 3: 0 merged, 0 pruned, 0 B of text saved\n"},
		"prune":       {[]string{"prune", "--dry-run"}, "\nwould prune 0 entries\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(strings.TrimPrefix(test.want, "\n"), w.must(test.args...)); diff != "" {
				t.Errorf("want (-) against got (+):\n%s", diff)
			}
		})
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	w := newWorld(t)
	w.add(strings.Repeat("long ", 50) + "\x1b[31m")
	var out, errs bytes.Buffer
	a := newApp(strings.NewReader(""), &out, &errs, func(name string) string { return w.env[name] })
	a.terminal = func(any) int { return 60 }
	if status := a.run(t.Context(), []string{"list"}); status != exitOK {
		t.Fatal(errs.String())
	}
	for line := range strings.Lines(out.String()) {
		if line = strings.TrimSuffix(line, "\n"); len([]rune(line)) > 60 {
			t.Errorf("%d columns: %q", len([]rune(line)), line)
		}
	}
	if !strings.Contains(out.String(), "…\n") {
		t.Errorf("no mark where it was cut: %q", out.String())
	}
}

func TestReadableAnswersCannotBeFaked(t *testing.T) {
	w := newWorld(t)
	fake := "x\n" + strings.Repeat("1", 13) + "  fact  \x1b[2Jfaked"
	id := w.add(fake, "--category", "a\nb", "--agent", "c\nd", "--tag", "e\nf", "--summary", "g\nid  h", "--attribute", "i\nj=k\nl")
	if lines := strings.Count(w.must("list"), "\n"); lines != 2 {
		t.Errorf("list has %d lines, want the header and one entry", lines)
	}
	for _, args := range [][]string{{"list"}, {"show", id}, {"retrieve", "x"}, {"recall", "x"}, {"stats"}, {"forget", "--tag", "e\nf", "--dry-run"}} {
		out := w.must(args...)
		if strings.ContainsFunc(out, func(r rune) bool { return r != '\n' && unseen.Is(r) }) {
			t.Errorf("%q prints control characters: %q", args, out)
		}
		if strings.Contains(out, "\n1111") || strings.Contains(out, "\nid  h") {
			t.Errorf("%q lets a text begin a line: %q", args, out)
		}
	}
}

func TestJSONOfEntries(t *testing.T) {
	w, ids := small(t)
	stored := make(map[string]string)
	for line := range strings.Lines(w.must("export")) {
		entry, err := memory.DecodeJSON([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		stored[entry.ID.String()] = strings.TrimSuffix(line, "\n")
	}
	if got := w.must("list", "--json"); got != w.must("export") {
		t.Errorf("list --json differs from export: %s", got)
	}
	got := strings.Split(w.must("retrieve", "staging uploads", "--json"), "\n")
	for i, want := range []string{
		stored[ids[1]][:len(stored[ids[1]])-1] + `,"score":1,"matched":true}`,
		stored[ids[0]][:len(stored[ids[0]])-1] + `,"score":0.8,"matched":true}`,
	} {
		if got[i] != want {
			t.Errorf("line %d is %s\nwant %s", i, got[i], want)
		}
	}
	if len(got) != 3 || got[2] != "" {
		t.Errorf("restricted entries belong to no prompt: %q", got)
	}
	if got := w.texts("retrieve", "tea", "--restricted", "-n", "1"); got[0] != "Tea is at four." {
		t.Errorf("retrieve --restricted: %q", got)
	}
}

func TestJSONOfEverythingElse(t *testing.T) {
	w, ids := small(t)
	older := w.write("older.jsonl", string(sample))
	for _, test := range []struct {
		args []string
		want []string // members of the object
	}{
		{[]string{"add", "x"}, []string{"id"}},
		{[]string{"update", ids[0], "--pin"}, []string{"id", "version"}},
		{[]string{"link", ids[0], ids[1]}, []string{"linked"}},
		{[]string{"forget", ids[2]}, []string{"forgotten", "ids", "dry_run"}},
		{[]string{"forget", "--category", "fact", "--dry-run"}, []string{"forgotten", "ids", "dry_run"}},
		{[]string{"prune"}, []string{"pruned", "dry_run"}},
		{[]string{"consolidate"}, []string{"entries_before", "entries_after", "pruned", "merged", "bytes_saved", "dry_run"}},
		{[]string{"import", older}, []string{"read", "imported", "existing", "repeated", "replaced", "skipped", "torn_bytes", "warnings", "seconds"}},
		{[]string{"export", w.path("out.jsonl")}, []string{"entries", "format", "file", "warnings"}},
		{[]string{"verify", older}, []string{"read", "same", "used", "different", "missing", "differences"}},
		{[]string{"stats"}, []string{"entries", "path", "schema_version", "sqlite_version"}},
		{[]string{"stats", "--db", older}, []string{"entries", "path"}},
		{[]string{"version"}, []string{"version", "go"}},
	} {
		got := w.object(test.args...)
		for _, member := range test.want {
			if _, ok := got[member]; !ok {
				t.Errorf("%q has no %s: %v", test.args, member, got)
			}
		}
	}
}

func TestShowDrawsTheForgettingCurve(t *testing.T) {
	w := newWorld(t)
	id := w.add("x")
	curve := decode[struct {
		ForgettingCurve []point `json:"forgetting_curve"`
	}](t, w.must("show", id[:6], "--json")).ForgettingCurve
	want := []point{{0, 1.00}, {1, 0.89}, {7, 0.43}, {30, 0.03}}
	for i := range want {
		if curve[i].Days != want[i].Days || fmt.Sprintf("%.2f", curve[i].Strength) != fmt.Sprintf("%.2f", want[i].Strength) {
			t.Errorf("%+v, want %+v", curve[i], want[i])
		}
	}
	if out := w.must("show", id); !strings.Contains(out, "in 7 d   0.43  █████████████\n") {
		t.Errorf("no curve: %s", out)
	}
}

func TestListPages(t *testing.T) {
	w := newWorld(t)
	var ids []string
	for i := range 5 {
		ids = append(ids, w.add(fmt.Sprint(i)))
	}
	if got := w.texts("list", "--limit", "0"); len(got) != 5 {
		t.Errorf("without a limit: %q", got)
	}
	first := w.run("list", "--limit", "2", "--json")
	if !strings.Contains(first.errors, "--after "+ids[1]) {
		t.Errorf("it does not say how to go on: %q", first.errors)
	}
	if got := w.texts("list", "--limit", "2", "--after", ids[1]); !slices.Equal(got, []string{"2", "3"}) {
		t.Errorf("second page: %q", got)
	}
	if o := w.run("list", "--limit", "2", "--after", ids[2]); o.errors != "" {
		t.Errorf("the last page claims that there are more: %q", o.errors)
	}
	latest := w.run("list", "--reverse", "--limit", "2")
	if !strings.Contains(latest.errors, "the same with --after "+ids[3]) {
		t.Errorf("it does not say how to go on: %q", latest.errors)
	}
	if got := w.texts("list", "--reverse", "--after", ids[3]); !slices.Equal(got, []string{"2", "1", "0"}) {
		t.Errorf("what came before the last two: %q", got)
	}
}

func TestFilters(t *testing.T) {
	w, ids := small(t)
	faded := w.entries("show", ids[2])[0] // the last one, which replacing leaves in its place
	faded.Strength = 0.5
	w.mustWith(string(faded.AppendJSON(nil)), "import", "-", "--on-conflict", "replace")
	staging, uploads, tea := "The staging cluster is rebuilt every Monday.", "Uploads to staging fail with 503.", "Tea is at four."
	for _, test := range []struct {
		flags []string
		want  []string
	}{
		{nil, []string{staging, uploads, tea}},
		{[]string{"--category", "fact"}, []string{staging, tea}},
		{[]string{"--tag", "ops", "--tag", "other"}, []string{staging}},
		{[]string{"--agent", "tg:12"}, []string{uploads}},
		{[]string{"--agent", ""}, []string{tea}},
		{[]string{"--agent-prefix", "tg:1"}, []string{staging, uploads}},
		{[]string{"--namespace", "tg:1"}, []string{staging}},
		{[]string{"--clearance", "confidential"}, []string{staging, uploads}},
		{[]string{"--max-confidentiality", "public"}, []string{staging, uploads}},
		{[]string{"--type", "semantic"}, []string{}},
		{[]string{"--min-strength", "0.75"}, []string{staging, uploads}},
	} {
		for _, command := range []string{"list", "export"} {
			if got := w.texts(append([]string{command}, test.flags...)...); !slices.Equal(got, test.want) {
				t.Errorf("%s %q: %q, want %q", command, test.flags, got, test.want)
			}
		}
		got := w.texts(append([]string{"recall", "--no-reinforce"}, test.flags...)...)
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("recall %q: %q, want %q", test.flags, got, test.want)
		}
	}
}

func TestRecall(t *testing.T) {
	w, ids := small(t)
	if got := w.texts("recall", "stag", "--ranking", "composite", "--limit", "1"); len(got) != 1 {
		t.Errorf("substring: %q", got)
	}
	if got := w.texts("recall", "stag", "--exact-words"); len(got) != 0 {
		t.Errorf("whole words: %q", got)
	}
	if got := w.texts("recall", "monday", "--exact-words"); len(got) != 1 {
		t.Errorf("whole words beside punctuation: %q", got)
	}
	if got := w.texts("recall", "stag"); len(got) != 0 {
		t.Errorf("part of a word in a question: %q", got)
	}
	if out := w.must("recall", "What rotates on a Monday?", "--explain"); !strings.Contains(out, "*Monday*.\n      (for monday: relevance 1.00") {
		t.Errorf("recall --explain printed:\n%s", out)
	}
	if out := w.must("recall", "What rotates on a Monday?", "--explain", "--json"); !strings.Contains(out, `"explanation":{"ranking":"question","relevance":1,`) {
		t.Errorf("recall --explain --json printed:\n%s", out)
	}
	w.must("link", ids[0][:8], ids[2][:8])
	if got := w.texts("recall", "monday"); len(got) != 2 {
		t.Errorf("a link brings the other entry: %q", got)
	}
	if got := w.entries("show", ids[0])[0]; got.AccessCount == 0 || got.LastAccessed == nil {
		t.Errorf("it was not counted: %+v", got)
	}
}

func TestUpdateChangesOnlyWhatFlagsName(t *testing.T) {
	w := newWorld(t)
	id := w.add("first", "--tag", "a", "--tag", "b", "--keyword", "k", "--attribute", "x=1", "--attribute", "y=2")
	w.mustWith("second\n", "update", id, "--append", "-", "--tag", "c", "--tag", "a", "--untag", "b", "--unkeyword", "k",
		"--attribute", "x=", "--attribute", "z=3", "--category", "insight", "--importance", "9", "--validated", "--pin", "--summary", "s")
	got := w.entries("show", id)[0]
	want := memory.Entry{
		ID: got.ID, CreatedAt: got.CreatedAt, LastAccessed: got.LastAccessed, Relevance: 1, Strength: 1,
		Category: memory.Insight, Memory: "first\nsecond", Tags: []string{"a", "c"}, Importance: 9, Validated: true, Pinned: true,
		Summary: "s", Attributes: map[string]string{"y": "2", "z": "3"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) against got (+):\n%s", diff)
	}
	w.must("update", id, "--text", "third", "--pin=false", "--agent", "x")
	got = w.entries("show", id)[0]
	want.Memory, want.Pinned, want.Agent, want.LastAccessed = "third", false, "x", got.LastAccessed
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want (-) against got (+):\n%s", diff)
	}
}

func TestUpdateOfOneVersion(t *testing.T) {
	w := newWorld(t)
	id := w.add("x")
	version := func() string {
		return fmt.Sprint(decode[struct{ Version uint64 }](t, w.must("show", id, "--json")).Version)
	}
	old := version()
	w.must("update", id, "--append", "y", "--if-version", old)
	for _, flags := range [][]string{{"--append", "z"}, {"--text", "z"}} {
		o := w.run(append([]string{"update", id, "--if-version", old}, flags...)...)
		if o.status != exitError || !strings.Contains(o.errors, "loopmem show") {
			t.Errorf("%q: %+v", flags, o)
		}
	}
	w.must("update", id, "--text", "z", "--if-version", version())
}

func TestUpdateLosesNothing(t *testing.T) {
	w := newWorld(t)
	id := w.add("begin")
	const writers, each = 4, 10
	var all sync.WaitGroup
	for i := range writers {
		all.Go(func() {
			for j := range each {
				if o := w.run("update", id, "--tag", fmt.Sprintf("%d-%d", i, j)); o.status != exitOK {
					t.Error(o.errors)
				}
			}
		})
	}
	all.Wait()
	if got := w.entries("show", id)[0].Tags; len(got) != writers*each {
		t.Errorf("%d tags, want %d: %q", len(got), writers*each, got)
	}
}

func TestForget(t *testing.T) {
	w, ids := small(t)
	if o := w.run("forget", ids[0], "abcdef"); o.status != exitError || !strings.Contains(o.errors, "not found") {
		t.Errorf("unknown id: %+v", o)
	}
	w.must("forget", "--agent-prefix", "tg:", "--dry-run")
	if got := w.texts("list"); len(got) != 3 {
		t.Errorf("a dry run, or one id of two that is unknown, removed something: %q", got)
	}
	for _, flags := range [][]string{{"--dry-run"}, nil} {
		args := append([]string{"forget", ids[0][:6], ids[0]}, flags...)
		if got := w.object(args...)["ids"]; !cmp.Equal(got, []any{ids[0]}) {
			t.Errorf("%q: forgot %v", args, got)
		}
	}
	w.must("forget", "--agent-prefix", "tg:", "--yes")
	if got := w.texts("list"); !slices.Equal(got, []string{"Tea is at four."}) {
		t.Errorf("left: %q", got)
	}
}

// A variable that is not set must not choose everything.
func TestEmptyFiltersAreRefused(t *testing.T) {
	w := newWorld(t)
	w.add("x", "--agent", "a")
	for _, filter := range []string{"--category", "--tag", "--agent-prefix", "--namespace", "--type", "--max-confidentiality"} {
		for _, command := range [][]string{{"forget", "--yes", "--agent", "a"}, {"list"}, {"recall"}} {
			args := append(slices.Clone(command), filter, "")
			if o := w.run(args...); o.status != exitUsage {
				t.Errorf("%q: %+v", args, o)
			}
		}
	}
	for _, flag := range []string{"--category", "--tag", "--keyword"} {
		if o := w.run("add", "y", flag, ""); o.status != exitUsage {
			t.Errorf("add with an empty %s: %+v", flag, o)
		}
	}
	if got := w.texts("list"); len(got) != 1 {
		t.Errorf("left: %q", got)
	}
}

func TestUpdateRefusesAnEmptyText(t *testing.T) {
	w := newWorld(t)
	id := w.add("x")
	for _, flags := range [][]string{{"--text", ""}, {"--text", " \n"}, {"--append", ""}, {"--tag", ""}} {
		if o := w.run(append([]string{"update", id}, flags...)...); o.status != exitUsage {
			t.Errorf("%q: %+v", flags, o)
		}
	}
	if o := w.runWith("\n", "update", id, "--text", "-"); o.status != exitUsage {
		t.Errorf("an empty standard input: %+v", o)
	}
	if got := w.texts("list"); !slices.Equal(got, []string{"x"}) {
		t.Errorf("the entry is %q", got)
	}
}

func TestForgetByFiltersNeedsAYes(t *testing.T) {
	w := newWorld(t)
	id := w.add("x")
	o := w.run("forget", "--category", "fact")
	if o.status != exitError || !strings.Contains(o.errors, "--yes") || !strings.Contains(o.errors, "--dry-run") {
		t.Errorf("without a terminal: %+v", o)
	}
	if got := w.texts("list"); len(got) != 1 {
		t.Errorf("left: %q", got)
	}
	w.must("forget", id) // who names it has said what he wants
}

func TestForgetAsksOnATerminal(t *testing.T) {
	for reply, want := range map[string]int{"y\n": 0, "YES\n": 0, "n\n": 1, "\n": 1, "": 1} {
		w := newWorld(t)
		w.add("x")
		var out, errs bytes.Buffer
		a := newApp(strings.NewReader(reply), &out, &errs, func(name string) string { return w.env[name] })
		a.terminal = func(any) int { return 80 }
		status := a.run(t.Context(), []string{"forget", "--category", "fact"})
		if left := len(w.texts("list")); left != want || (status == exitOK) != (want == 0) {
			t.Errorf("reply %q: %d left, status %d", reply, left, status)
		}
		if !strings.Contains(errs.String(), "Forget 1 entry for good? [y/N]") {
			t.Errorf("it did not ask: %q", errs.String())
		}
	}
	w := newWorld(t)
	w.add("x")
	a := newApp(neverEnding{}, &bytes.Buffer{}, &bytes.Buffer{}, func(name string) string { return w.env[name] })
	a.terminal = func(any) int { return 80 }
	if status := a.run(t.Context(), []string{"forget", "--category", "fact", "--yes"}); status != exitOK {
		t.Error("--yes: it failed")
	}
}

func TestPruneCountsBeforeWhatItRemoves(t *testing.T) {
	w := newWorld(t)
	w.mustWith(string(sample), "import", "-") // years ago, so that all have faded
	w.add("new")
	would := w.object("prune", "--dry-run", "--min-age", "30d", "--agent-prefix", "atlas:ops")["pruned"]
	if got := w.object("prune", "--min-age", "30d", "--agent-prefix", "atlas:ops")["pruned"]; got != would || got == 0.0 {
		t.Errorf("pruned %v, foretold %v", got, would)
	}
	for _, entry := range w.entries("list") {
		if entry.Agent == "atlas:ops" && !entry.Pinned {
			t.Errorf("still there: %+v", entry)
		}
	}
}

func TestConsolidateForetellsWhatItDoes(t *testing.T) {
	w := newWorld(t)
	w.mustWith(string(sample), "import", "-")
	would, did := w.object("consolidate", "--dry-run"), w.object("consolidate")
	would["dry_run"] = false
	if diff := cmp.Diff(would, did); diff != "" {
		t.Errorf("foretold (-) against done (+):\n%s", diff)
	}
	if did["entries_after"] == did["entries_before"] {
		t.Errorf("nothing went: %v", did)
	}
}

func TestScopeOfEveryCommand(t *testing.T) {
	w := newWorld(t)
	id := w.add("mine", "--agent", "tg:1")
	other := w.add("theirs", "--agent", "tg:12")
	scope := []string{"--namespace", "tg:1"}
	for _, args := range [][]string{
		{"show", other}, {"update", other, "--pin"}, {"link", id, other}, {"forget", other}, {"list", "--after", other},
	} {
		if o := w.run(append(args, scope...)...); o.status != exitError || !strings.Contains(o.errors, "not found") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	for _, command := range [][]string{{"list"}, {"retrieve", "theirs"}, {"recall"}, {"export"}} {
		if got := w.texts(append(command, scope...)...); !slices.Equal(got, []string{"mine"}) {
			t.Errorf("%q: %q", command, got)
		}
	}
	w.must("forget", "--agent-prefix", "tg:", "--namespace", "tg:1", "--yes")
	w.must("add", "also mine", "--namespace", "tg:1")
	if o := w.run("add", "x", "--agent", "tg:12", "--namespace", "tg:1"); o.status != exitError || !strings.Contains(o.errors, "--namespace") {
		t.Errorf("add outside of the scope: %+v", o)
	}
	if got := w.object("stats", "--namespace", "tg:1")["entries"]; got != 1.0 {
		t.Errorf("stats counts %v entries", got)
	}
	if got := w.texts("list"); !slices.Equal(got, []string{"theirs", "also mine"}) {
		t.Errorf("in all: %q", got)
	}
}

func TestEveryCommandWorksOnAJSONLFile(t *testing.T) {
	w := newWorld(t)
	w.env["LOOPMEM_DB"] = w.path("memory.jsonl")
	id := w.add("the staging cluster", "--agent", "a")
	other := w.add("x")
	before := w.read("memory.jsonl")
	for _, args := range [][]string{
		{"list"}, {"show", id}, {"retrieve", "staging"}, {"recall", "staging"}, {"export"}, {"stats"},
		{"consolidate", "--dry-run"}, {"prune", "--dry-run"}, {"forget", other, "--dry-run"}, {"verify", w.write("copy.jsonl", before)},
	} {
		w.must(args...)
		if got := w.read("memory.jsonl"); got != before {
			t.Errorf("%q changed the file: %s", args, got)
		}
	}
	if files := filesIn(t, w.folder); slices.ContainsFunc(files, func(path string) bool { return strings.HasSuffix(path, ".db") }) {
		t.Errorf("it made a database: %q", files)
	}
	w.must("update", id, "--append", "more")
	w.must("link", id, other)
	w.must("import", w.write("sample.jsonl", string(sample)))
	w.must("prune")
	w.must("consolidate")
	w.must("forget", other)
	if got := w.texts("list", "--agent", "a"); !slices.Equal(got, []string{"the staging cluster\nmore"}) {
		t.Errorf("left: %q", got)
	}
}

func TestATornJSONLFileIsReadAndLeftAlone(t *testing.T) {
	w := newWorld(t)
	content := string(sample) + `{"id":"torn`
	path := w.write("torn.jsonl", content)
	o := w.run("stats", "--db", path, "--json")
	if o.status != exitOK || !strings.Contains(o.errors, "torn") {
		t.Errorf("%+v", o)
	}
	if w.read("torn.jsonl") != content {
		t.Error("a reading command changed the file")
	}
}

func TestExportReplacesAFileOnlyWhenComplete(t *testing.T) {
	w, _ := small(t)
	target := w.write("out.jsonl", "before")
	if o := w.run("export", target, "--db", w.path("missing.db")); o.status != exitError {
		t.Errorf("%+v", o)
	}
	if got := w.read("out.jsonl"); got != "before" {
		t.Errorf("a failed export left %q", got)
	}
	w.must("export", target)
	if got := w.read("out.jsonl"); got != w.must("export", "-") {
		t.Errorf("to a file: %q", got)
	}
	link := w.path("link.jsonl")
	if err := os.Symlink(target, link); err == nil { // else links are not allowed here
		w.must("export", link, "--category", "error_pattern")
		if got := w.read("out.jsonl"); strings.Count(got, "\n") != 1 {
			t.Errorf("through a link: %q", got)
		}
	}
	for _, path := range []string{w.path("memory.db"), filepath.Join(w.folder, ".", "memory.db"), w.folder, w.path("no/folder.jsonl"), ""} {
		if o := w.run("export", path); o.status != exitError || o.out != "" {
			t.Errorf("export to %q: %+v", path, o)
		}
	}
	w.must("list") // the database is still one
}

func TestErrorsOfTheStoreBringAdvice(t *testing.T) {
	for _, class := range []error{memory.ErrBusy, memory.ErrConflict, memory.ErrNotFound, memory.ErrScope, memory.ErrFull} {
		err := advise(fmt.Errorf("op: %w", class))
		if !errors.Is(err, class) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%v", err)
		}
	}
}

func TestVersionTellsTheGoVersion(t *testing.T) {
	w := newWorld(t)
	var build struct{ Version, Go string }
	if err := json.Unmarshal([]byte(w.must("version", "--json")), &build); err != nil || !strings.HasPrefix(build.Go, "go1.") {
		t.Errorf("%+v, %v", build, err)
	}
}
