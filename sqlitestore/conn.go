package sqlitestore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"
)

// connection is one SQLite connection with the statements it has prepared.
// Every statement of the package is one of a bounded set of texts, so that
// the cache needs no eviction.
type connection struct {
	*sqlx.Conn
	prepared map[string]*sqlx.Stmt
}

func (c *connection) statement(ctx context.Context, query string) (*sqlx.Stmt, error) {
	if stmt, ok := c.prepared[query]; ok {
		return stmt, nil
	}
	stmt, err := c.PreparexContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.prepared[query] = stmt
	return stmt, nil
}

// Close closes the connection with its statements. database/sql does not close
// those of a connection that was taken out of its pool, and SQLite keeps a
// connection open, locks and log included, as long as it has a statement.
func (c *connection) Close() error {
	return errors.Join(c.closeStatements(), c.Conn.Close())
}

// discard closes the connection for good. Close would let database/sql keep it
// for the next who asks, with whatever transaction it may be in.
func (c *connection) discard() {
	_ = c.closeStatements()
	_ = c.Raw(func(any) error { return driver.ErrBadConn })
}

func (c *connection) closeStatements() error {
	var errs []error
	for _, stmt := range c.prepared {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

// run executes a statement that begins or ends a transaction.
func (c *connection) run(ctx context.Context, query string) error {
	stmt, err := c.statement(context.WithoutCancel(ctx), query)
	if err != nil {
		return err
	}
	_, err = stmt.ExecContext(ctx)
	return err
}

// checkpointAt sets from how many bytes of the log on a commit takes it into the
// file; 0 is never. The pragma works when it is prepared, so that it cannot be
// kept as the other statements are.
func (c *connection) checkpointAt(ctx context.Context, size int) error {
	_, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA wal_autocheckpoint = %d", size/pageSize))
	return err
}

// pool hands out connections to one database, a fixed number at a time, each
// opened when it is first needed. database/sql has a pool too, but one that
// forgets prepared statements and hands a transaction no connection to keep.
type pool struct {
	db *sqlx.DB
	// keep is set for in-memory databases, which live and die with their one
	// connection.
	keep bool
	// inUse has room for as many as there may be.
	inUse chan struct{}

	mu   sync.Mutex // guards idle
	idle []*connection
}

func newPool(db *sqlx.DB, size int) *pool {
	return &pool{db: db, inUse: make(chan struct{}, size)}
}

// acquire hands out the connection that was given back last, which knows most
// of the file and of the statements, and opens one only if none is idle.
func (p *pool) acquire(ctx context.Context) (*connection, error) {
	select {
	case p.inUse <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	conn, err := p.db.Connx(ctx)
	if err != nil {
		<-p.inUse
		return nil, err
	}
	return &connection{Conn: conn, prepared: make(map[string]*sqlx.Stmt)}, nil
}

func (p *pool) pop() (c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		c, p.idle = p.idle[last], p.idle[:last]
	}
	return c
}

// release gives a connection back. One of doubtful state is closed instead: a
// cancelled statement has interrupted it, or its transaction may not have ended.
func (p *pool) release(c *connection, doubtful bool) {
	if doubtful && !p.keep {
		c.discard()
	} else {
		p.mu.Lock()
		p.idle = append(p.idle, c)
		p.mu.Unlock()
	}
	<-p.inUse
}

// close waits until every connection is given back and closes them.
func (p *pool) close() error {
	var errs []error
	for range cap(p.inUse) {
		p.inUse <- struct{}{}
	}
	for c := p.pop(); c != nil; c = p.pop() {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, p.db.Close())...)
}

// tx is a transaction. Its statements run on a context that does not end with
// the caller's: a statement interrupted in mid-transaction rolls it back
// without a word, and the next one would then commit on its own. The caller's
// context is looked at between statements instead.
type tx struct {
	ctx    context.Context // detached from the caller's
	caller context.Context
	conn   *connection
	fault  func(query string) error // of the store, for tests
}

// check reports whether the transaction may go on to the statement.
func (t *tx) check(query string) error {
	if err := t.caller.Err(); err != nil {
		return err
	}
	if t.fault != nil {
		return t.fault(query)
	}
	return nil
}

func (t *tx) prepare(query string) (*sqlx.Stmt, error) {
	if err := t.check(query); err != nil {
		return nil, err
	}
	return t.conn.statement(t.ctx, query)
}

func (t *tx) exec(query string, args ...any) (sql.Result, error) {
	stmt, err := t.prepare(query)
	if err != nil {
		return nil, err
	}
	return stmt.ExecContext(t.ctx, args...)
}

// get reads one row into dest, as sqlx does; none is [sql.ErrNoRows].
func (t *tx) get(dest any, query string, args ...any) error {
	stmt, err := t.prepare(query)
	if err != nil {
		return err
	}
	return stmt.GetContext(t.ctx, dest, args...)
}

// find is get for a row that may be missing.
func (t *tx) find(dest any, query string, args ...any) (bool, error) {
	err := t.get(dest, query, args...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

// collect reads all rows into dest, as sqlx does.
func (t *tx) collect(dest any, query string, args ...any) error {
	stmt, err := t.prepare(query)
	if err != nil {
		return err
	}
	return stmt.SelectContext(t.ctx, dest, args...)
}

// each calls visit for every row and stops at its first error.
func (t *tx) each(visit func(*sqlx.Rows) error, query string, args ...any) error {
	stmt, err := t.prepare(query)
	if err != nil {
		return err
	}
	rows, err := stmt.QueryxContext(t.ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := t.caller.Err(); err != nil {
			return err
		}
		if err := visit(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// faultHook is what tests set to be told of every statement, and to fail it.
// Writes for their own sake, such as that of access stamps, read it at any time.
type faultHook struct {
	f atomic.Pointer[func(query string) error]
}

func (h *faultHook) set(f func(query string) error) { h.f.Store(&f) }

func (h *faultHook) get() func(query string) error {
	if f := h.f.Load(); f != nil {
		return *f
	}
	return nil
}
