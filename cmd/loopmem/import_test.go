package main

import (
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

const malformed = `{"id":"2adee6a3-a553-5015-bab8-1310d3984d51","category":"fact","memory":null}` + "\n"

func TestImportThenExportGivesTheSameBytes(t *testing.T) {
	w := newWorld(t)
	path := w.write("sample.jsonl", string(sample))
	w.must("import", path)
	if got := w.must("export"); got != string(sample) {
		t.Errorf("exported: %s", got)
	}
	w.must("import", path)
	if got := w.must("export"); got != string(sample) {
		t.Error("a second import changed something")
	}
	if o := w.run("verify", path); o.status != exitOK || !strings.Contains(o.out, "30 equal") {
		t.Errorf("%+v", o)
	}
}

func TestImportTakesFilesPatternsAndStandardInput(t *testing.T) {
	w := newWorld(t)
	lines := strings.SplitAfter(string(sample), "\n")
	w.write("a1.jsonl", lines[0])
	w.write("a2.jsonl", lines[1])
	packed, err := os.Create(w.path("b.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	z := gzip.NewWriter(packed)
	for _, do := range []func() error{
		func() error { _, err := z.Write([]byte(lines[2])); return err }, z.Close, packed.Close,
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	out := w.mustWith(lines[3], "import", w.path("a*.jsonl"), w.path("b.jsonl.gz"), "-", "--json")
	if report := decode[jsonlimport.Report](t, out); report.Imported != 4 || len(report.Files) != 4 {
		t.Errorf("%+v", report)
	}
	if got := w.must("export"); got != strings.Join(lines[:4], "") {
		t.Errorf("exported: %s", got)
	}
}

func TestImportThatIsRefusedLeavesNothing(t *testing.T) {
	for name, args := range map[string][]string{
		"malformed line":            {"bad.jsonl"},
		"good file, malformed line": {"good.jsonl", "bad.jsonl"},
		"missing file":              {"good.jsonl", "none.jsonl"},
		"directory":                 {"."},
		"pattern without a match":   {"none*.jsonl"},
		"other format":              {"good.jsonl", "--format", "graph"},
		"dry run":                   {"good.jsonl", "--dry-run"},
		"dry run of malformed":      {"bad.jsonl", "--dry-run", "--skip-malformed"},
		"nothing in it":             {"empty.jsonl"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("good.jsonl", string(sample))
			w.write("bad.jsonl", malformed)
			w.write("empty.jsonl", "")
			before := filesIn(t, w.folder)
			for i := range args {
				if !strings.HasPrefix(args[i], "-") && args[i] != "graph" {
					args[i] = w.path(args[i])
				}
			}
			o := w.run(append([]string{"import"}, args...)...)
			harmless := strings.HasPrefix(name, "dry run") || name == "nothing in it"
			if (o.status == exitOK) != harmless {
				t.Errorf("%+v", o)
			}
			if after := filesIn(t, w.folder); len(after) != len(before) {
				t.Errorf("it left %q", after)
			}
		})
	}
}

func TestImportSaysHowToGoOn(t *testing.T) {
	w := newWorld(t)
	bad := w.write("bad.jsonl", string(sample)+malformed)
	o := w.run("import", bad)
	if !strings.HasPrefix(o.errors, bad+":31:") || !strings.Contains(o.errors, "field memory") || !strings.Contains(o.errors, "--skip-malformed") {
		t.Errorf("malformed: %q", o.errors)
	}
	o = w.run("import", bad, "--skip-malformed")
	if o.status != exitOK || !strings.Contains(o.out, "30 imported") || !strings.Contains(o.out, bad+":31:") || w.read("bad.jsonl.rejected.jsonl") != malformed {
		t.Errorf("skipped: %+v", o)
	}
	o = w.run("import", w.write("good.jsonl", string(sample)), "--on-conflict", "fail")
	if o.status != exitError || !strings.Contains(o.errors, "--on-conflict keep") {
		t.Errorf("conflict: %+v", o)
	}
}

func TestImportOverNewerState(t *testing.T) {
	w := newWorld(t)
	path := w.write("sample.jsonl", string(sample))
	w.must("import", path)
	id := w.entries("list", "--limit", "1")[0].ID.String()
	w.must("update", id, "--text", "newer")
	if o := w.run("verify", path); o.status != exitError || !strings.Contains(o.out, "1 different") || !strings.Contains(o.out, "memory: ") {
		t.Errorf("verify: %+v", o)
	}
	for _, test := range []struct {
		flags []string
		want  string
	}{
		{nil, "newer"},
		{[]string{"--dry-run", "--on-conflict", "replace"}, "newer"},
		{[]string{"--on-conflict", "replace"}, decodeFirst(t).Memory},
	} {
		w.must(append([]string{"import", path}, test.flags...)...)
		if got := w.entries("show", id)[0].Memory; got != test.want {
			t.Errorf("%q: %q, want %q", test.flags, got, test.want)
		}
	}
}

func decodeFirst(t *testing.T) memory.Entry {
	t.Helper()
	line, _, _ := strings.Cut(string(sample), "\n")
	entry, err := memory.DecodeJSON([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	return entry
}

func TestImportByTwoProcessesAtOnce(t *testing.T) {
	w := newWorld(t)
	path := w.write("sample.jsonl", string(sample))
	first, second := w.process("import", path), w.process("import", path)
	for _, p := range []*exec.Cmd{first, second} {
		if err := p.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []*exec.Cmd{first, second} {
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	}
	if got := w.must("export"); got != string(sample) {
		t.Errorf("exported: %s", got)
	}
}

func TestImportThatIsInterruptedSaysWhereThingsStand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signal to send")
	}
	w := newWorld(t)
	p := w.process("import", "-")
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var errs strings.Builder
	p.Stderr = &errs
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	// Once the program reads, it has long set up what catches the signal. A
	// pipe holds less than this on every system.
	if _, err := in.Write([]byte(strings.Repeat("\n", 1<<20))); err != nil {
		t.Fatal(err)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = p.Wait()
	if p.ProcessState.ExitCode() != exitError || !strings.Contains(errs.String(), "nothing was stored") {
		t.Errorf("%v, error %q", err, errs.String())
	}
	if got := filesIn(t, w.folder); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
}

func TestProgress(t *testing.T) {
	steps := []jsonlimport.Progress{
		{Phase: jsonlimport.Copying, Done: 10},
		{Phase: jsonlimport.Validating, Done: 0, Total: 100},
		{Phase: jsonlimport.Validating, Done: 100, Total: 100, Entries: 7},
		{Phase: jsonlimport.Storing, Done: 100, Total: 100, Entries: 7},
	}
	show := func(p progress) {
		for _, step := range steps {
			p.update(step)
		}
		p.finish()
	}
	for name, test := range map[string]struct {
		terminal, quiet bool
		want            []string
	}{
		"quiet":       {terminal: true, quiet: true},
		"terminal":    {terminal: true, want: []string{"copying", "validating", "storing"}},
		"log, early":  {want: nil},
		"quiet, log ": {quiet: true},
	} {
		var errs strings.Builder
		a := newApp(nil, nil, &errs, nil)
		a.terminal = func(any) int {
			if test.terminal {
				return 80
			}
			return 0
		}
		show(a.progress(test.quiet))
		if len(test.want) == 0 && errs.String() != "" {
			t.Errorf("%s: it shows %q", name, errs.String())
		}
		for _, phase := range test.want {
			if !strings.Contains(errs.String(), phase) {
				t.Errorf("%s: no %s in %q", name, phase, errs.String())
			}
		}
	}
	var errs strings.Builder
	p := &lineProgress{out: &errs, last: time.Now().Add(-lineEvery)}
	show(p)
	if got := errs.String(); got != "copying: 10 B, 0 entries\n" {
		t.Errorf("a log that has waited for a line: %q", got)
	}
}

func TestExportFormats(t *testing.T) {
	w := newWorld(t)
	graph := `{"type":"entity","name":"Ada","entityType":"person","observations":["Speaks Spanish"]}
{"type":"entity","name":"Initech","entityType":"company","observations":["Ships on Fridays"]}
{"type":"relation","from":"Ada","to":"Initech","relationType":"works_at"}
`
	w.must("import", w.write("graph.jsonl", graph))
	out := filepath.Join(w.folder, "again.jsonl")
	w.must("export", "--format", "graph", out)
	if got := w.read("again.jsonl"); strings.TrimSpace(got) != strings.TrimSpace(graph) {
		t.Errorf("graph: %s", got)
	}
	o := w.run("export", "--format", "graph", "--category", "fact", "-")
	if o.status != exitOK || o.out == "" {
		t.Errorf("%+v", o)
	}
	w.add("no part of the graph", "--tag", "x")
	if o := w.run("export", "--format", "graph", out); o.status != exitOK || !strings.Contains(o.errors, "warning: ") {
		t.Errorf("what the form cannot hold: %+v", o)
	}
}
