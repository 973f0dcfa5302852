package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// runAsProgram makes the test binary be the program, so that tests, and the
// demo in them, can start it as a process of its own.
const runAsProgram = "LOOPMEM_TEST_RUN_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(runAsClient) != "" {
		fmt.Fprintln(os.Stderr, clientMain())
		os.Exit(1)
	}
	if os.Getenv(runAsProgram) != "" {
		main()
	}
	os.Setenv(runAsProgram, "1") // for the children
	if os.Getenv("GORACE") == "" {
		// The race detector holds up the end of every process for a second,
		// and how soon they end is tested.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	os.Exit(m.Run())
}

// world is a folder to run the program in.
type world struct {
	t      testing.TB
	folder string
	env    map[string]string
}

// newWorld returns a world in which $LOOPMEM_DB names a file that does not
// exist.
func newWorld(t testing.TB) *world {
	folder := t.TempDir()
	return &world{t, folder, map[string]string{"LOOPMEM_DB": filepath.Join(folder, "memory.db")}}
}

func (w *world) path(name string) string { return filepath.Join(w.folder, name) }

func (w *world) write(name, content string) string {
	w.t.Helper()
	if err := os.WriteFile(w.path(name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return w.path(name)
}

func (w *world) read(name string) string {
	w.t.Helper()
	content, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(content)
}

// outcome is what a run of the program left.
type outcome struct {
	status      int
	out, errors string
}

func (w *world) run(args ...string) outcome { return w.runWith("", args...) }

func (w *world) runWith(stdin string, args ...string) outcome {
	var out, errs bytes.Buffer
	status := Run(w.t.Context(), args, strings.NewReader(stdin), &out, &errs, func(name string) string { return w.env[name] })
	return outcome{status, out.String(), errs.String()}
}

// must runs a command that has to succeed and returns its output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	return w.mustWith("", args...)
}

func (w *world) mustWith(stdin string, args ...string) string {
	w.t.Helper()
	o := w.runWith(stdin, args...)
	if o.status != exitOK {
		w.t.Fatalf("loopmem %s: status %d: %s", strings.Join(args, " "), o.status, o.errors)
	}
	return o.out
}

// add stores a text and returns its id.
func (w *world) add(text string, flags ...string) string {
	w.t.Helper()
	return strings.TrimSpace(w.must(append([]string{"add", text}, flags...)...))
}

// object runs a command with --json that prints one object.
func (w *world) object(args ...string) map[string]any {
	w.t.Helper()
	return decode[map[string]any](w.t, w.must(append(args, "--json")...))
}

// entries runs a command with --json that prints entries.
func (w *world) entries(args ...string) []memory.Entry {
	w.t.Helper()
	var entries []memory.Entry
	for line := range strings.Lines(w.must(append(args, "--json")...)) {
		entry, err := memory.DecodeJSON([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			w.t.Fatalf("%q: %v", line, err)
		}
		entries = append(entries, entry)
	}
	return entries
}

// texts is entries, only their texts.
func (w *world) texts(args ...string) []string {
	w.t.Helper()
	texts := []string{}
	for _, entry := range w.entries(args...) {
		texts = append(texts, entry.Memory)
	}
	return texts
}

func decode[T any](t testing.TB, text string) (value T) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(text))
	if err := decoder.Decode(&value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if decoder.More() {
		t.Fatalf("more than one value: %s", text)
	}
	return value
}

// process is the program as a process of its own, with the world's
// environment.
func (w *world) process(args ...string) *exec.Cmd {
	program, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	command := exec.CommandContext(w.t.Context(), program, args...)
	command.Env = os.Environ()
	for name, value := range w.env {
		command.Env = append(command.Env, name+"="+value)
	}
	return command
}

func TestRunRefusesCallsThatMakeNoSense(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown command":        {"remember", "x"},
		"unknown help topic":     {"help", "remember"},
		"unknown flag":           {"list", "--colour"},
		"no text":                {"add"},
		"two texts":              {"add", "a", "b"},
		"empty text":             {"add", ""},
		"empty input":            {"add", "-"},
		"version is no number":   {"update", "1f3a9c", "--pin", "--if-version", "abc"},
		"a window of words":      {"recall", "x", "--exact-words", "--window", "2"},
		"two ways to a pass":     {"consolidate", "--dry-run", "--if-older", "24h"},
		"no query":               {"retrieve"},
		"limit is no number":     {"retrieve", "x", "-n", "many"},
		"negative limit":         {"retrieve", "x", "-n", "-3"},
		"negative limit of list": {"list", "--limit", "-3"},
		"window of 11":           {"recall", "x", "--window", "11"},
		"strength of 7":          {"recall", "--min-strength", "7"},
		"strength of nothing":    {"list", "--min-strength", "NaN"},
		"prune to strength of 7": {"prune", "--min-strength", "7"},
		"negative age":           {"prune", "--min-age=-3h"},
		"negative wait":          {"stats", "--busy-timeout=-3s"},
		"no wait at all":         {"stats", "--busy-timeout", "0"},
		"no wait for embeddings": {"embed", "--embed-timeout", "0"},
		"survival of nothing":    {"stats", "--synchronous", "off"},
		"negative dimensions":    {"embed", "--embed-dimensions", "-1"},
		"unknown type":           {"add", "x", "--type", "vague"},
		"unknown level":          {"list", "--clearance", "secret"},
		"unknown format":         {"export", "--format", "xml"},
		"unknown conflict":       {"import", "x", "--on-conflict", "merge"},
		"importance of 11":       {"add", "x", "--importance", "11"},
		"one id to link":         {"link", "1f3a9c"},
		"update of nothing":      {"update", "1f3a9c"},
		"text and append":        {"update", "1f3a9c", "--text", "a", "--append", "b"},
		"forget nothing":         {"forget"},
		"forget id and filter":   {"forget", "1f3a9c", "--category", "fact"},
		"forget id and filters":  {"forget", "1f3a9c", "--category", "fact", "--tag", "x"},
		"min-age is no duration": {"prune", "--min-age", "old"},
		"empty path":             {"list", "--db", ""},
		"demo of no process":     {"demo", "--processes", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			o := w.run(args...)
			if o.status != exitUsage || o.out != "" {
				t.Errorf("status %d, output %q; want %d and none", o.status, o.out, exitUsage)
			}
			if !strings.Contains(o.errors, "--help") {
				t.Errorf("the error does not say where help is: %q", o.errors)
			}
			if got := filesIn(t, w.folder); len(got) > 0 {
				t.Errorf("it left %q", got)
			}
		})
	}
}

// Errors of the libraries below are told in words of this program.
func TestRunExplainsCallsThatMakeNoSense(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"ad"}, "Did you mean this?\n  add\n"},
		{[]string{"retrieve", "-x"}, `loopmem retrieve -- "-x"`},
		{[]string{"update", "1f3a9c", "--text", "a", "--append", "b"}, "give --text or --append, not both"},
		{[]string{"consolidate", "--dry-run", "--if-older", "24h"}, "give --dry-run or --if-older, not both"},
		{[]string{"update", "1f3a9c", "--pin", "--if-version", "abc"}, "use the number that loopmem show tells"},
	} {
		o := newWorld(t).run(test.args...)
		if o.status != exitUsage || !strings.Contains(o.errors, test.want) || strings.Contains(o.errors, "strconv") {
			t.Errorf("%q: %+v; want %q", test.args, o, test.want)
		}
	}
}

func TestRunHelpOfEveryCommandHasExamples(t *testing.T) {
	w := newWorld(t)
	if out := w.must(); !strings.Contains(out, "loopmem demo") {
		t.Errorf("without arguments: %q", out)
	}
	for _, command := range newApp(nil, nil, nil, nil).rootCommand().Commands() {
		if command.Hidden || command.Name() == "help" || command.Name() == "completion" {
			continue
		}
		byFlag, byCommand := w.must(command.Name(), "--help"), w.must("help", command.Name())
		if byFlag != byCommand {
			t.Errorf("%s: help and --help differ", command.Name())
		}
		if !strings.Contains(byFlag, "Examples:\n  ") {
			t.Errorf("%s: no examples", command.Name())
		}
	}
}

// readers are the commands that make no database, with arguments.
var readers = [][]string{
	{"retrieve", "x"}, {"recall", "x"}, {"show", "1f3a9c"}, {"list"}, {"stats"}, {"export"}, {"verify", "x.jsonl"},
	{"update", "1f3a9c", "--pin"}, {"link", "1f3a9c", "77e0b2"}, {"forget", "1f3a9c"}, {"forget", "--category", "fact"},
	{"prune"}, {"prune", "--dry-run"}, {"consolidate"}, {"consolidate", "--dry-run"},
}

func TestRunReadersMakeNoDatabase(t *testing.T) {
	for _, file := range []string{"memory.db", "folder/memory.db", "memory.jsonl"} {
		for _, args := range readers {
			t.Run(file+" "+strings.Join(args, " "), func(t *testing.T) {
				w := newWorld(t)
				o := w.run(append(args, "--db", w.path(file))...)
				if o.status != exitError || o.out != "" {
					t.Errorf("status %d, output %q", o.status, o.out)
				}
				if !strings.Contains(o.errors, w.path(file)+" does not exist") || !strings.Contains(o.errors, "loopmem add") {
					t.Errorf("unhelpful: %q", o.errors)
				}
				if got := filesIn(t, w.folder); len(got) > 0 {
					t.Errorf("it made %q", got)
				}
			})
		}
	}
}

func TestRunRefusesWhatIsNoDatabase(t *testing.T) {
	for name, test := range map[string]struct {
		make func(*world) (path string)
		want string
	}{
		"directory": {func(w *world) string { return w.folder }, "is a directory"},
		"text":      {func(w *world) string { return w.write("notes.txt", strings.Repeat("no database\n", 500)) }, "not a loopmem database"},
		"another program": {func(w *world) string {
			return w.sqlite("CREATE TABLE song (title TEXT); INSERT INTO song VALUES ('x')")
		}, "not a loopmem database"},
		"newer version": {func(w *world) string {
			w.add("x")
			w.sqlite("PRAGMA user_version = 999; PRAGMA wal_checkpoint(TRUNCATE)")
			return w.path("memory.db")
		}, "newer version"},
		"file in a file":  {func(w *world) string { return filepath.Join(w.write("file", "x"), "memory.db") }, "file"},
		"malformed lines": {func(w *world) string { return w.write("bad.jsonl", "{\"id\":1}\n") }, "bad.jsonl"},
	} {
		for _, args := range [][]string{{"list"}, {"add", "x"}, {"retrieve", "x"}, {"consolidate"}, {"stats"}} {
			t.Run(name+" "+args[0], func(t *testing.T) {
				w := newWorld(t)
				path := test.make(w)
				before := contentsOf(t, w.folder)
				o := w.run(append(args, "--db", path)...)
				if o.status != exitError || o.out != "" {
					t.Errorf("status %d, output %q", o.status, o.out)
				}
				if !strings.Contains(o.errors, path) || !strings.Contains(o.errors, test.want) {
					t.Errorf("the error names neither %s nor %q: %q", path, test.want, o.errors)
				}
				after := contentsOf(t, w.folder)
				for file, content := range before {
					if after[file] != content {
						t.Errorf("%s has changed", file)
					}
				}
			})
		}
	}
}

// sqlite runs statements on memory.db by other means than ours.
func (w *world) sqlite(statements string) (path string) {
	w.t.Helper()
	path = w.path("memory.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		w.t.Fatal(err)
	}
	_, err = db.Exec(statements)
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func TestRunMakesPrivateFiles(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no permission bits")
	}
	w := newWorld(t)
	w.env = map[string]string{"XDG_DATA_HOME": w.path("data")}
	w.add("x")
	w.must("export", w.path("out.jsonl"))
	for path, want := range map[string]fs.FileMode{
		"data":                   fs.ModeDir | 0o700,
		"data/loopmem":           fs.ModeDir | 0o700,
		"data/loopmem/memory.db": 0o600,
		"out.jsonl":              0o600,
	} {
		info, err := os.Stat(w.path(path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
		}
	}
}

func TestRunFindsTheDatabase(t *testing.T) {
	w := newWorld(t)
	flag, variable, folder := w.path("flag.db"), w.path("variable.db"), w.path("data/loopmem/memory.db")
	w.env = map[string]string{"XDG_DATA_HOME": w.path("data"), "LOOPMEM_DB": variable}
	w.add("by flag", "--db", flag)
	w.add("by variable")
	w.env["LOOPMEM_DB"] = ""
	w.add("by default")
	for path, want := range map[string]string{flag: "by flag", variable: "by variable", folder: "by default"} {
		if got := w.texts("list", "--db", path); len(got) != 1 || got[0] != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	w.env["HOME"] = w.folder
	if got := w.texts("list", "--db=~/flag.db"); len(got) != 1 {
		t.Errorf("~/flag.db: %q", got)
	}
	if got := w.object("stats")["path"]; got != folder {
		t.Errorf("stats names %v, want %s", got, folder)
	}
}

func TestRunOpensExactlyThePathItIsGiven(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"with space.db", "a%20b.db", "a#b.db", "ünïcödé 世界.db", "quote'.db", "a&b=c.db", "~.db", "plain"} {
		path := w.path(name)
		w.add(name, "--db", path)
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		if got := w.texts("list", "--db", path); len(got) != 1 || got[0] != name {
			t.Errorf("%s holds %q", path, got)
		}
	}
}

func TestDataFolder(t *testing.T) {
	for name, test := range map[string]struct {
		system string
		env    map[string]string
		want   string
	}{
		"xdg":          {"linux", map[string]string{"XDG_DATA_HOME": abs("/xdg"), "HOME": abs("/home/u")}, abs("/xdg")},
		"relative xdg": {"linux", map[string]string{"XDG_DATA_HOME": "xdg", "HOME": abs("/home/u")}, abs("/home/u/.local/share")},
		"linux":        {"linux", map[string]string{"HOME": abs("/home/u")}, abs("/home/u/.local/share")},
		"macos":        {"darwin", map[string]string{"HOME": abs("/Users/u")}, abs("/Users/u/Library/Application Support")},
		"windows":      {"windows", map[string]string{"LocalAppData": `C:\Users\u\AppData\Local`}, `C:\Users\u\AppData\Local`},
		"nowhere":      {"linux", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dataFolder(test.system, func(name string) string { return test.env[name] })
			if got != test.want || (err != nil) != (test.want == "") {
				t.Errorf("got %q, %v; want %q", got, err, test.want)
			}
		})
	}
}

// abs makes an absolute path of this system of one that is written with
// slashes.
func abs(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		panic(err)
	}
	return path
}

func TestRunHintsAtOlderMemories(t *testing.T) {
	w := newWorld(t)
	w.env = map[string]string{"XDG_DATA_HOME": w.folder}
	if err := os.Mkdir(w.path("loopmem"), 0o700); err != nil {
		t.Fatal(err)
	}
	older := w.write("loopmem/memory.jsonl", string(sample))
	hint := "loopmem import " + older
	if o := w.run("list"); o.status != exitError || !strings.Contains(o.errors, hint) {
		t.Errorf("without a database: %+v", o)
	}
	if o := w.run("add", "x"); o.status != exitOK || !strings.Contains(o.errors, hint) {
		t.Errorf("with a new database: %+v", o)
	}
	if o := w.run("list"); o.errors != "" {
		t.Errorf("with a database that has something in it: %q", o.errors)
	}
	if o := w.run("list", "--db", older); o.status != exitOK || o.errors != "" {
		t.Errorf("with another file: %+v", o)
	}
}

func TestRunReportsOutputThatCannotBeWritten(t *testing.T) {
	w := newWorld(t)
	w.add("x")
	var errs bytes.Buffer
	status := Run(t.Context(), []string{"list"}, strings.NewReader(""), brokenPipe{}, &errs, func(name string) string { return w.env[name] })
	if status != exitError || !strings.Contains(errs.String(), errBroken.Error()) {
		t.Errorf("status %d, error %q", status, errs.String())
	}
}

var errBroken = errors.New("the pipe is broken")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errBroken }

func TestRunStopsWhenTheContextEnds(t *testing.T) {
	w := newWorld(t)
	w.add("x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range [][]string{{"list"}, {"add", "y"}, {"add", "-"}, {"import", "-"}, {"demo"}} {
		var out, errs bytes.Buffer
		status := Run(ctx, args, neverEnding{}, &out, &errs, func(name string) string { return w.env[name] })
		if status != exitError || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%q: status %d, error %q", args, status, errs.String())
		}
	}
	if got := w.texts("list"); len(got) != 1 {
		t.Errorf("it stored %q", got)
	}
}

// neverEnding is a terminal at which nobody sits.
type neverEnding struct{}

func (neverEnding) Read([]byte) (int, error) { select {} }

// filesIn lists what is in a folder and below it.
func filesIn(t testing.TB, folder string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if path != folder {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func contentsOf(t testing.TB, folder string) map[string]string {
	t.Helper()
	contents := make(map[string]string)
	for _, path := range filesIn(t, folder) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		contents[path] = string(content)
	}
	return contents
}

func TestRunGivesUpOnABusyDatabase(t *testing.T) {
	w := newWorld(t)
	w.add("before")
	db, err := sql.Open("sqlite", w.path("memory.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	o := w.run("add", "x", "--busy-timeout", "50ms")
	if o.status != exitError || o.out != "" || !strings.Contains(o.errors, w.path("memory.db")) || !strings.Contains(o.errors, "--busy-timeout") {
		t.Errorf("%+v", o)
	}
	if o := w.run("retrieve", "before", "--busy-timeout", "50ms"); o.status != exitOK || !strings.Contains(o.out, "before") {
		t.Errorf("a reader waits for a writer: %+v", o)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if got := w.texts("list"); len(got) != 1 {
		t.Errorf("it stored %q", got)
	}
}
