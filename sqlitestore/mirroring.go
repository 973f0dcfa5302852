package sqlitestore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/mirror"
)

// mirroring keeps a mirror of the whole store in the memory of this process,
// once that has asked often enough for it to pay. Before every answer the
// mirror is brought to the state that the answer's transaction sees, whichever
// process has written since: the store knows which rows have changed, and a row
// has the version of the store at which its content did, its embedding included.
type mirroring struct {
	queries  atomic.Int64 // since the process has no mirror
	building atomic.Bool  // in the background
	tooLarge atomic.Int64 // entries of the store when it was too large; 0 if it never was
	stop     context.CancelFunc
	stopped  context.Context

	mu      sync.RWMutex // guards what follows, and the mirror's content
	mirror  *mirror.Mirror
	version int64 // of the store
	recent  recent
}

func newMirroring() *mirroring {
	m := new(mirroring)
	m.stopped, m.stop = context.WithCancel(context.Background())
	return m
}

// mirroredAtOnce is up to how many entries a query has the mirror made before
// it is answered; that takes some milliseconds. A larger one is made in the
// background.
const mirroredAtOnce = 1000

// latestChanges is how many changed rows are brought into a mirror before a
// query is answered. With more it is made anew.
const latestChanges = 4000

// errOutdated says that a transaction sees an older state than the mirror has.
var errOutdated = errors.New("another query has brought the mirror to a later state")

// viewMirrored is view for queries that a mirror can answer. It hands over nil
// where there is none.
func (d *database) viewMirrored(ctx context.Context, read func(*tx, *mirror.Mirror) error) (err error) {
	const attempts = 3
	for range attempts {
		err = d.view(ctx, func(t *tx) error {
			m, release, err := d.mirrorFor(t)
			if err != nil {
				return err
			}
			defer release()
			return read(t, m)
		})
		if !errors.Is(err, errOutdated) {
			return err
		}
	}
	return d.view(ctx, func(t *tx) error { return read(t, nil) })
}

// standing is what the table store says of the state a transaction sees.
type standing struct {
	Version      int64 `db:"version"`
	Entries      int64 `db:"entries"`
	ChangesSince int64 `db:"changes_since"`
}

func (t *tx) standing() (s standing, err error) {
	err = t.get(&s, `SELECT version, entries, changes_since FROM store WHERE only_row = 1`)
	return s, err
}

// mirrorFor returns the mirror in the state that the transaction sees, or nil.
// It must not change until it is released.
func (d *database) mirrorFor(t *tx) (m *mirror.Mirror, release func(), err error) {
	g := d.mirroring
	none := func() {}
	if d.options.MirrorBytes < 0 {
		return nil, none, nil
	}
	g.mu.RLock()
	// The transaction begins to see one state with its first statement, this
	// one: no earlier one than the mirror has, as long as that cannot change.
	now, err := t.standing()
	if err != nil {
		g.mu.RUnlock()
		return nil, none, err
	}
	if g.mirror != nil && g.version == now.Version {
		return g.mirror, g.mu.RUnlock, nil
	}
	g.mu.RUnlock()
	if err := d.advance(t, now); err != nil {
		return nil, none, err
	}
	g.mu.RLock()
	if g.mirror == nil {
		g.mu.RUnlock()
		return nil, none, nil
	}
	if g.version != now.Version {
		g.mu.RUnlock()
		return nil, none, errOutdated
	}
	return g.mirror, g.mu.RUnlock, nil
}

// advance brings the mirror to the state that the transaction sees, or sees to
// it that there will be one.
func (d *database) advance(t *tx, now standing) error {
	g := d.mirroring
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mirror == nil {
		return d.begin(t, now)
	}
	if g.version >= now.Version {
		return nil
	}
	done, err := g.catchUp(t, now)
	if err != nil || !done || !d.bound(g.mirror) || g.mirror.Worn() {
		g.install(nil, standing{})
		g.queries.Store(0)
	}
	return err
}

// install sets the mirror, or none. What is remembered beside another mirror
// may be of a later state.
func (g *mirroring) install(m *mirror.Mirror, at standing) {
	g.mirror, g.version = m, at.Version
	g.recent.forgetAll()
}

// touched is a row of which a recall counts an access.
type touched struct {
	rowID, position int64
	entry           memory.Entry // nothing but its state
	sum             int64        // the checksum of that
}

// takeOver brings a write of this process into the mirror that has done
// nothing but count accesses, unless the mirror has or needs more than that.
// Every recall makes such a write.
func (g *mirroring) takeOver(version int64, rows []touched) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mirror == nil || g.version != version-1 {
		return
	}
	for i := range rows {
		g.mirror.SetState(mirrored(rows[i].rowID, rows[i].position, &rows[i].entry))
		g.recent.touch(&rows[i])
	}
	g.version = version
}

func mirrored(rowID, position int64, e *memory.Entry) mirror.State {
	return mirror.State{
		RowID: rowID, Position: position, CreatedAt: nanos(e.CreatedAt), StrengthBase: nanos(e.StrengthBase()),
		Strength: e.Strength, Relevance: e.Relevance,
	}
}

// catchUp brings the changes into the mirror, or reports that there are too
// many.
func (g *mirroring) catchUp(t *tx, now standing) (done bool, err error) {
	if g.version < now.ChangesSince {
		return false, nil
	}
	changed, err := t.changedSince(g.version)
	if err != nil || len(changed) > latestChanges {
		return false, err
	}
	gone := make(map[int64]bool, len(changed))
	for _, rowID := range changed {
		gone[rowID] = true
		g.recent.forget(rowID)
	}
	list, err := json.Marshal(changed)
	if err != nil {
		return false, err
	}
	some := where("s.row_id IN (SELECT value FROM json_each(?))", string(list))
	err = t.eachMirrored(some, g.version, g.mirror.KeepsVectors(), func(s mirror.State, c *mirror.Content) error {
		delete(gone, s.RowID)
		if c == nil {
			g.mirror.SetState(s)
		} else {
			g.mirror.Put(s, c)
		}
		return nil
	})
	for rowID := range gone {
		g.mirror.Remove(rowID)
	}
	g.version = now.Version
	g.mirror.Settle()
	return err == nil, err
}

// begin makes a mirror of a small store; for a larger one it has that begun in
// the background.
func (d *database) begin(t *tx, now standing) error {
	g := d.mirroring
	if g.queries.Add(1) < int64(d.options.MirrorAfter) || g.building.Load() {
		return nil
	}
	if refused := g.tooLarge.Load(); refused > 0 && now.Entries > refused/2 {
		return nil
	}
	if now.Entries <= mirroredAtOnce {
		m, err := d.newMirror(t)
		g.install(m, now)
		return err
	}
	if d.enter() != nil {
		return nil // it is being closed
	}
	g.building.Store(true)
	go func() {
		defer d.leave()
		defer g.building.Store(false)
		err := d.view(g.stopped, func(t *tx) error {
			now, err := t.standing()
			if err != nil {
				return err
			}
			m, err := d.newMirror(t)
			g.mu.Lock()
			defer g.mu.Unlock()
			g.install(m, now)
			return err
		})
		if err != nil && g.stopped.Err() == nil && !errors.Is(err, memory.ErrClosed) {
			d.settings.Logger.Warn("queries are answered without a mirror of the store", "database", d.path, "error", err)
		}
	}()
	return nil
}

// Warm has the store's mirror made now (see [Options.MirrorBytes]), for
// processes that know that they will ask often and do not want the first
// queries to take longer than the rest.
func (s *Store) Warm(ctx context.Context) error {
	err := s.view(ctx, func(t *tx) error {
		g := s.mirroring
		g.mu.Lock()
		defer g.mu.Unlock()
		now, err := t.standing()
		if err != nil || s.options.MirrorBytes < 0 || g.mirror != nil {
			return err
		}
		m, err := s.newMirror(t)
		g.install(m, now)
		return err
	})
	if err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	return nil
}

// newMirror makes a mirror of the state that the transaction sees: with the
// embeddings if it may be that large, else without, and nil if that is too
// large as well.
func (d *database) newMirror(t *tx) (*mirror.Mirror, error) {
	m := mirror.New()
	err := d.fill(t, m)
	if err == errEnough {
		m = mirror.New()
		m.DropVectors()
		err = d.fill(t, m)
	}
	if err == errEnough {
		d.mirroring.tooLarge.Store(int64(m.Len()))
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m.Settle()
	return m, nil
}

// fill puts all rows into the mirror. It gives up when that is too large.
func (d *database) fill(t *tx, m *mirror.Mirror) error {
	return t.eachMirrored(condition{}, 0, m.KeepsVectors(), func(s mirror.State, c *mirror.Content) error {
		m.Put(s, c)
		if !d.fits(m) {
			return errEnough
		}
		return nil
	})
}

func (d *database) fits(m *mirror.Mirror) bool { return int64(m.Size()) <= d.options.MirrorBytes }

// bound keeps the mirror within what it may take, for which it may have to let
// go of the embeddings. It reports whether that was enough, and notes if not.
func (d *database) bound(m *mirror.Mirror) bool {
	if !d.fits(m) {
		m.DropVectors()
	}
	if d.fits(m) {
		return true
	}
	d.mirroring.tooLarge.Store(int64(m.Len()))
	return false
}

// eachMirrored calls visit for every row that meets the condition, in any
// order, with its content where that has changed since a version, of which the
// embedding is a part only if vectors are asked for.
func (t *tx) eachMirrored(c condition, since int64, vectors bool, visit func(s mirror.State, c *mirror.Content) error) error {
	return t.each(func(rows *sqlx.Rows) error {
		var s mirror.State
		var version int64
		var c mirror.Content
		var tags, keywords, text *string
		var vector sql.RawBytes
		err := rows.Scan(
			&s.RowID, &s.Position, &s.CreatedAt, &s.StrengthBase, &s.Strength, &s.Relevance, &version,
			&c.Importance, &c.MemoryType, &c.Confidentiality, &c.Agent, &c.Category, &tags, &keywords, &text, &vector)
		if err != nil {
			return err
		}
		if version <= since {
			return visit(s, nil)
		}
		c.Memory, c.Embedding = *text, decodeVector(vector)
		var errs [2]error
		c.Tags, errs[0] = decodeList(*tags)
		c.Keywords, errs[1] = decodeList(*keywords)
		if err := errors.Join(errs[:]...); err != nil {
			return cannotRead(fmt.Sprint("row ", s.RowID), err)
		}
		return visit(s, &c)
	}, `
		WITH asked (since, vectors) AS (VALUES (?, ?))
		SELECT s.row_id, s.position, s.created_at, s.strength_base, s.strength, s.relevance, e.version,
		       e.importance, e.memory_type, e.confidentiality, e.agent, e.category,
		       iif(e.version > since, e.tags, NULL), iif(e.version > since, e.keywords, NULL), iif(e.version > since, e.memory, NULL),
		       iif(e.version > since AND vectors, (SELECT vector FROM embedding AS v WHERE v.row_id = s.row_id), NULL)
		FROM asked CROSS JOIN entry_state AS s CROSS JOIN entry AS e USING (row_id) `+c.sql(), append([]any{since, vectors}, c.args...)...)
}
