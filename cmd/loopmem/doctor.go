package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/sqlitestore"
)

func doctorCommand(a *app) *cobra.Command {
	var repair bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the database for damage, and repair it",
		Long: `Read the whole database and compare every entry with its checksums, every index
with the entries, and the account of what should be there with what is. Nothing
is changed without --repair. If the exit status is 0, every entry is what was
stored and can be found; notices are no damage. It also tells which clients are
configured to use loopmem mcp; loopmem mcp install configures them.

With --repair, indexes that are wrong are made anew. From a damaged file, all
that can be read is salvaged into a new one; the damaged one is not touched.`,
		Example: `  loopmem doctor
  loopmem doctor --json --db old.db
  loopmem doctor --repair`,
		Args:    arguments(cobra.NoArgs, "takes no arguments"),
		PreRunE: a.whole,
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			path, err := a.databaseFile(cmd)
			if err != nil {
				return err
			}
			if repair {
				err = a.repair(cmd, path)
			} else {
				err = a.diagnose(cmd, path)
			}
			if errors.Is(err, fs.ErrNotExist) {
				return &missingError{path: path}
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&repair, "repair", false, "make indexes anew, salvage what can be read of a damaged file")
	return cmd
}

var errNotHealthy = errors.New("the database is not healthy")

func (a *app) diagnose(cmd *cobra.Command, path string) error {
	d, err := sqlitestore.Diagnose(cmd.Context(), path)
	if err != nil {
		return err
	}
	clients := a.mcpClients()
	all := struct {
		sqlitestore.Diagnosis
		clientStates
	}{d, clients}
	if err := a.answer(all, "%s\n\nClients that may start loopmem mcp:\n%s", describeDiagnosis(&d), clients); err != nil || d.Healthy() {
		return err
	}
	return errNotHealthy
}

// shownProblems is how many problems of a kind are printed; a damaged page can
// make thousands. --json has them all.
const shownProblems = 20

func describeDiagnosis(d *sqlitestore.Diagnosis) string {
	var f fields
	f.add("database", "%s", visible(d.Path))
	f.add("entries", "%s", humanize.Comma(int64(d.Entries)))
	f.add("size", "%s, and %s of log", humanize.IBytes(uint64(d.FileBytes)), humanize.IBytes(uint64(d.WALBytes)))
	f.add("schema", "version %d", d.SchemaVersion)
	f.add("SQLite", "version %s", cmp.Or(d.SQLiteVersion, "unknown"))
	for _, kind := range []struct {
		sqlitestore.Kind
		advice string
	}{
		{sqlitestore.Damage, "restore a backup with loopmem restore, or salvage what can be read with loopmem doctor --repair"},
		{sqlitestore.Index, "make the indexes anew with loopmem doctor --repair"},
		{sqlitestore.Notice, ""},
	} {
		describeProblems(&f, d.Problems, kind.Kind, kind.advice)
	}
	if d.Healthy() {
		f.add("healthy", "every entry is what was stored, and every index fits")
	}
	return f.String()
}

func describeProblems(f *fields, problems []sqlitestore.Problem, kind sqlitestore.Kind, advice string) {
	found := 0
	for _, p := range problems {
		if p.Kind != kind {
			continue
		}
		if found++; found > shownProblems {
			continue
		}
		text := visible(p.String())
		if p.Advice != "" {
			text += "; " + visible(p.Advice)
		}
		f.add(string(kind), "%s", text)
	}
	if found > shownProblems {
		f.add(string(kind), "and %s more", humanize.Comma(int64(found-shownProblems)))
	}
	if found > 0 && advice != "" {
		f.add("what to do", "%s", advice)
	}
}

func (a *app) repair(cmd *cobra.Command, path string) error {
	r, err := sqlitestore.Repair(cmd.Context(), path)
	if err != nil {
		return err
	}
	return a.answer(r, "%s", describeRepair(&r))
}

func describeRepair(r *sqlitestore.Repaired) string {
	switch {
	case r.Rebuilt:
		return "the indexes were made anew; every entry is what was stored"
	case r.Salvaged == "":
		return "there was nothing to repair"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "salvaged %s and %s of the archive into %s", plural(r.Entries, "entry"), humanize.Comma(int64(r.Archived)), visible(r.Salvaged))
	if r.Unreadable > 0 {
		fmt.Fprintf(&b, "\n%s could not be read", plural(r.Unreadable, "entry"))
	}
	if len(r.Doubtful) > 0 {
		b.WriteString("\nnot what was stored, so look at them:")
		for _, id := range r.Doubtful {
			fmt.Fprintf(&b, "\n  %s", id)
		}
	}
	fmt.Fprintf(&b, "\nput it in place with: loopmem restore %s", visible(r.Salvaged))
	return b.String()
}
