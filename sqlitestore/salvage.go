package sqlitestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/internal/atomicfile"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/migrations"
)

// Repaired tells what [Repair] has done.
type Repaired struct {
	// Before is what was found.
	Before Diagnosis `json:"before"`
	// Rebuilt is set if the indexes were made anew, in the file itself.
	Rebuilt bool `json:"rebuilt"`
	// Salvaged is the new file with all that could be read of a damaged one,
	// which was left as it is; "" if there was no damage.
	Salvaged string `json:"salvaged,omitempty"`
	// Entries and Archived were salvaged.
	Entries  int `json:"entries"`
	Archived int `json:"archived"`
	// Doubtful are those of the salvaged entries whose content is not what was
	// stored; look at them.
	Doubtful []uuid.UUID `json:"doubtful,omitempty"`
	// Unreadable is how many entries were found of which nothing useful could
	// be read. There may have been more.
	Unreadable int `json:"unreadable"`
}

// Repair does what can be done about the file at path. Indexes that are wrong
// are made anew. From a damaged file it salvages what can be read into a new
// one beside it, which [RestoreBackup] can put in its place; the damaged file
// is not touched, so that other tools can be tried on it.
func Repair(ctx context.Context, path string) (r Repaired, err error) {
	if r.Before, err = Diagnose(ctx, path); err != nil {
		return r, err
	}
	switch {
	case r.Before.SchemaVersion > migrations.Latest:
		// Salvaging would leave out whatever the newer version has added.
		err = newerSchema(r.Before.Path, r.Before.SchemaVersion)
	case r.Before.has(Damage):
		err = r.salvage(ctx)
	case r.Before.has(Index):
		err = r.rebuild(ctx)
	}
	if err != nil {
		return r, fmt.Errorf("repair: %w", err)
	}
	return r, nil
}

func (r *Repaired) rebuild(ctx context.Context) (err error) {
	s, err := Open(ctx, r.Before.Path, Options{MustExist: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.write(ctx, (*writeTx).rebuildIndexes)
	r.Rebuilt = err == nil
	return err
}

func (r *Repaired) salvage(ctx context.Context) (err error) {
	var found wreck
	err = look(ctx, r.Before.Path, func(t *tx) error {
		found = wreck{}
		return found.read(t)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("nothing can be read: %w", err)
	}
	temp, err := newTemporary(r.Before.Path)
	if err != nil {
		return err
	}
	defer temp.remove()
	if err := r.fill(ctx, temp.path, &found); err != nil {
		return err
	}
	name := unusedName(r.Before.Path, "salvaged")
	if err := atomicfile.Place(temp.path, name); err != nil {
		return err
	}
	r.Salvaged = name
	return nil
}

// fill makes a store of what was found.
func (r *Repaired) fill(ctx context.Context, path string, found *wreck) (err error) {
	s, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	err = s.write(ctx, func(w *writeTx) error {
		if found.model.Dimensions > 0 {
			if err := w.bindModel(found.model); err != nil {
				return err
			}
		}
		for i := range found.rows {
			if err := r.keep(w, &found.rows[i]); err != nil {
				return err
			}
			if err := w.stamp(found.rows[i].entry.ID, found.stamps[found.rows[i].rowID]); err != nil {
				return err
			}
		}
		for i := range found.archived {
			a, err := found.archived[i].decode()
			if err != nil || found.archived[i].damage() != 0 {
				r.Unreadable++
				continue
			}
			if err := w.insertArchived(a.Entry.ID, &found.archived[i]); err != nil {
				return err
			}
			r.Archived++
		}
		return nil
	})
	r.Unreadable += found.unreadable
	return err
}

// keep stores a row that was salvaged, as far as it makes sense.
func (r *Repaired) keep(w *writeTx, found *row) error {
	e := &found.entry
	if err := w.dropMisfit(e); err != nil {
		return err
	}
	if e.Validate() != nil {
		r.Unreadable++
		return nil
	}
	var result memory.BatchResult
	if err := w.put(memory.Scope{}, e, memory.Keep, &result); err != nil {
		return err
	}
	r.Entries += result.Stored
	if contentSum(e) != found.contentSum {
		r.Doubtful = append(r.Doubtful, e.ID)
	}
	return nil
}

// stamp notes an access of an entry, by Retrieve, unless the time is zero.
func (w *writeTx) stamp(id uuid.UUID, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	var rowID int64
	found, err := w.find(&rowID, `SELECT row_id FROM entry WHERE id = ?`, id[:])
	if err != nil || !found {
		return err
	}
	return w.applyPending(backlog{stamps: map[int64]time.Time{rowID: at}})
}

// wreck is what can be read of a damaged file.
type wreck struct {
	model      memory.Model
	rows       []row               // in insertion order, as far as it is known
	stamps     map[int64]time.Time // pending accesses by row
	archived   []archivedRow
	unreadable int
}

// Row ids lead to rows even where the page with their neighbours is gone.
// Together, these know nearly all of them: each goes on until it comes to
// something damaged.
var rowIDSources = []string{
	`SELECT row_id FROM entry ORDER BY row_id`,
	`SELECT row_id FROM entry ORDER BY row_id DESC`,
	`SELECT row_id FROM entry INDEXED BY entry_by_agent ORDER BY agent`,
	`SELECT row_id FROM entry INDEXED BY entry_by_agent ORDER BY agent DESC`,
	`SELECT row_id FROM entry INDEXED BY entry_by_category ORDER BY category`,
	`SELECT row_id FROM entry INDEXED BY entry_by_category ORDER BY category DESC`,
	`SELECT row_id FROM entry_state ORDER BY row_id`,
	`SELECT row_id FROM entry_state ORDER BY row_id DESC`,
}

// selectContent is selectRows for a row of which only the content is to be
// trusted. The rest is as NewEntry has it, at the time that is its argument.
const selectContent = `
	SELECT e.row_id, e.id, e.version, e.checksum, e.importance, e.memory_type,
	       e.confidentiality, e.validated, e.pinned, e.category, e.agent, e.author_user_id,
	       e.author_tenant_id, e.tags, e.keywords, e.attributes, e.related_ids, e.source_ids,
	       e.summary, e.memory,
	       9223372036854775807, 0, ?1, 1.0, 1.0, 0, 0, NULL, NULL, NULL
	FROM entry AS e
	WHERE e.row_id = ?2`

// read collects everything that can be read. Its error is that of the
// context.
func (k *wreck) read(t *tx) error {
	if model, err := t.boundModel(); err == nil {
		k.model = model
	}
	rowIDs := make(map[int64]bool)
	for _, source := range rowIDSources {
		_ = t.each(func(rows *sqlx.Rows) error { // as far as it comes
			var id int64
			if err := rows.Scan(&id); err != nil {
				return err
			}
			rowIDs[id] = true
			return nil
		}, source)
	}
	for _, id := range slices.Sorted(maps.Keys(rowIDs)) {
		if r, ok := t.salvageRow(id); ok {
			k.rows = append(k.rows, r)
		} else {
			k.unreadable++
		}
	}
	slices.SortStableFunc(k.rows, func(a, b row) int { return cmp.Compare(a.position, b.position) })
	k.stamps = make(map[int64]time.Time)
	_ = t.each(func(rows *sqlx.Rows) error {
		var rowID, at int64
		err := rows.Scan(&rowID, &at)
		k.stamps[rowID] = fromNanos(at)
		return err
	}, `SELECT row_id, accessed_at FROM access_stamp WHERE accessed_at BETWEEN 0 AND ?`, nanos(time.Now())) // they have no checksum
	_ = t.each(func(rows *sqlx.Rows) error {
		var a archivedRow
		if err := rows.StructScan(&a); err != nil {
			return err
		}
		k.archived = append(k.archived, a)
		return nil
	}, selectArchived+`ORDER BY archive_id`)
	return t.caller.Err()
}

// salvageRow reads a row, without its state and its embedding where these are
// damaged.
func (t *tx) salvageRow(rowID int64) (found row, ok bool) {
	rows, err := t.rows(where("e.row_id = ?", rowID), "")
	if err == nil && len(rows) == 1 {
		found = rows[0]
		if found.stateDamage() == 0 {
			return found, true
		}
		fresh := memory.NewEntry(found.entry.Category, "")
		e := &found.entry
		e.Relevance, e.Strength, e.AccessCount = fresh.Relevance, fresh.Strength, fresh.AccessCount
		e.LastAccessed, e.LastDecayed = nil, nil
		found.position = math.MaxInt64
		return found, true
	}
	err = t.each(func(rows *sqlx.Rows) (err error) {
		found, err = scanRow(rows)
		ok = err == nil
		return err
	}, selectContent, nanos(time.Now()), rowID)
	return found, ok && err == nil
}
