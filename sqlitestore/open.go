package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"

	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/migrations"
)

// database is what all handles of one Open share.
type database struct {
	path     string   // absolute, links resolved; ":memory:" without a file
	identity identity // of the files that are open; nil without a file
	options  Options
	settings memory.Settings

	readers *pool
	writer  *pool
	// anchor is a connection that nobody uses. Those of the pools are closed
	// when a call is cancelled; without any, a restore would take the file for
	// unused, and the log could be removed and made anew.
	anchor     *pool       // nil without a file
	queue      *queue      // nil without a file
	vocabulary *vocabulary // goes with the writer's connection, as does unscrubbed
	unscrubbed bool        // the log may still hold what was forgotten
	pending    *pending
	mirroring  *mirroring
	fault      faultHook // set by tests

	mu      sync.Mutex // guards closed, and the adding to running
	closed  bool
	running sync.WaitGroup
}

// enter begins a call on the database; leave ends it. Close waits for all.
func (d *database) enter() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return memory.ErrClosed
	}
	d.running.Add(1)
	return nil
}

func (d *database) leave() { d.running.Done() }

// applicationID marks a SQLite file as a loopmem database: "LpMm".
const applicationID = 0x4c704d6d

// oldestEngine is the first SQLite without the bug that could corrupt a
// database in WAL mode when two connections wrote and checkpointed at once.
const oldestEngine = "3.51.3"

// open opens or creates the file at path, in this order: look at what is
// there without changing it, bring it to the latest schema under the lock
// that all processes respect, and only then connect for use.
func open(ctx context.Context, path string, options Options, settings memory.Settings) (*database, error) {
	// With POSIX locks, any code in the process that opens and closes the
	// database file drops SQLite's locks on it. Where the system has a better
	// kind, use that; where it does not, nothing is lost.
	_, _ = sqlite.OFDLocking(true)

	if path == "" {
		return nil, fmt.Errorf("%w: the path of the database is empty", memory.ErrInvalid)
	}
	// The side file of the lock must be the same for every spelling.
	real, err := realpath.Resolve(path)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", explain(path, err))
	}
	path = real
	if err := ctx.Err(); err != nil {
		return nil, err // before anything is made
	}
	d := &database{
		path: path, options: options, settings: settings,
		queue: newQueue(path + ".lock"), vocabulary: newVocabulary(), pending: newPending(), mirroring: newMirroring(),
	}
	ready, err := d.inspect(ctx)
	if err != nil {
		return nil, err
	}
	if !ready {
		if err := d.prepare(ctx); err != nil {
			return nil, err
		}
	}
	if name := networkFileSystem(path); name != "" {
		settings.Logger.Warn("the database is on a network file system; only processes of one machine may use it, or it will be damaged",
			"database", path, "file system", name)
	}
	if d.anchor, err = d.connect("rw", 1, "_query_only=1"); err != nil {
		return nil, err
	}
	// The first read takes the lock by which a restore sees that the file is
	// in use, and opens the log. This one does without the schema.
	err = d.viewOn(ctx, d.anchor, func(t *tx) error { return t.get(new(int64), `PRAGMA user_version`) })
	if err == nil {
		err = ctx.Err() // in which case the connection is closed
	}
	if err == nil {
		d.identity, err = identify(path)
	}
	if err == nil {
		d.readers, err = d.connect("rw", readers, "_query_only=1")
	}
	if err == nil {
		d.writer, err = d.connect("rw", 1, fmt.Sprintf("_pragma=wal_autocheckpoint(%d)&_pragma=cache_size(-%d)",
			usualLog/pageSize, writerCache>>10))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), d.anchor.close())
	}
	return d, nil
}

// openInMemory makes a database that lives in its one connection.
func openInMemory(ctx context.Context, options Options, settings memory.Settings) (*database, error) {
	d := &database{
		path: ":memory:", options: options, settings: settings,
		vocabulary: newVocabulary(), pending: newPending(), mirroring: newMirroring(),
	}
	db, err := sqlx.Open("sqlite", "file::memory:?"+d.parameters(""))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := migrate(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	only := newPool(db, 1)
	only.keep = true
	d.readers, d.writer = only, only
	return d, d.fillIndexes(ctx)
}

// inspect looks at what the path leads to, and refuses what is no store of
// ours or too new. It changes nothing: the connection is read-only. It
// reports whether the file is ready for use.
func (d *database) inspect(ctx context.Context) (ready bool, err error) {
	info, err := os.Stat(d.path)
	if err == nil && info.Size() == 0 && d.options.MustExist {
		info, err = d.awaitContent(ctx)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if d.options.MustExist {
			return false, fmt.Errorf("open database: %w", &fs.PathError{Op: "open", Path: d.path, Err: fs.ErrNotExist})
		}
		return false, nil
	case err != nil:
		return false, fmt.Errorf("open database: %w", explain(d.path, err))
	case info.IsDir():
		return false, fmt.Errorf("%w: %s is a directory; name a file in it", memory.ErrInvalid, d.path)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%w: %s is not a regular file", memory.ErrInvalid, d.path)
	case info.Size() == 0 && d.options.MustExist:
		return false, fileError(ErrNotStore, d.path, errors.New("it is empty"))
	case info.Size() == 0:
		return false, nil
	}
	if ready, err = d.inspectIdle(ctx); ready || err != nil {
		return ready, err
	}
	ready, err = d.examine(ctx, "")
	if err != nil && !refused(err) && ctx.Err() == nil {
		// Another process may be making the file at this moment, or have died
		// doing so. Under the lock it is seen for what it is.
		return false, nil
	}
	return ready, err
}

// refused reports whether the error says of a file that it must not be touched.
func refused(err error) bool { return errors.Is(err, ErrNotStore) || errors.Is(err, ErrNewerSchema) }

// inspectIdle looks at a file that is not in use, and refuses it without leaving
// anything beside it. A connection that shares the file with others, as the one
// that looks at it next unless this finds it ready, leaves the side files of a
// log.
func (d *database) inspectIdle(ctx context.Context) (ready bool, err error) {
	if !idle(d.path) {
		return false, nil
	}
	if ready, err = d.examine(ctx, immutable); !refused(err) {
		return ready && err == nil, nil
	}
	// It may be in the making and look like anything.
	if err := d.awaitMaker(ctx); err != nil {
		return false, err
	}
	if _, err := d.examine(ctx, immutable); refused(err) {
		return false, err
	}
	return false, nil
}

// examine is the function examine on a connection of its own, which cannot
// write.
func (d *database) examine(ctx context.Context, parameters string) (ready bool, err error) {
	db, err := sqlx.Open("sqlite", d.dsn("ro", parameters))
	if err != nil {
		return false, err
	}
	defer db.Close()
	return examine(ctx, db, d.path)
}

// awaitContent looks at an empty file again when nobody can be making a
// database of it.
func (d *database) awaitContent(ctx context.Context) (fs.FileInfo, error) {
	if err := d.awaitMaker(ctx); err != nil {
		return nil, err
	}
	return os.Stat(d.path)
}

// awaitMaker waits until no process has the lock that prepare holds while it
// makes a database. Where that lock is missing, nobody does; it is not made
// beside what may be a file of others.
func (d *database) awaitMaker(ctx context.Context) error {
	if _, err := os.Stat(d.path + ".lock"); err != nil {
		return nil
	}
	wait, cancel := context.WithTimeout(ctx, d.options.BusyTimeout)
	defer cancel()
	if err := d.queue.enter(wait); err != nil {
		return busy(ctx, d.path, err)
	}
	return d.queue.leave()
}

// getter is a database or one connection to it.
type getter interface {
	GetContext(ctx context.Context, dest any, query string, args ...any) error
}

// examine tells a store that is ready for use (true) from one that is new or
// older, or whose indexes other code has filled, or that is not in WAL mode
// because a restore was broken off (false), and from what must not be touched
// (an error).
func examine(ctx context.Context, db getter, path string) (bool, error) {
	var file struct {
		Application int    `db:"application_id"`
		Schema      int    `db:"user_version"`
		Tables      int    `db:"tables"`
		Journal     string `db:"journal_mode"`
	}
	err := db.GetContext(ctx, &file, `
		SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) AS tables, journal_mode
		FROM pragma_application_id, pragma_user_version, pragma_journal_mode`)
	switch {
	case err != nil:
		return false, explain(path, err)
	case file.Application != applicationID && (file.Application != 0 || file.Schema != 0 || file.Tables > 0):
		return false, fileError(ErrNotStore, path, errors.New("it holds the data of another program"))
	case file.Application == applicationID && file.Schema > migrations.Latest:
		return false, newerSchema(path, file.Schema)
	}
	if file.Application != applicationID || file.Schema != migrations.Latest || file.Journal != "wal" {
		return false, nil
	}
	var index int
	err = db.GetContext(ctx, &index, `SELECT index_version FROM store`)
	if errors.Is(err, sql.ErrNoRows) {
		err = fileError(ErrCorrupt, path, err)
	}
	return index == indexVersion, explain(path, err)
}

func newerSchema(path string, version int) error {
	return fileError(ErrNewerSchema, path,
		fmt.Errorf("its schema has version %d, this program knows up to %d", version, migrations.Latest))
}

// prepare brings the file to the latest schema, making it first where it is
// missing, with no other process at it.
func (d *database) prepare(ctx context.Context) (err error) {
	wait, cancel := context.WithTimeout(ctx, d.options.BusyTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		return fmt.Errorf("make the folder of the database: %w", explain(d.path, err))
	}
	if err := d.queue.enter(wait); err != nil {
		return busy(ctx, d.path, err)
	}
	defer func() { err = errors.Join(err, d.queue.leave()) }()

	// SQLite would make the file with the permissions of the umask. Where it
	// exists, it must not be opened by other means; see open.
	file, err := os.OpenFile(d.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err == nil {
		err = file.Close()
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the database: %w", explain(d.path, err))
	}
	// A handle of its own, closed afterwards: goose opens transactions as it
	// likes, and some migrations want other pragmas.
	db, err := sqlx.Open("sqlite", d.dsn("rw", ""))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	ready, err := examine(ctx, db, d.path)
	if ready || err != nil {
		return err
	}
	if err := migrate(ctx, db); err != nil {
		return explain(d.path, err)
	}
	d.writer = newPool(db, 1)
	// Not db.Close alone: it leaves a connection open that is in use.
	defer func() { err = errors.Join(err, d.writer.close()) }()
	return d.fillIndexes(ctx)
}

// birth sets what can only be set before a file has its first table, or is
// part of what every store is.
const birth = `
	PRAGMA page_size = 4096;
	PRAGMA auto_vacuum = INCREMENTAL;
	PRAGMA journal_mode = WAL;
	PRAGMA application_id = 0x4c704d6d;`

// migrate applies the migrations that the database has not seen.
func migrate(ctx context.Context, db *sqlx.DB) error {
	var engine string
	if err := db.GetContext(ctx, &engine, `SELECT sqlite_version()`); err != nil {
		return err
	}
	if olderVersion(engine, oldestEngine) {
		return fmt.Errorf("the SQLite engine has version %s; %s or later is needed", engine, oldestEngine)
	}
	if _, err := db.ExecContext(ctx, birth); err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectSQLite3, db.DB, migrations.FS)
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// olderVersion compares versions of three numbers.
func olderVersion(version, than string) bool {
	var a, b [3]int
	fmt.Sscanf(version, "%d.%d.%d", &a[0], &a[1], &a[2])
	fmt.Sscanf(than, "%d.%d.%d", &b[0], &b[1], &b[2])
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// connect makes a pool on the file. The pragmas are part of the data source
// name, so that every connection has them.
func (d *database) connect(mode string, size int, extra string) (*pool, error) {
	db, err := sqlx.Open("sqlite", d.dsn(mode, extra))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(size)
	db.SetMaxIdleConns(size)
	return newPool(db, size), nil
}

func (d *database) dsn(mode, extra string) string {
	// A leading slash makes the path of a Windows drive a path of the URI.
	path := "/" + strings.TrimPrefix(filepath.ToSlash(d.path), "/")
	return (&url.URL{Scheme: "file", Path: path, RawQuery: "mode=" + mode + "&" + d.parameters(extra)}).String()
}

// parameters are the settings of every connection.
func (d *database) parameters(extra string) string {
	synchronous := "NORMAL"
	if d.options.Synchronous == SynchronousFull {
		synchronous = "FULL"
	}
	return strings.Join([]string{
		fmt.Sprintf("_busy_timeout=%d", d.options.BusyTimeout.Milliseconds()),
		"_foreign_keys=1",
		"_synchronous=" + synchronous,
		"_dqs=0", // a misspelled column is an error, not a string
		// What is forgotten is overwritten.
		"_pragma=secure_delete(1)",
		// A log that a reader has made grow shrinks again after it.
		fmt.Sprintf("_pragma=journal_size_limit(%d)", usualLog),
		extra,
	}, "&")
}
