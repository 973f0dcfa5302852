package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loopmem/loopmem/sqlitestore"
)

func TestBackupAndRestore(t *testing.T) {
	w := newWorld(t)
	w.add("before the backup")
	backup := w.path("backup.db")
	if got := w.object("backup", backup)["backup"]; got != backup {
		t.Errorf("backed up to %v", got)
	}
	w.add("after the backup")
	if o := w.run("backup", backup); o.status != exitError || !strings.Contains(o.errors, "exists") {
		t.Errorf("over a file that exists: %+v", o)
	}
	replaced, _ := w.object("restore", backup)["replaced"].(string)
	if got := w.texts("list"); !slices.Equal(got, []string{"before the backup"}) {
		t.Errorf("restored: %q", got)
	}
	if got := w.texts("list", "--db", replaced); len(got) != 2 {
		t.Errorf("what was replaced holds %q", got)
	}
	w.must("backup", backup, "--overwrite")
	for _, args := range [][]string{
		{"backup"}, {"backup", "x", "--namespace", "a"}, {"restore"}, {"restore", backup, "--clearance", "public"},
	} {
		if o := w.run(args...); o.status != exitUsage {
			t.Errorf("%q: %+v", args, o)
		}
	}
	if o := w.run("restore", backup, "--db", w.path("old.jsonl")); o.status != exitError || !strings.Contains(o.errors, "JSONL") {
		t.Errorf("over a JSONL file: %+v", o)
	}
}

// TestRestoreRefusesWhileOpen has another process hold the database open.
func TestRestoreRefusesWhileOpen(t *testing.T) {
	w := newWorld(t)
	w.add("something")
	backup := w.path("backup.db")
	w.must("backup", backup)
	other := w.process("demo-worker", "--db", w.env["LOOPMEM_DB"], "--writes", "1")
	begin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := says.Read(make([]byte, 100)); err != nil { // it is ready
		t.Fatal(err)
	}
	o := w.run("restore", backup)
	begin.Close()
	if err := other.Wait(); err != nil {
		t.Error(err)
	}
	if o.status != exitError || !strings.Contains(o.errors, "end the programs that use it") || strings.Contains(o.errors, "--busy-timeout") {
		t.Errorf("restored while another process had it open: %+v", o)
	}
	w.must("restore", backup)
}

func TestDoctor(t *testing.T) {
	w := newWorld(t)
	w.add("the first text", "--tag", "t")
	w.add("the second text")
	if out := w.must("doctor"); !strings.Contains(out, "healthy") {
		t.Errorf("of a sound database: %q", out)
	}
	if out := w.must("doctor", "--repair"); !strings.Contains(out, "nothing to repair") {
		t.Errorf("of a sound database: %q", out)
	}
	w.sqlite(`DELETE FROM tag`)
	if o := w.run("doctor"); o.status != exitError || !strings.Contains(o.out, "doctor --repair") {
		t.Errorf("of an index that is wrong: %+v", o)
	}
	w.must("doctor", "--repair")
	w.must("doctor")

	w.sqlite(`DELETE FROM entry WHERE memory = 'the first text'`)
	o := w.run("doctor", "--json")
	d := decode[sqlitestore.Diagnosis](t, o.out)
	if o.status != exitError || d.Healthy() || d.Entries != 1 {
		t.Errorf("of an entry that is gone: %+v", o)
	}
	salvaged := decode[sqlitestore.Repaired](t, w.must("doctor", "--repair", "--json")).Salvaged
	w.must("restore", salvaged)
	w.must("doctor")
	if got := w.texts("list"); !slices.Equal(got, []string{"the second text"}) {
		t.Errorf("salvaged: %q", got)
	}
	if o := w.run("doctor", "--db", w.path("missing")); o.status != exitError || !strings.Contains(o.errors, "does not exist") {
		t.Errorf("of no file: %+v", o)
	}
}

func TestForgetAndCompactLeaveNothing(t *testing.T) {
	w := newWorld(t)
	id := w.add("the code word is geheimnisvoll", "--tag", "geheimnisvoll")
	w.add("something else")
	w.must("forget", id)
	for _, entry := range must(os.ReadDir(w.folder)) {
		if strings.Contains(w.read(entry.Name()), "geheimnisvoll") {
			t.Errorf("%s still has it", entry.Name())
		}
	}
	if o := w.run("compact", "--namespace", "tg:1"); o.status != exitUsage || !strings.Contains(o.errors, "whole database") {
		t.Errorf("compact of a part: %+v", o)
	}
	if sizes := w.object("compact"); sizes["bytes_after"].(float64) > sizes["bytes_before"].(float64) {
		t.Errorf("compacted: %v", sizes)
	}
}

// What was merged into an entry, or pruned, is forgotten with it or by its id.
func TestForgetWhatIsArchived(t *testing.T) {
	w := newWorld(t)
	w.add("the code word is geheimnisvoll")
	w.add("the code word is geheimnisvoll")
	w.must("consolidate")
	left := w.object("list", "--json")["id"].(string)
	w.must("forget", left)
	const faded = `{"id":"11111111-1111-4111-8111-111111111111","category":"fact","memory":"geheimnisvoll long ago","tags":[],` +
		`"created_at":{"secs_since_epoch":1600000000,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,"validated":false}` + "\n"
	old := filepath.Join(t.TempDir(), "old.jsonl")
	if err := os.WriteFile(old, []byte(faded), 0o600); err != nil {
		t.Fatal(err)
	}
	w.must("import", old)
	w.must("consolidate")
	if did := w.object("forget", "11111111"); did["forgotten"] != 1.0 {
		t.Errorf("forgot %v of the archive", did)
	}
	for _, entry := range must(os.ReadDir(w.folder)) {
		if strings.Contains(w.read(entry.Name()), "geheimnisvoll") {
			t.Errorf("%s still has it", entry.Name())
		}
	}
	if o := w.run("forget", "11111111"); o.status != exitError || !strings.Contains(o.errors, "not found") {
		t.Errorf("forgot again: %+v", o)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestArchiveCommands(t *testing.T) {
	w := newWorld(t)
	const faded = `{"id":"%s","category":"fact","memory":"faded %s","tags":[],` +
		`"created_at":{"secs_since_epoch":1600000000,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,"validated":false}` + "\n"
	w.must("import", w.write("old.jsonl",
		fmt.Sprintf(faded, "11111111-1111-4111-8111-111111111111", "long ago")+
			fmt.Sprintf(faded, "22222222-2222-4222-8222-222222222222", "and worthless")))
	w.must("consolidate")
	if got := w.texts("list"); len(got) != 0 {
		t.Errorf("consolidated to %q", got)
	}
	if out := w.must("archive", "list"); !strings.Contains(out, "faded long ago") {
		t.Errorf("archive list: %q", out)
	}
	latest, _, _ := strings.Cut(w.must("archive", "list", "--json"), "\n")
	if note := decode[archivedNote](t, latest); note.Reason != sqlitestore.ReasonPruned || note.ArchivedAt.IsZero() {
		t.Errorf("archive list --json: %+v", note)
	}
	w.must("archive", "restore", "11111111")
	if got := w.texts("list"); len(got) != 1 {
		t.Errorf("restored to %q", got)
	}
	if o := w.run("archive", "restore", "11111111"); o.status != exitError || !strings.Contains(o.errors, "archive list") {
		t.Errorf("restored again: %+v", o)
	}
	if o := w.run("archive", "purge"); o.status != exitError || !strings.Contains(o.errors, "--yes") {
		t.Errorf("purged without a word: %+v", o)
	}
	if got := w.object("archive", "purge", "--older-than", "30d", "--yes")["purged"]; got != 0.0 {
		t.Errorf("purged %v that are not old", got)
	}
	if got := w.object("archive", "purge", "--yes")["purged"]; got != 1.0 {
		t.Errorf("purged %v, want 1", got)
	}
	if o := w.run("archive", "burn"); o.status != exitUsage {
		t.Errorf("an unknown subcommand: %+v", o)
	}
}

func TestConsolidateIfOlder(t *testing.T) {
	w := newWorld(t)
	w.add("something")
	for _, want := range []bool{true, false} {
		if got := w.object("consolidate", "--if-older", "24h")["ran"]; got != want {
			t.Errorf("ran: %v, want %v", got, want)
		}
	}
	if o := w.run("consolidate", "--if-older", "1d", "--db", filepath.Join(w.folder, "x.jsonl")); o.status == exitOK {
		t.Errorf("on a JSONL file: %+v", o)
	}
}
