package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What other processes have stored last may be nowhere but in the log.
func TestNothingIsWrittenOverTheFilesOfADatabase(t *testing.T) {
	w := newWorld(t)
	server := w.mcpClient()
	server.mustStore("in the log")
	database := w.env["LOOPMEM_DB"]
	link := w.path("link.db")
	if err := os.Symlink("memory.db", link); err != nil {
		t.Skip(err)
	}
	hardLink := w.path("wal by another name")
	if err := os.Link(database+"-wal", hardLink); err != nil {
		t.Skip(err)
	}
	targets := []string{hardLink, link}
	for _, side := range []string{"", "-wal", "-shm", "-journal", ".lock"} {
		targets = append(targets, database+side)
	}
	for _, named := range []string{database, link} {
		for _, target := range targets {
			for _, command := range [][]string{{"export", target}, {"backup", target}, {"backup", target, "--overwrite"}} {
				o := w.run(append(command, "--db", named)...)
				if o.status != exitError || !strings.Contains(o.errors, "name another file") {
					t.Errorf("%q of %s: %+v", command, named, o)
				}
			}
		}
	}
	server.mustStore("afterwards")
	server.end()
	if got := w.texts("list"); !slices.Equal(got, []string{"in the log", "afterwards"}) {
		t.Errorf("left: %q", got)
	}
}

func TestExportReplacesNoDatabase(t *testing.T) {
	w := newWorld(t)
	w.add("a text")
	w.add("of another", "--db", w.path("other.db"))
	w.write("begun.db", "")
	w.write("begun.db-wal", "")
	for _, target := range []string{"other.db", "begun.db"} {
		before := w.read(target)
		if o := w.run("export", w.path(target)); o.status != exitError || !strings.Contains(o.errors, "is a database; name another file") {
			t.Errorf("%s: %+v", target, o)
		}
		if w.read(target) != before {
			t.Errorf("%s has changed", target)
		}
	}
	w.write("short.jsonl", "SQLite")
	w.must("export", w.path("short.jsonl"))
}

func TestBackupSaysWhatStandsInTheWay(t *testing.T) {
	w := newWorld(t)
	w.add("a text")
	for dest, want := range map[string]string{
		w.write("there.db", "x"):   "--overwrite",
		w.path("no folder/new.db"): "its folder does not exist",
	} {
		if o := w.run("backup", dest); o.status != exitError || !strings.Contains(o.errors, want) || !strings.Contains(o.errors, dest) {
			t.Errorf("%s: %+v; want %q", dest, o, want)
		}
	}
}
