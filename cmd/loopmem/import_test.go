package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
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
	if o := w.run("verify", path); o.status != exitError || !strings.Contains(o.out, "1 with other content") || !strings.Contains(o.out, "memory: ") {
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
	if want := "loopmem: nothing was stored: standard input: interrupted\n"; p.ProcessState.ExitCode() != exitError || errs.String() != want {
		t.Errorf("%v, error %q; want %q", err, errs.String(), want)
	}
	if got := filesIn(t, w.folder); len(got) > 0 {
		t.Errorf("it left %q", got)
	}
}

// many is a file of n entries.
func many(n int) string {
	var b strings.Builder
	for i := range n {
		e := memory.NewEntry(memory.Fact, fmt.Sprintf("entry %d", i))
		b.Write(append(e.AppendJSON(nil), '\n'))
	}
	return b.String()
}

// inFirstLine adds a field to the first entry.
func inFirstLine(lines, field string) string {
	return strings.Replace(lines, "}\n", ","+field+"}\n", 1)
}

// half starts an import of a file as a process and returns when the database
// has a part of it. The test that asks for it then ends the process.
func half(t *testing.T, w *world, path string, stderr io.Writer) *exec.Cmd {
	t.Helper()
	p := w.process("import", path)
	p.Stderr = stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	for w.count() == 0 {
		if p.ProcessState != nil || t.Context().Err() != nil {
			t.Fatal("the import stored nothing")
		}
	}
	return p
}

// count is how many entries the database has, 0 if there is none.
func (w *world) count() int {
	w.t.Helper()
	store, err := sqlitestore.Open(w.t.Context(), w.env["LOOPMEM_DB"], sqlitestore.Options{MustExist: true})
	if errors.Is(err, fs.ErrNotExist) {
		return 0
	}
	if err != nil {
		w.t.Fatal(err)
	}
	defer store.Close()
	n, err := store.Len(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// TestImportThatIsKilledIsCompletedByAnother kills an import half way.
func TestImportThatIsKilledIsCompletedByAnother(t *testing.T) {
	const total = 10_000
	w := newWorld(t)
	path := w.write("many.jsonl", many(total))
	p := half(t, w, path, nil)
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait() // it was killed
	stored := w.count()
	t.Logf("%d of %d entries were stored when it was killed", stored, total)
	if got := w.must("export"); !strings.HasPrefix(w.read("many.jsonl"), got) {
		t.Error("what was stored is not the beginning of the file")
	}
	report := decode[jsonlimport.Report](t, w.must("import", path, "--json"))
	if report.Existing != stored || report.Imported != total-stored || report.Differing != 0 {
		t.Errorf("the second import: %+v; want %d existing and the others imported", report, stored)
	}
	if w.must("export") != w.read("many.jsonl") {
		t.Error("the export differs from the file")
	}
}

// TestImportsOfManyAtOnce has two processes write the same batches.
func TestImportsOfManyAtOnce(t *testing.T) {
	const total = 3000
	w := newWorld(t)
	path := w.write("many.jsonl", many(total))
	var imported, existing int
	outs := make([]strings.Builder, 2)
	processes := make([]*exec.Cmd, 2)
	for i := range processes {
		processes[i] = w.process("import", path, "--json", "--quiet")
		processes[i].Stdout = &outs[i]
		if err := processes[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for i, p := range processes {
		if err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		report := decode[jsonlimport.Report](t, outs[i].String())
		imported, existing = imported+report.Imported, existing+report.Existing
	}
	if imported != total || existing != total || w.must("export") != w.read("many.jsonl") {
		t.Errorf("%d imported and %d existing; want %d each, in the order of the file", imported, existing, total)
	}
}

func TestImportThatIsInterruptedWhileStoringSaysHowMany(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no signal to send")
	}
	const total = 10_000
	w := newWorld(t)
	path := w.write("many.jsonl", many(total))
	var errs strings.Builder
	p := half(t, w, path, &errs)
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if p.Wait() == nil {
		t.Log("it was done before the signal came")
		return
	}
	want := fmt.Sprintf("loopmem: stopped with %s of 10,000 entries in the store: interrupted; import again to complete it\n", humanize.Comma(int64(w.count())))
	if got := errs.String(); got != want {
		t.Errorf("error %q; want %q", got, want)
	}
	w.must("import", path)
	if w.must("export") != w.read("many.jsonl") {
		t.Error("the export differs from the file")
	}
}

// TestImportThatIsRefusedAsJSON wants one object for whatever is wrong.
func TestImportThatIsRefusedAsJSON(t *testing.T) {
	type answer struct {
		Imported, Missing int
		Error             string
		Problems          []jsonlimport.LineError
		ProblemCount      int `json:"problem_count"`
	}
	w := newWorld(t)
	lines := many(30)
	good, bad := w.write("good.jsonl", lines), w.write("bad.jsonl", lines+malformed+"{}\n")
	other := w.write("other.jsonl", inFirstLine(lines, `"agent":"b"`))
	for name, test := range map[string]struct {
		args     []string
		problems int
		first    jsonlimport.LineError // its file, line and field
	}{
		"malformed lines": {[]string{"import", bad}, 2, jsonlimport.LineError{File: bad, Line: 31, Field: "memory"}},
		"missing file":    {[]string{"import", good, w.path("none")}, 1, jsonlimport.LineError{File: w.path("none")}},
		"no match":        {[]string{"import", w.path("none*")}, 1, jsonlimport.LineError{File: w.path("none*")}},
		"outside":         {[]string{"import", other, "--namespace", "a"}, 1, jsonlimport.LineError{File: other, Line: 1, Field: "agent"}},
	} {
		o := w.run(append(test.args, "--json")...)
		got := decode[answer](t, o.out)
		if o.status != exitError || o.errors == "" || got.Error == "" || got.ProblemCount != test.problems || len(got.Problems) != test.problems || got.Imported != 0 {
			t.Errorf("%s: status %d, %s", name, o.status, o.out)
			continue
		}
		if first := got.Problems[0]; first.File != test.first.File || first.Line != test.first.Line || first.Field != test.first.Field || first.Reason == "" {
			t.Errorf("%s: %+v; want %+v", name, first, test.first)
		}
	}
	w.must("import", good)
	o := w.run("import", good, "--on-conflict", "fail", "--json")
	if got := decode[answer](t, o.out); o.status != exitError || got.ProblemCount != 30 {
		t.Errorf("conflict: %+v", o)
	}
	o = w.run("verify", bad, "--json")
	if got := decode[answer](t, o.out); o.status != exitError || got.ProblemCount != 2 {
		t.Errorf("verify: %+v", o)
	}
	w.must("forget", "--type", "episodic", "--yes")
	o = w.run("verify", good, "--json")
	if got := decode[answer](t, o.out); o.status != exitError || got.Missing != 30 || got.Error == "" {
		t.Errorf("verify of a store that is empty: %+v", o)
	}
	w.must("import", good)
	if out := w.must("verify", good, "--json"); strings.Contains(out, "error") {
		t.Errorf("verify of what is complete: %s", out)
	}
}

func TestImportOutsideTheScopeLeavesNothing(t *testing.T) {
	w := newWorld(t)
	secret := w.write("secret.jsonl", inFirstLine(many(2), `"confidentiality":"restricted"`))
	o := w.run("import", secret, "--clearance", "internal")
	if o.status != exitError || !strings.HasPrefix(o.errors, secret+":1:") || !strings.Contains(o.errors, "restricted, which is above --clearance internal") {
		t.Errorf("%+v", o)
	}
	if got := filesIn(t, w.folder); len(got) != 1 {
		t.Errorf("it left %q", got)
	}
	w.must("import", secret, "--namespace", "a")
	if o := w.run("verify", secret, "--namespace", "a"); o.status != exitOK {
		t.Errorf("what the scope made of it is no difference: %+v", o)
	}
}

func TestImportOfEmbeddingsOfAnotherModelLeavesNothing(t *testing.T) {
	w := newWorld(t)
	id := w.add("a text")
	store, err := sqlitestore.Open(t.Context(), w.env["LOOPMEM_DB"], sqlitestore.Options{MustExist: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.BindEmbeddingModel(t.Context(), memory.Model{Name: "m", Dimensions: 3}), store.Close()); err != nil {
		t.Fatal(err)
	}
	path := w.write("many.jsonl", many(299)+inFirstLine(many(1), `"embedding":[0.5,0.5]`))
	if o := w.run("import", path); o.status != exitError || !strings.HasPrefix(o.errors, path+":300:") || !strings.Contains(o.errors, "2 dimensions") {
		t.Errorf("%+v", o)
	}
	if got := w.texts("list"); len(got) != 1 {
		t.Errorf("%d entries beside %s", len(got)-1, id)
	}
}

func TestVerifyCountsAsImportDoes(t *testing.T) {
	w := newWorld(t)
	const line = `{"id":"11111111-1111-4111-8111-111111111111","category":"fact","memory":"%s","tags":[],` +
		`"created_at":{"secs_since_epoch":1600000000,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,"validated":false}` + "\n"
	file := w.write("old.jsonl", fmt.Sprintf(line, "first")+fmt.Sprintf(line, "second"))
	w.must("import", file)
	w.must("update", "11111111", "--text", "third")
	o := w.run("verify", file)
	if want := "1 with other content, 0 missing, 1 repeated (1 with other content)"; o.status != exitError || !strings.Contains(o.out, want) {
		t.Errorf("%+v; want %q", o, want)
	}
	nothing := w.write("empty.jsonl", "")
	w.must("import", nothing, "--db", w.path("none.db"))
	if o := w.run("verify", nothing, "--db", w.path("none.db")); !strings.Contains(o.errors, "nothing to store makes none") {
		t.Errorf("after an import of nothing: %+v", o)
	}
}

func TestImportRefusesTheDatabaseItself(t *testing.T) {
	w := newWorld(t)
	path := w.write("memory.jsonl", string(sample))
	w.must("import", path)
	for _, args := range [][]string{
		{"import", w.path("memory.db")},
		{"import", path, "--db", path},
		{"verify", path, "--db", path},
	} {
		if o := w.run(args...); o.status != exitError || !strings.Contains(o.errors, "is the database itself") {
			t.Errorf("%q: %+v", args, o)
		}
	}
	o := w.run("import", w.path("memory.db"), "--db", w.path("other.db"))
	if o.status != exitError || !strings.Contains(o.errors, "loopmem --db "+w.path("memory.db")+" export") {
		t.Errorf("another database: %+v", o)
	}
}

// TestCommandsOnWhatMayBeImported names files as the database that are none.
func TestCommandsOnWhatMayBeImported(t *testing.T) {
	w := newWorld(t)
	agent := `{"id":"m1","agent":"a","content":"c","category":"fact"}` + "\n"
	for _, path := range []string{w.write("agent.jsonl", agent), w.write("memory.json", "\ufeff"+agent), w.write("bad.jsonl", string(sample)+malformed)} {
		if o := w.run("list", "--db", path); o.status != exitError || !strings.Contains(o.errors, "loopmem import "+path) {
			t.Errorf("%s: %+v", path, o)
		}
	}
	if o := w.run("list", "--db", w.write("notes.txt", "no JSON")); strings.Contains(o.errors, "import") {
		t.Errorf("no JSON: %+v", o)
	}
}

func TestImportOfLongLines(t *testing.T) {
	w := newWorld(t)
	w.add(strings.Repeat("long ", 1000))
	path := w.write("long.jsonl", w.must("export"))
	o := w.run("import", path, "--max-line", "1KiB")
	if o.status != exitError || !strings.Contains(o.errors, "longer than 1.0 KiB (1,024 bytes)") || !strings.Contains(o.errors, "--max-line") {
		t.Errorf("%+v", o)
	}
	w.must("import", path, "--max-line", "10kB")
	w.must("verify", path, "--max-line", "10kB")
	for _, size := range []string{"0", "-1", "much", "1TB"} {
		if o := w.run("import", path, "--max-line", size); o.status != exitUsage {
			t.Errorf("--max-line %s: %+v", size, o)
		}
	}
}

// TestExportWhileOthersWrite exports again and again while a process imports.
// Whatever moment an export sees, it is one moment.
func TestExportWhileOthersWrite(t *testing.T) {
	w := newWorld(t)
	path := w.write("many.jsonl", many(2000))
	p := half(t, w, path, nil)
	done := make(chan error, 1)
	go func() { done <- p.Wait() }()
	for exports := 1; ; exports++ {
		w.must("export", w.path("out.jsonl"))
		if !strings.HasPrefix(w.read("many.jsonl"), w.read("out.jsonl")) {
			t.Fatal("the export is not the beginning of what is being stored")
		}
		select {
		case err := <-done:
			t.Logf("%d exports", exports)
			if err != nil {
				t.Error(err)
			}
			return
		default:
		}
	}
}

func TestExportThroughALink(t *testing.T) {
	w := newWorld(t)
	w.add("a text")
	for _, target := range []string{"there.jsonl", "missing.jsonl"} {
		link := w.path("link to " + target)
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
		if target == "there.jsonl" {
			w.write(target, "old")
		}
		w.must("export", link)
		if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("the link to %s was replaced: %v", target, err)
		}
		if got := w.read(target); got != w.must("export") {
			t.Errorf("%s: %q", target, got)
		}
	}
	o := w.run("export", w.path("no folder/x.jsonl"))
	if want := "loopmem: " + w.path("no folder/x.jsonl") + " cannot be written: "; o.status != exitError || !strings.HasPrefix(o.errors, want) {
		t.Errorf("%q; want %q", o.errors, want)
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
