package sqlitestore

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// The reasons for which an entry is archived.
const (
	ReasonMerged  = "merged"  // consolidation merged it into another
	ReasonPruned  = "pruned"  // consolidation or Prune found it too weak
	ReasonEvicted = "evicted" // it made room in a store of bounded capacity
)

// Archived is an entry that was taken out of the store, and can be put back
// for as long as [Options.ArchiveFor] says.
type Archived struct {
	Entry      memory.Entry // as it was before the operation that took it out
	ArchivedAt time.Time
	Reason     string
	MergedInto uuid.UUID // zero unless the reason is [ReasonMerged]
}

// archivedRow is a row of the table archive.
type archivedRow struct {
	ArchiveID  int64  `db:"archive_id"`
	ID         []byte `db:"id"` // of the entry
	ArchivedAt int64  `db:"archived_at"`
	Reason     string `db:"reason"`
	MergedInto []byte `db:"merged_into"`
	Checksum   int64  `db:"checksum"`
	Entry      string `db:"entry"`
}

// sum is the checksum of the row.
func (r *archivedRow) sum() int64 {
	blob := binary.LittleEndian.AppendUint64(nil, uint64(r.ArchivedAt))
	for _, part := range []string{r.Reason, string(r.MergedInto), r.Entry} {
		blob = append(append(blob, part...), 0)
	}
	return checksum(blob)
}

// damage is what the checksum is off by, 0 if nothing; see damage.go.
func (r *archivedRow) damage() int64 { return r.Checksum ^ r.sum() }

func (r *archivedRow) decode() (Archived, error) {
	e, err := memory.DecodeJSON([]byte(r.Entry))
	if err != nil {
		return Archived{}, cannotRead(fmt.Sprint("archived entry ", r.ArchiveID), err)
	}
	into, _ := uuid.FromBytes(r.MergedInto) // no bytes are the zero UUID
	return Archived{Entry: e, ArchivedAt: fromNanos(r.ArchivedAt), Reason: r.Reason, MergedInto: into}, nil
}

const selectArchived = `
	SELECT archive_id, id, archived_at, reason, merged_into, checksum, entry
	FROM archive `

// departure is a row that is to be archived.
type departure struct {
	row    *row
	damage int64 // of the row
	as     archivedRow
}

// departing prepares what need not be done under the lock. The damage of the row
// is given, as most who call have looked at it: what they take out has none.
func departing(r *row, damage int64, reason string, mergedInto uuid.UUID) departure {
	d := departure{r, damage, archivedRow{Reason: reason, Entry: string(r.entry.AppendJSON(nil))}}
	if mergedInto != uuid.Nil {
		d.as.MergedInto = mergedInto[:]
	}
	return d
}

// archive removes rows, and keeps their entries where they can be restored
// from.
func (w *writeTx) archive(leaving ...departure) error {
	rows := make([]*row, len(leaving))
	for i, d := range leaving {
		d.as.ArchivedAt = nanos(w.now)
		d.as.Checksum = d.as.sum() ^ d.damage
		if err := w.insertArchived(d.row.entry.ID, &d.as); err != nil {
			return err
		}
		rows[i] = d.row
	}
	return w.remove(rows...)
}

func (w *writeTx) insertArchived(id uuid.UUID, a *archivedRow) error {
	_, err := w.exec(`INSERT INTO archive (id, archived_at, reason, merged_into, checksum, entry) VALUES (?, ?, ?, ?, ?, ?)`,
		id[:], a.ArchivedAt, a.Reason, a.MergedInto, a.Checksum, a.Entry)
	return err
}

// archivedEntry is a row of the archive with what it says.
type archivedEntry struct {
	row   archivedRow
	holds Archived
	err   error // why the row cannot be read, or nil
}

// archived reads what the archive has within the scope and meets the condition,
// the latest first. Of a row that cannot be read nobody knows the scope: a
// handle of the whole store gets it.
func (s *Store) archived(t *tx, c condition) (found []archivedEntry, err error) {
	var all []archivedRow
	if err := t.collect(&all, selectArchived+c.sql()+" ORDER BY archive_id DESC", c.args...); err != nil {
		return nil, err
	}
	for _, r := range all {
		a, err := r.decode()
		if err == nil && s.scope.Contains(a.Entry.Agent, a.Entry.Confidentiality) || err != nil && s.scope.Whole() {
			found = append(found, archivedEntry{r, a, err})
		}
	}
	return found, nil
}

// countArchived counts what the archive has within the scope.
func (s *Store) countArchived(t *tx) (n int, err error) {
	if s.scope.Whole() {
		err = t.get(&n, `SELECT count(*) FROM archive`)
		return n, err
	}
	found, err := s.archived(t, condition{})
	return len(found), err
}

// Archive lists what can be restored, the latest first.
func (s *Store) Archive(ctx context.Context) (entries []Archived, err error) {
	err = s.view(ctx, func(t *tx) error {
		found, err := s.archived(t, condition{})
		for i := range found {
			if found[i].err != nil {
				s.settings.Logger.Warn("left out of the list of what is archived", "database", s.path, "error", found[i].err)
				continue
			}
			entries = append(entries, found[i].holds)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("archive: %w", err)
	}
	return entries, nil
}

// Restore puts the entry of that id back, in its latest archived form, at the
// end of insertion order. It counts as accessed now, or the next
// consolidation might take it out again; without its embedding if the model
// that the store is bound to cannot have made that. An id that the archive does not have
// is [memory.ErrNotFound], one that the store has again [memory.ErrConflict].
func (s *Store) Restore(ctx context.Context, id uuid.UUID) (entry memory.Entry, err error) {
	err = s.write(ctx, func(w *writeTx) error {
		found, err := s.archived(w.tx, where("id = ?", id[:]))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return memory.ErrNotFound
		}
		latest := &found[0]
		if latest.err != nil {
			return latest.err
		}
		entry = latest.holds.Entry
		entry.LastAccessed = &w.now
		if err := w.dropMisfit(&entry); err != nil {
			return err
		}
		var result memory.BatchResult
		if err := w.put(s.scope, &entry, memory.Fail, &result); err != nil {
			return err
		}
		if err := w.distrust(id, latest.row.damage()); err != nil {
			return err
		}
		return w.dropArchived(found)
	})
	if err != nil {
		return memory.Entry{}, fmt.Errorf("restore %s: %w", id, err)
	}
	return entry, nil
}

// PurgeArchive drops what was archived more than an age ago, for good, and
// returns how many entries there were. What Forget says of the bytes holds here
// too.
func (s *Store) PurgeArchive(ctx context.Context, age time.Duration) (purged int, err error) {
	if err := s.enter(); err != nil {
		return 0, fmt.Errorf("purge the archive: %w", err)
	}
	defer s.leave()
	err = s.pass(ctx, s.options.BusyTimeout, func(w *writeTx) error {
		old, err := s.archived(w.tx, where("archived_at <= ?", nanos(w.now.Add(-age))))
		if err != nil {
			return err
		}
		purged = len(old)
		return w.dropArchived(old)
	})
	if err != nil {
		return 0, fmt.Errorf("purge the archive: %w", err)
	}
	if purged > 0 {
		s.emptyLog(ctx, s.options.BusyTimeout)
	}
	return purged, nil
}

// forgetArchived drops what the archive has of an id within the scope, and of
// the entries that were merged into it, or into those in turn, what has the same
// words as that or as the texts given: the others are memories of their own, which
// nobody wanted forgotten. It returns how many copies of the entry there were.
func (s *Store) forgetArchived(w *writeTx, id uuid.UUID, texts ...string) (int, error) {
	own, err := s.archived(w.tx, where("id = ?", id[:]))
	if err != nil {
		return 0, err
	}
	for i := range own {
		texts = append(texts, own[i].holds.Entry.Memory)
	}
	forgotten := make(map[string]bool)
	for _, text := range texts {
		forgotten[wordsOf(text)] = true
	}
	gone := own
	seen := map[string]bool{string(id[:]): true}
	for ids := [][]byte{id[:]}; len(ids) > 0; ids = ids[1:] {
		merged, err := s.archived(w.tx, where("merged_into = ?", ids[0]))
		if err != nil {
			return 0, err
		}
		for _, m := range merged {
			if m.err != nil || forgotten[wordsOf(m.holds.Entry.Memory)] {
				gone = append(gone, m)
			}
			if key := string(m.row.ID); !seen[key] {
				seen[key] = true
				ids = append(ids, m.row.ID)
			}
		}
	}
	return len(own), w.dropArchived(gone)
}

// wordsOf is a text without what near duplicates differ in although they say the
// same: the order and number of its words, and what stands between them.
func wordsOf(text string) string { return strings.Join(sortedSet(memory.Pieces(text)), " ") }

func (w *writeTx) dropArchived(found []archivedEntry) error {
	for i := range found {
		if _, err := w.exec(`DELETE FROM archive WHERE archive_id = ?`, found[i].row.ArchiveID); err != nil {
			return err
		}
	}
	return nil
}
