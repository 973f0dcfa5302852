package jsonlimport_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// What these tests are about could be lost without anyone noticing.

// agentEntry is a line of the agent form.
func agentEntry(id, agent, content, related string) string {
	return fmt.Sprintf(`{"id":%q,"agent":%q,"content":%q,"category":"fact","tags":[],"created_at":"2026-01-05T08:30:00Z",`+
		`"last_accessed":"2026-01-05T08:30:00Z","access_count":0,"related_ids":[%s]}`+"\n", id, agent, content, related)
}

func warnings(list []jsonlimport.Warning) string {
	var texts []string
	for _, w := range list {
		texts = append(texts, w.Text)
	}
	return strings.Join(texts, "\n")
}

func TestImport_unknownFieldsAreNamed(t *testing.T) {
	lines := cleanLines(t)
	with := func(line, fields string) string { return `{` + fields + `,` + line[1:] }
	entity := `{"type":"entity","name":"a","entityType":"b","observations":["c","d"]}` + "\n"
	agent := agentEntry("m1", "a", "c", "")
	for name, test := range map[string]struct {
		content string
		want    []string // in the warnings
		differ  int
	}{
		"loopctl": {
			lines[0] + with(lines[1], `"source":{"id":[1]},"note":"x"`) + with(lines[2], `"note":"y"`),
			[]string{`"source" is unknown to this form and left out: on 1 line, the first is line 2`, `"note" is unknown to this form and left out: on 2 lines, the first is line 2`}, 2,
		},
		"agent": {with(agent, `"provider":"p"`), []string{`"provider" is unknown to this form and left out: on 1 line, the first is line 1`}, 1},
		"graph": {entity + with(strings.Replace(entity, `"a"`, `"x"`, 1), `"since":7`), []string{`"since" is unknown to this form and left out: on 1 line, the first is line 2`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			path := mustWrite(t, "memory.jsonl", test.content)
			store := mustStore(t)
			report := mustImport(t, store, jsonlimport.Options{}, path)
			verified, err := jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range test.want {
				if !strings.Contains(warnings(report.Warnings), want) || !strings.Contains(warnings(verified.Warnings), want) {
					t.Errorf("warnings %v and %v; want %s", report.Warnings, verified.Warnings, want)
				}
			}
			if verified.Complete() || verified.Different != test.differ || len(verified.Differences) != test.differ {
				t.Errorf("verified %+v; want %d entries that differ", verified, test.differ)
			}
		})
	}
	path := mustWrite(t, "memory.jsonl", with(lines[1], `"source":{"id":[1]}`))
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, path)
	verified, err := jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "fields", verified.Differences[0].Fields, []jsonlimport.FieldDifference{{Field: "source", File: `{"id":[1]}`}})
}

func TestImport_manyUnknownFields(t *testing.T) {
	var fields strings.Builder
	for i := range 30 {
		fmt.Fprintf(&fields, `"field %d":0,`, i)
	}
	report := mustImport(t, mustStore(t), jsonlimport.Options{}, mustWrite(t, "memory.jsonl", "{"+fields.String()+cleanLines(t)[0][1:]))
	if n := len(report.Warnings); n != 21 || !strings.Contains(warnings(report.Warnings), "more than 20 fields") {
		t.Errorf("%d warnings, %v; want 20 fields and that there are more", n, report.Warnings)
	}
}

// TestImport_oneIDOfTwoAgents gives one free id to entries of two agents, in
// one file and in two.
func TestImport_oneIDOfTwoAgents(t *testing.T) {
	first, second := agentEntry("m1", "a", "one", `"m2"`), agentEntry("m1", "b", "two", `"m2"`)
	targets := agentEntry("m2", "a", "three", "") + agentEntry("x2", "b", "four", "")
	a, b := mustWrite(t, "a.jsonl", first+targets), mustWrite(t, "b.jsonl", second)
	both := mustWrite(t, "both.jsonl", first+second+targets)
	for _, test := range []struct {
		paths       []string
		file, where string
		line        int
	}{{[]string{a, b}, b, a, 1}, {[]string{both}, both, both, 2}} {
		store := mustStore(t)
		_, err := jsonlimport.Import(t.Context(), store, files(test.paths...), jsonlimport.Options{})
		refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
		if !ok || refused.Total != 1 {
			t.Fatalf("error = %v; want one line refused", err)
		}
		fault := refused.Lines[0]
		if fault.File != test.file || fault.Line != test.line || fault.Field != "id" || !strings.Contains(fault.Reason, test.where+":1") || !strings.Contains(fault.Reason, "agent-own-ids") {
			t.Errorf("fault %+v; want both lines and the way out", fault)
		}
		report := mustImport(t, store, jsonlimport.Options{SkipMalformed: true}, test.paths...)
		if report.Imported != 3 || report.SkippedLines != 1 || report.Repeated != 0 {
			t.Errorf("report %+v; want 3 imported and 1 skipped", report)
		}
		mustEqual(t, "the line set aside", mustRead(t, test.file+".rejected.jsonl"), second)

		// With ids of their own, all are stored, under the same ids whatever
		// they are imported with, and links lead to the same agent.
		own := jsonlimport.Options{Format: jsonlimport.Agent{OwnIDs: true}}
		together, apart := mustStore(t), mustStore(t)
		if report := mustImport(t, together, own, test.paths...); report.Imported != 4 {
			t.Errorf("report %+v; want 4 imported", report)
		}
		for _, path := range []string{b, a, both} {
			mustImport(t, apart, own, path)
		}
		ids := func(entries []memory.Entry) (ids []string) {
			for _, e := range entries {
				ids = append(ids, e.ID.String()+" "+e.Memory)
			}
			slices.Sort(ids)
			return ids
		}
		entries := mustEntries(t, together)
		mustEqual(t, "ids", ids(mustEntries(t, apart)), ids(entries))
		for _, e := range entries {
			if e.Memory == "one" && e.RelatedIDs[0] != entries[slices.IndexFunc(entries, func(e memory.Entry) bool { return e.Memory == "three" })].ID {
				t.Error("the link does not lead to the entry of the same agent")
			}
		}
		verified, err := jsonlimport.Verify(t.Context(), together, files(test.paths...), own)
		if err != nil || !verified.Complete() || verified.Same != 4 {
			t.Errorf("verified %+v, %v", verified, err)
		}
		text, exported := mustExport(t, together, jsonlimport.Agent{OwnIDs: true})
		back := mustStore(t)
		mustImport(t, back, own, mustWrite(t, "back.jsonl", text))
		mustEqual(t, "entries exported and imported", mustEntries(t, back), entries)
		mustEqual(t, "what is lost", len(exported.Warnings), 0)

		// The plain form cannot hold the free ids, and says so.
		text, exported = mustExport(t, together, jsonlimport.Agent{})
		if strings.Contains(text, `"m1"`) || len(exported.Warnings) != 1 {
			t.Errorf("exported %v:\n%s", exported.Warnings, text)
		}
	}
}

// TestImport_oneIDOfTwoAgentsInRuns gives the second agent's file later.
func TestImport_oneIDOfTwoAgentsInRuns(t *testing.T) {
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, mustWrite(t, "a.jsonl", agentEntry("m1", "a", "one", "")))
	before := mustEntries(t, store)
	b := mustWrite(t, "b.jsonl", agentEntry("m1", "b", "two", "")+agentEntry("m1", "b", "newer", ""))
	report := mustImport(t, store, jsonlimport.Options{}, b)
	if report.Existing != 1 || report.Differing != 1 || !strings.Contains(warnings(report.Warnings), "agent-own-ids") {
		t.Errorf("report %+v; want one that differs, and the way out", report)
	}
	_, err := jsonlimport.Import(t.Context(), store, files(b), jsonlimport.Options{OnConflict: memory.Replace})
	refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
	if !ok || refused.Total != 2 || !strings.Contains(refused.Lines[0].Reason, "in the store; if each") {
		t.Errorf("error = %v; want both lines refused, which would replace another's", err)
	}
	mustEqual(t, "entries", mustEntries(t, store), before)
	mustImport(t, store, jsonlimport.Options{OnConflict: memory.Replace}, mustWrite(t, "a.jsonl", agentEntry("m1", "a", "newer", "")))
	if got := mustEntries(t, store); len(got) != 1 || got[0].Memory != "newer" {
		t.Errorf("stored %+v; want its own entry replaced", got)
	}
	if report := mustImport(t, store, jsonlimport.Options{Format: jsonlimport.Agent{OwnIDs: true}}, b); report.Imported != 1 {
		t.Errorf("report %+v; want one imported", report)
	}
}

func TestImport_sameAgentAgainIsNoCollision(t *testing.T) {
	report := mustImport(t, mustStore(t), jsonlimport.Options{}, mustWrite(t, "memory.jsonl",
		agentEntry("m1", "a", "one", "")+agentEntry("m1", "a", "one", "")+agentEntry("m1", "a", "newer", "")))
	if report.Imported != 1 || report.Repeated != 2 || report.Superseded != 1 {
		t.Errorf("report %+v; want 1 imported, 2 repeated, one of them with another text", report)
	}
}

// TestImport_supersededLinesAreNamed has lines whose ids come again.
func TestImport_supersededLinesAreNamed(t *testing.T) {
	lines := cleanLines(t)
	older := mustWrite(t, "older.jsonl", lines[0]+lines[1]+lines[2])
	used := strings.Replace(lines[1], `"relevance":0.42`, `"relevance":0.41`, 1)
	newer := mustWrite(t, "newer.jsonl", strings.Replace(lines[0], "Prefer", "Avoid", 1)+used+lines[2])
	report := mustImport(t, mustStore(t), jsonlimport.Options{}, older, newer)
	if report.Repeated != 3 || report.Superseded != 1 || len(report.Warnings) != 1 {
		t.Errorf("report %+v; want 3 repeated, 1 with another text", report)
	}
	if w := report.Warnings[0].String(); !strings.HasPrefix(w, older+": line 1 is not stored") || !strings.Contains(w, newer+":1 ") {
		t.Errorf("warning %q; want both lines", w)
	}
}

// TestImport_differingEntriesAreNamed imports over entries that the store has
// changed.
func TestImport_differingEntriesAreNamed(t *testing.T) {
	lines := manyLines(30)
	changed := strings.ReplaceAll(strings.Join(lines[:25], ""), `"memory":"entry`, `"memory":"other`) + strings.Join(lines[25:], "")
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, mustWrite(t, "memory.jsonl", strings.Join(lines, "")))
	path := mustWrite(t, "memory.jsonl", changed)
	for _, dry := range []bool{true, false} {
		report := mustImport(t, store, jsonlimport.Options{DryRun: dry}, path)
		if report.Existing != 30 || report.Differing != 25 || len(report.Warnings) != 21 {
			t.Errorf("dry run %t: report %+v; want 30 existing, 25 of them with another text", dry, report)
		}
		if first, last := report.Warnings[0].String(), report.Warnings[20].String(); !strings.HasPrefix(first, path+": line 1 is not stored") || !strings.Contains(last, "5 more lines are not stored") {
			t.Errorf("warnings %q ... %q", first, last)
		}
	}
	report := mustImport(t, store, jsonlimport.Options{OnConflict: memory.Replace}, path)
	if report.Replaced != 30 || report.Differing != 0 || len(report.Warnings) != 0 {
		t.Errorf("report %+v; want all replaced, as was asked for", report)
	}
}

// TestImport_admit refuses by line what the store would refuse.
func TestImport_admit(t *testing.T) {
	scope := memory.Scope{Namespace: "a"}
	path := mustWrite(t, "memory.jsonl", agentEntry("m1", "", "one", "")+agentEntry("m2", "b", "two", "")+agentEntry("m3", "a:x", "three", ""))
	store := mustStore(t)
	options := jsonlimport.Options{Admit: scope.Admit}
	_, err := jsonlimport.Import(t.Context(), store, files(path), options)
	refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
	if !ok || refused.Total != 1 || refused.Lines[0].Line != 2 || len(mustEntries(t, store)) != 0 {
		t.Fatalf("error = %v; want line 2 refused", err)
	}
	options.SkipMalformed = true
	mustImport(t, store, options, path)
	if got := mustEntries(t, store); len(got) != 2 || got[0].Agent != "a" || got[1].Agent != "a:x" {
		t.Errorf("stored %+v; want two entries of a", got)
	}
	report, err := jsonlimport.Verify(t.Context(), store, files(path), options)
	if err != nil || report.Same != 2 {
		t.Errorf("verified %+v, %v; want two the same", report, err)
	}
}

// TestVerify_tornEndIsInNoStore keeps a user from deleting half a line.
func TestVerify_tornEndIsInNoStore(t *testing.T) {
	lines := cleanLines(t)
	path := mustWrite(t, "memory.jsonl", lines[0]+lines[1][:100])
	store := mustStore(t)
	mustImport(t, store, jsonlimport.Options{}, path)
	report, err := jsonlimport.Verify(t.Context(), store, files(path), jsonlimport.Options{})
	if err != nil || report.Same != 1 || report.TornBytes != 100 || report.Complete() {
		t.Errorf("report %+v, %v; want 100 torn bytes, and not complete", report, err)
	}
}
