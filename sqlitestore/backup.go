package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/loopmem/loopmem/internal/atomicfile"
	"github.com/loopmem/loopmem/internal/realpath"
	"github.com/loopmem/loopmem/memory"
)

// BackupOptions are what varies among backups. The zero value overwrites
// nothing and tells nothing.
type BackupOptions struct {
	// Overwrite lets a backup take the place of a file that exists. Without
	// it, that is [io/fs.ErrExist].
	Overwrite bool

	// Progress is called now and then with the number of bytes copied, and of
	// all bytes to copy. It should return soon: the snapshot that is copied
	// keeps the write-ahead log from being emptied.
	Progress func(done, total int64)

	// BusyTimeout is how long a restore waits for writers of the database that
	// it replaces to be done; 0 means 10 seconds. It does not wait for
	// processes to close it.
	BusyTimeout time.Duration
}

func (o BackupOptions) busyTimeout() time.Duration {
	return Options{BusyTimeout: o.BusyTimeout}.withDefaults().BusyTimeout
}

// Backup copies the whole store to a new file while others go on writing. The
// copy is one consistent state, that of the moment of the call. It is
// complete, checked and on the disk before it gets its name; where an error
// is returned there is no such file, or still the old one.
//
// Copying the files by other means misses what is still in the write-ahead
// log.
func (s *Store) Backup(ctx context.Context, dest string, options BackupOptions) error {
	if !s.scope.Whole() {
		return fmt.Errorf("backup: %w", memory.ErrScope)
	}
	dest, err := realpath.Resolve(dest)
	if err == nil {
		err = s.backupTo(ctx, dest, options)
	}
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func (s *Store) backupTo(ctx context.Context, dest string, options BackupOptions) error {
	if dest == s.path {
		return fmt.Errorf("%w: %s is the store itself; name another file", memory.ErrInvalid, dest)
	}
	if err := mayPlace(dest, options.Overwrite); err != nil {
		return err
	}
	temp, err := newTemporary(dest)
	if err != nil {
		return err
	}
	defer temp.remove()
	err = s.viewFresh(ctx, func(t *tx) error { return t.copyTo(temp.path, options.Progress) })
	if err != nil {
		return err
	}
	if err := sound(ctx, temp.path); err != nil {
		return err
	}
	if err := mayPlace(dest, options.Overwrite); err != nil {
		return err
	}
	return atomicfile.Place(temp.path, dest)
}

// mayPlace refuses to put a database where there is one in use, or a file
// that is not to be overwritten.
func mayPlace(dest string, overwrite bool) error {
	info, err := os.Lstat(dest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %s is not a regular file", memory.ErrInvalid, dest)
	case !overwrite:
		return &fs.PathError{Op: "create", Path: dest, Err: fs.ErrExist}
	}
	// SQLite would take the log for that of the new file.
	for _, side := range []string{"-wal", "-journal"} {
		if _, err := os.Lstat(dest + side); err == nil {
			return fmt.Errorf("%w: %s is there, so that a database of that name is in use or was left by a crash; name another file",
				memory.ErrInvalid, dest+side)
		}
	}
	return nil
}

// pagesAtOnce is how much of a database is copied between two looks at the
// context: a megabyte.
const pagesAtOnce = 256

// copyTo copies the state that the transaction sees, page by page, into the
// empty database at path. The transaction holds its snapshot meanwhile: a copy
// that takes the locks anew for every step begins again whenever another
// process has written, and never ends.
func (t *tx) copyTo(path string, progress func(done, total int64)) error {
	var pageBytes int64
	// Reading a page, which a pragma need not do, is what takes the snapshot.
	if err := t.get(&pageBytes, `SELECT page_size FROM pragma_page_size, (SELECT count(*) FROM sqlite_schema)`); err != nil {
		return err
	}
	dest := &database{path: path, options: Options{}.withDefaults()}
	return t.conn.Raw(func(driverConn any) (err error) {
		source := driverConn.(interface {
			NewBackup(uri string) (*sqlite.Backup, error)
		})
		// Nobody else knows the file: it needs neither journal nor syncs.
		backup, err := source.NewBackup(dest.dsn("rw", "_pragma=journal_mode(OFF)&_pragma=synchronous(0)"))
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, backup.Finish()) }()
		for more := true; more; {
			if err := t.check("copy"); err != nil {
				return err
			}
			if more, err = backup.Step(pagesAtOnce); err != nil {
				return explain(path, err)
			}
			if progress != nil {
				total := int64(backup.PageCount())
				progress((total-int64(backup.Remaining()))*pageBytes, total*pageBytes)
			}
		}
		return nil
	})
}

// sound reads a database file that nobody uses from end to end, and fails with
// [ErrCorrupt] if anything is wrong with it.
func sound(ctx context.Context, path string) error {
	return look(ctx, path, func(t *tx) error {
		problems, err := t.problems(false)
		return errors.Join(err, refuse(path, problems))
	})
}

func refuse(path string, problems []Problem) error {
	switch n := len(problems); n {
	case 0:
		return nil
	case 1:
		return fileError(ErrCorrupt, path, errors.New(problems[0].String()))
	default:
		return fileError(ErrCorrupt, path, fmt.Errorf("%s, and %d problems more", problems[0], n-1))
	}
}

// RestoreBackup puts the store in the file backup, which stays as it is, in
// the place of the one at path, and returns the name under which the replaced
// file is kept, or "" if there was none. Either all of it happens or nothing.
//
// It fails with [ErrInUse] while any process has the file at path open.
// Only where that file is damaged so much that SQLite cannot tell is that not
// noticed; a process that still has it open then gets [ErrReplaced] when it
// writes. A backup that is damaged or of a newer version is refused.
func RestoreBackup(ctx context.Context, path, backup string, options BackupOptions) (replaced string, err error) {
	target, err := realpath.Resolve(path)
	if err == nil {
		backup, err = realpath.Resolve(backup)
	}
	if err == nil {
		replaced, err = restore(ctx, target, backup, options)
	}
	if err != nil {
		return "", fmt.Errorf("restore: %w", err)
	}
	return replaced, nil
}

func restore(ctx context.Context, target, backup string, options BackupOptions) (replaced string, err error) {
	if target == backup {
		return "", fmt.Errorf("%w: %s cannot be restored from itself", memory.ErrInvalid, target)
	}
	if _, err := os.Stat(backup); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return "", err
	}
	temp, err := newTemporary(target)
	if err != nil {
		return "", err
	}
	defer temp.remove()
	err = look(ctx, backup, func(t *tx) error {
		if err := t.acceptable(backup); err != nil {
			return err
		}
		return t.copyTo(temp.path, options.Progress)
	})
	if err != nil {
		return "", err
	}
	if err := modernize(ctx, temp.path); err != nil {
		return "", err
	}
	return exchange(ctx, target, temp.path, options.busyTimeout())
}

// acceptable refuses a file that Open would refuse, or that holds nothing.
func (t *tx) acceptable(path string) error {
	if _, err := examine(t.ctx, t.conn, path); err != nil {
		return err
	}
	var application int
	err := t.get(&application, `PRAGMA application_id`)
	if err == nil && application != applicationID {
		err = fileError(ErrNotStore, path, errors.New("it is empty"))
	}
	return err
}

// modernize brings a copy, which may be from an older version, to the form of
// this one, and checks it.
func modernize(ctx context.Context, path string) (err error) {
	s, err := Open(ctx, path, Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	problems, err := s.Check(ctx)
	return errors.Join(err, refuse(path, problems))
}

// exchange puts temp in the place of target, while no process has that open
// and none can open it.
func exchange(ctx context.Context, target, temp string, timeout time.Duration) (replaced string, err error) {
	wait, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	queue := newQueue(target + ".lock")
	if err := queue.enter(wait); err != nil {
		return "", busy(ctx, target, err)
	}
	defer func() { err = errors.Join(err, queue.leave()) }()

	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		for _, side := range []string{"-wal", "-shm", "-journal"} {
			if err := os.Remove(target + side); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return "", err // beside the new file, it would be taken for its log
			}
		}
		return "", atomicfile.Place(temp, target)
	}
	if err != nil {
		return "", err
	}
	if info.Size() > 0 {
		release, err := seize(ctx, target)
		if err != nil {
			return "", err
		}
		defer release()
	}
	if replaced, err = setAside(target); err != nil {
		return "", err
	}
	if err := atomicfile.Place(temp, target); err != nil {
		putBack(replaced, target)
		return "", err
	}
	return replaced, nil
}

// seize makes sure that no other process has a database file open, and keeps
// it so until release. SQLite leaves WAL mode only when it is alone, and all
// that was in the log is in the file then. Open brings a file back to WAL
// mode if nothing else becomes of it.
func seize(ctx context.Context, path string) (release func(), err error) {
	d := &database{path: path, options: Options{}.withDefaults()}
	connections, err := d.connect("rw", 1, "")
	if err != nil {
		return nil, err
	}
	conn, err := connections.acquire(ctx)
	if err == nil {
		// Not the wait of the other writes: a process that has the file open
		// will hardly close it soon.
		_, err = conn.ExecContext(ctx, `PRAGMA busy_timeout = 0; PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE`)
		connections.release(conn, false)
	}
	if err = explain(path, err); errors.Is(err, memory.ErrBusy) {
		return nil, errors.Join(fileError(ErrInUse, path, nil), connections.close())
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), connections.close())
	}
	// Any other error is the damage for which the file is to be replaced.
	return func() { _ = connections.close() }, nil
}

// setAside gives a database file, with what may be left of its log, a name
// that tells when it was replaced. The file keeps its old name as well until
// another takes that: a process that came when there is none would make an
// empty store.
func setAside(path string) (name string, err error) {
	name = unusedName(path, "replaced")
	for _, side := range []string{"-wal", "-journal"} {
		if err := os.Rename(path+side, name+side); err != nil && !errors.Is(err, fs.ErrNotExist) {
			putBack(name, path)
			return "", err
		}
	}
	err = os.Link(path, name)
	if err != nil { // not every file system gives a file two names
		err = os.Rename(path, name)
	}
	if err == nil {
		err = os.Remove(path + "-shm")
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		putBack(name, path)
		return "", err
	}
	return name, nil
}

// putBack undoes setAside, as far as that came. What fails here fails for the
// reason that made it necessary.
func putBack(name, path string) {
	for _, side := range []string{"-wal", "-journal", ""} {
		_ = os.Rename(name+side, path+side)
		_ = os.Remove(name + side) // if both were names of one file, nothing was renamed
	}
}

// unusedName is a name beside path that tells what became of that file, and
// when.
func unusedName(path, what string) string {
	first := fmt.Sprintf("%s.%s-%s", path, what, time.Now().UTC().Format("20060102T150405Z"))
	name := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = fmt.Sprintf("%s-%d", first, n)
	}
}
