package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// inTempFolder makes the demo put its files where the test can see whether
// some are left.
func inTempFolder(t *testing.T) (folder string) {
	folder = t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} { // of Unix, and of Windows
		t.Setenv(name, folder)
	}
	return folder
}

func demoWrites() string {
	if testing.Short() {
		return "5"
	}
	return "50"
}

func TestDemo(t *testing.T) {
	folder := inTempFolder(t)
	w := newWorld(t)
	out := w.must("demo", "--writes", demoWrites())
	for _, want := range []string{
		"30 entries read", "nothing is lost", "$ loopmem retrieve", "$ loopmem recall", "2 merged, 3 pruned", "loopmem help",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the story does not tell %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, folder) {
		t.Errorf("it tells where its files were:\n%s", out)
	}
	if left := append(filesIn(t, folder), filesIn(t, w.folder)...); len(left) > 0 {
		t.Errorf("it left %q", left)
	}
}

func TestDemoJSON(t *testing.T) {
	inTempFolder(t)
	w := newWorld(t)
	result := decode[demoResult](t, w.must("demo", "--writes", demoWrites(), "--processes", "2", "--json"))
	if result.Acknowledged == 0 || result.Found != result.Acknowledged || result.Retrieved == 0 {
		t.Errorf("%+v", result)
	}
}

// TestDemoThatIsInterrupted interrupts it at the moment at which the workers
// begin, and where the story ends.
func TestDemoThatIsInterrupted(t *testing.T) {
	for _, at := range []string{"They are imported", "keeps retrieving", "A * marks"} {
		t.Run(at, func(t *testing.T) {
			folder := inTempFolder(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &trigger{text: at, pull: cancel}
			var errs bytes.Buffer
			status := Run(ctx, []string{"demo", "--writes", "100"}, strings.NewReader(""), out, &errs, func(string) string { return "" })
			if status != exitError || !strings.Contains(errs.String(), "interrupted") {
				t.Errorf("status %d, error %q", status, errs.String())
			}
			if left := filesIn(t, folder); len(left) > 0 {
				t.Errorf("it left %q", left)
			}
		})
	}
}

// trigger is pulled by a text that is written.
type trigger struct {
	text string
	pull func()
}

func (t *trigger) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(t.text)) {
		t.pull()
	}
	return len(p), nil
}

func TestDemoTellsWhyAWorkerFailed(t *testing.T) {
	w := newWorld(t)
	d := demo{processes: 2, writes: 1, database: w.path("missing.db")}
	_, err := startTeam(t.Context(), &d)
	if err == nil || !strings.Contains(err.Error(), "missing.db does not exist") {
		t.Errorf("%v", err)
	}
}

func TestSampleIsWhatExportWouldWrite(t *testing.T) {
	for line := range bytes.Lines(sample) {
		entry, err := memory.DecodeJSON(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(entry.AppendJSON(nil)) + "\n"; got != string(line) {
			t.Errorf("%s is not\n%s", line, got)
		}
	}
}
