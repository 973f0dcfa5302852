package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/migrations"
)

// Diagnosis is what [Diagnose] finds out about a file.
type Diagnosis struct {
	Path          string    `json:"path"`
	FileBytes     int64     `json:"file_bytes"`
	WALBytes      int64     `json:"wal_bytes"`
	Entries       int       `json:"entries"`
	SchemaVersion int       `json:"schema_version"`
	SQLiteVersion string    `json:"sqlite_version"`
	Problems      []Problem `json:"problems"`
}

// Healthy reports whether every entry is what was stored and can be found.
// Notices do not count.
func (d *Diagnosis) Healthy() bool { return !d.has(Damage) && !d.has(Index) }

func (d *Diagnosis) has(kind Kind) bool {
	return slices.ContainsFunc(d.Problems, func(p Problem) bool { return p.Kind == kind })
}

func (d *Diagnosis) report(kind Kind, subject, detail, advice string) {
	d.Problems = append(d.Problems, Problem{Kind: kind, Subject: subject, Detail: detail, Advice: advice})
}

// Diagnose looks at the file at path, which may be damaged in any way, and
// reports everything that is wrong with it: what [Store.Check] does, and
// besides its schema, its permissions and the size of its log. It changes
// nothing. An error means that it could not look.
//
// Damage that looks like a commit that never happened cannot be seen: where
// the end of the write-ahead log is lost, what the log held since then is gone
// without a trace.
func Diagnose(ctx context.Context, path string) (Diagnosis, error) {
	d := Diagnosis{Problems: []Problem{}}
	var err error
	if d.Path, err = realpath.Resolve(path); err == nil {
		err = d.examine(ctx)
	}
	if err != nil {
		return d, fmt.Errorf("diagnose: %w", err)
	}
	return d, nil
}

func (d *Diagnosis) examine(ctx context.Context) error {
	info, err := os.Stat(d.Path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: %s is not a regular file", memory.ErrInvalid, d.Path)
	}
	d.FileBytes = info.Size()
	if d.WALBytes, err = sizeOf(d.Path + "-wal"); err != nil {
		return err
	}
	d.lookAround()
	if d.FileBytes == 0 && d.WALBytes == 0 {
		d.report(Damage, "database", "it is empty", "restore a backup, if it has held anything")
		return nil
	}
	around := len(d.Problems)
	err = look(ctx, d.Path, func(t *tx) error {
		d.Problems = d.Problems[:around]
		return d.lookInside(ctx, t)
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case isNoDamage(err), isForeign(err):
		return err
	case err != nil:
		d.report(Damage, "database", err.Error(), "")
	}
	return nil
}

// foreignError says of a sound database that it is another program's.
type foreignError struct{ error }

func (e *foreignError) Unwrap() error { return e.error }

func isForeign(err error) bool {
	_, foreign := errors.AsType[*foreignError](err)
	return foreign
}

// isNoDamage reports whether a file could not be looked at for a reason that is
// not its own, and passes or is for somebody else to see to. To restore a
// backup would be the wrong thing to do then.
func isNoDamage(err error) bool {
	for _, class := range []error{memory.ErrBusy, ErrDiskFull, ErrReadOnly, ErrNewerSchema} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// longLog is the size from which on a write-ahead log is worth a notice.
const longLog = 64 << 20

// lookAround looks at the file from outside.
func (d *Diagnosis) lookAround() {
	if d.WALBytes > longLog {
		d.report(Notice, d.Path+"-wal", fmt.Sprintf("the log has grown to %d MiB", d.WALBytes>>20),
			"a program keeps an old state of the database open: end it, then run loopmem compact")
	}
	if runtime.GOOS == "windows" {
		return // has no such permissions
	}
	others := func(path string, mask fs.FileMode, right, advice string) {
		// In a sticky folder, such as that for temporary files, others can
		// touch only what is their own.
		if info, err := os.Stat(path); err == nil && info.Mode()&fs.ModeSticky == 0 && info.Mode().Perm()&mask != 0 {
			d.report(Notice, path, fmt.Sprintf("others may %s it (mode %04o)", right, info.Mode().Perm()), advice+" "+path)
		}
	}
	for _, side := range []string{"", "-wal", "-shm"} {
		others(d.Path+side, 0o077, "read", "chmod 600")
	}
	others(filepath.Dir(d.Path), 0o022, "change", "chmod go-w")
}

// lookInside looks at what SQLite can read.
func (d *Diagnosis) lookInside(ctx context.Context, t *tx) error {
	if err := t.get(&d.SQLiteVersion, `SELECT sqlite_version()`); err != nil {
		return err
	}
	if olderVersion(d.SQLiteVersion, oldestEngine) {
		d.report(Damage, "SQLite", fmt.Sprintf("version %s can corrupt databases", d.SQLiteVersion), "build loopmem with "+oldestEngine+" or later")
	}
	if _, err := examine(ctx, t.conn, d.Path); isNoDamage(err) {
		return err
	} else if err != nil {
		var ours bool // of a store, the mark may be damaged
		if t.get(&ours, `SELECT EXISTS (SELECT * FROM sqlite_schema WHERE name = 'entry_state')`) == nil && !ours {
			return &foreignError{err}
		}
		d.report(Damage, "database", err.Error(), "")
	}
	if err := t.get(&d.SchemaVersion, `PRAGMA user_version`); err != nil {
		return err
	}
	if d.SchemaVersion < migrations.Latest {
		d.report(Notice, "schema", fmt.Sprintf("it has version %d, which the next use brings to %d", d.SchemaVersion, migrations.Latest), "")
	} else if err := d.compareSchema(t); err != nil {
		return err
	}
	if err := t.get(&d.Entries, `SELECT count(*) FROM entry`); err != nil {
		return err
	}
	problems, err := t.problems(d.SchemaVersion < migrations.Latest)
	d.Problems = append(d.Problems, problems...)
	return err
}

// compareSchema compares the tables and indexes with those of a new store.
func (d *Diagnosis) compareSchema(t *tx) error {
	want, err := newSchema()
	if err != nil {
		return err
	}
	got, err := t.schema()
	if err != nil {
		return err
	}
	for name, sql := range want {
		switch found, ok := got[name]; {
		case !ok:
			d.report(Damage, "schema", name+" is missing", "")
		case found != sql:
			d.report(Damage, "schema", name+" is not as it was made", "")
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			d.report(Notice, "schema", name+" is not of loopmem", "")
		}
	}
	return nil
}

// schema reads the statements that made the tables and indexes, by name.
func (t *tx) schema() (map[string]string, error) {
	schema := make(map[string]string)
	err := t.each(func(rows *sqlx.Rows) error {
		var name, sql string
		err := rows.Scan(&name, &sql)
		schema[name] = sql
		return err
	}, `SELECT type || ' ' || name, ifnull(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'`)
	return schema, err
}

// newSchema is the schema of a store that was made just now.
var newSchema = sync.OnceValues(func() (schema map[string]string, err error) {
	ctx := context.Background()
	s, err := OpenInMemory(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.view(ctx, func(t *tx) error {
		schema, err = t.schema()
		return err
	})
	return schema, err
})
