package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Store implements [memory.LoopMemory].
func (s *Store) Store(ctx context.Context, entry memory.Entry) error {
	_, err := s.StoreBatch(ctx, []memory.Entry{entry}, memory.Replace)
	return err
}

// StoreBatch implements [memory.BatchWriter]: one transaction for the batch.
func (s *Store) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (result memory.BatchResult, err error) {
	admitted := make([]memory.Entry, len(entries))
	for i := range entries {
		admitted[i] = entries[i].Clone()
		e := &admitted[i]
		if err := e.Validate(); err != nil {
			return result, fmt.Errorf("store %s: %w", e.ID, err)
		}
		if err := s.scope.Admit(e); err != nil {
			return result, fmt.Errorf("store %s: %w", e.ID, err)
		}
	}
	if len(admitted) == 0 {
		return result, nil
	}
	err = s.write(ctx, func(w *writeTx) error {
		if err := w.fitModel(admitted...); err != nil {
			return err
		}
		for i := range admitted {
			if err := w.put(s.scope, &admitted[i], onConflict, &result); err != nil {
				return fmt.Errorf("store %s: %w", admitted[i].ID, err)
			}
		}
		return nil
	})
	if err != nil {
		return memory.BatchResult{}, err
	}
	return result, nil
}

// put stores one entry and counts what became of it.
func (w *writeTx) put(scope memory.Scope, e *memory.Entry, onConflict memory.OnConflict, result *memory.BatchResult) error {
	if w.settings.Capacity == 0 {
		// As a rule the id is new. To try is faster than to look first.
		if inserted, err := w.insert(e); inserted || err != nil {
			result.Stored++
			return err
		}
	}
	var old struct {
		RowID           int64                  `db:"row_id"`
		Agent           string                 `db:"agent"`
		Confidentiality memory.Confidentiality `db:"confidentiality"`
	}
	exists, err := w.find(&old, `SELECT row_id, agent, confidentiality FROM entry WHERE id = ?`, e.ID[:])
	switch {
	case err != nil:
		return err
	case !exists:
		if err := w.makeRoom(); err != nil {
			return err
		}
		result.Stored++
	case onConflict == memory.Fail:
		return fmt.Errorf("an entry of that id exists: %w", memory.ErrConflict)
	case onConflict == memory.Keep:
		result.Kept++
		return nil
	case !scope.Contains(old.Agent, old.Confidentiality):
		return memory.ErrScope
	default:
		if err := w.removeRow(old.RowID); err != nil {
			return err
		}
		result.Replaced++
	}
	_, err = w.insert(e)
	return err
}

// insert adds the entry under a new row id at the end of insertion order, or
// reports that there is one of its id.
func (w *writeTx) insert(e *memory.Entry) (inserted bool, err error) {
	version, err := w.bump()
	if err != nil {
		return false, err
	}
	sum := contentSum(e)
	result, err := w.exec(`
		INSERT INTO entry (version, checksum, id, importance, memory_type, confidentiality,
		                   validated, pinned, category, agent, author_user_id, author_tenant_id, tags,
		                   keywords, attributes, related_ids, source_ids, summary, memory)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO NOTHING`,
		append([]any{version, sum, e.ID[:]}, contentOf(e)...)...)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); n == 0 || err != nil {
		return false, err
	}
	rowID, err := result.LastInsertId()
	if err != nil {
		return false, err
	}
	if _, err := w.bump(rowID); err != nil {
		return false, err
	}
	position, err := w.endOfOrder()
	if err != nil {
		return false, err
	}
	_, err = w.exec(`
		INSERT INTO entry_state (position, checksum, created_at, relevance, strength, zero_signs, access_count,
		                         last_accessed, last_decayed, strength_base, fade, ahead, root, row_id)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append(w.stateOf(position, stateSum(rowID, position, e), e), memory.Root(e.Agent), rowID)...)
	if err != nil {
		return false, err
	}
	if len(e.Embedding) > 0 {
		if err := w.putEmbedding(rowID, e.Embedding); err != nil {
			return false, err
		}
	}
	w.tally.add(sum)
	return true, w.reindex(rowID, e)
}

// contentOf lists the content columns of an entry that follow its id, in the
// order of the statements that insert and update them.
func contentOf(e *memory.Entry) []any {
	return []any{
		e.Importance, int(e.MemoryType), int(e.Confidentiality),
		e.Validated, e.Pinned, string(e.Category), e.Agent, e.AuthorUserID, e.AuthorTenantID,
		encodeList(e.Tags), encodeList(e.Keywords), encodeMap(e.Attributes),
		encodeIDs(e.RelatedIDs), encodeIDs(e.SourceIDs), e.Summary, e.Memory,
	}
}

// stateOf does the same for the columns of entry_state but the key and the root.
func (w *writeTx) stateOf(position, sum int64, e *memory.Entry) []any {
	return []any{
		position, sum, nanos(e.CreatedAt),
		float64(e.Relevance), e.Strength, zeroSigns(e), int64(e.AccessCount),
		optionalNanos(e.LastAccessed), optionalNanos(e.LastDecayed), nanos(e.StrengthBase()), fadeOf(e), w.ahead(e),
	}
}

// endOfOrder returns the next free position in insertion order.
func (w *writeTx) endOfOrder() (position int64, err error) {
	if w.lastPosition == 0 {
		err = w.get(&w.lastPosition, `SELECT ifnull(max(position), 0) FROM entry_state`)
	}
	w.lastPosition++
	return w.lastPosition, err
}

// replacement is a row, and what its content is to be.
type replacement struct {
	old     *row
	changed *memory.Entry
}

// replaceContent writes changed content over rows, which keep their places,
// and brings the indexes along.
func (w *writeTx) replaceContent(some ...replacement) error {
	var moved []replacement // in the indexes
	for _, r := range some {
		if !indexedAlike(&r.old.entry, r.changed) {
			moved = append(moved, r)
		}
		if err := w.writeContent(r); err != nil {
			return err
		}
	}
	if len(moved) == 0 {
		return nil
	}
	if err := w.unindex(moved); err != nil {
		return err
	}
	for _, r := range moved {
		if err := w.reindex(r.old.rowID, r.changed); err != nil {
			return err
		}
	}
	return nil
}

// writeContent writes changed content over a row, apart from the indexes.
func (w *writeTx) writeContent(r replacement) error {
	version, err := w.bump(r.old.rowID)
	if err != nil {
		return err
	}
	sum := contentSum(r.changed) ^ r.old.contentDamage()
	_, err = w.exec(`
		UPDATE entry
		SET version = ?, checksum = ?, importance = ?, memory_type = ?, confidentiality = ?,
		    validated = ?, pinned = ?, category = ?, agent = ?, author_user_id = ?, author_tenant_id = ?,
		    tags = ?, keywords = ?, attributes = ?, related_ids = ?, source_ids = ?, summary = ?, memory = ?
		WHERE row_id = ?`,
		append(append([]any{version, sum}, contentOf(r.changed)...), r.old.rowID)...)
	if err != nil {
		return err
	}
	w.tally.change(r.old.contentSum, sum)
	if root := memory.Root(r.changed.Agent); root != memory.Root(r.old.entry.Agent) {
		if _, err := w.exec(`UPDATE entry_state SET root = ? WHERE row_id = ?`, root, r.old.rowID); err != nil {
			return err
		}
	}
	if slices.Equal(r.old.entry.Embedding, r.changed.Embedding) {
		return nil
	}
	return w.putEmbedding(r.old.rowID, r.changed.Embedding)
}

// replaceState writes changed state, and a changed position, over a row.
func (w *writeTx) replaceState(old *row, position int64, changed *memory.Entry) error {
	if _, err := w.bump(old.rowID); err != nil {
		return err
	}
	sum := stateSum(old.rowID, position, changed) ^ old.stateDamage()
	_, err := w.exec(`
		UPDATE entry_state
		SET position = ?, checksum = ?, created_at = ?, relevance = ?, strength = ?, zero_signs = ?, access_count = ?,
		    last_accessed = ?, last_decayed = ?, strength_base = ?, fade = ?, ahead = ?
		WHERE row_id = ?`,
		append(w.stateOf(position, sum, changed), old.rowID)...)
	return err
}

// removeRow reads a row and removes it with all that belongs to it.
func (w *writeTx) removeRow(rowID int64) error {
	rows, err := w.rowsByID([]int64{rowID}, condition{})
	if err != nil || len(rows) == 0 {
		return err
	}
	return w.remove(&rows[0])
}

// remove takes rows out for good: entry, state, embedding, access stamp and
// everything in the indexes.
func (w *writeTx) remove(gone ...*row) error {
	rowIDs := make([]int64, len(gone))
	for i, r := range gone {
		rowIDs[i] = r.rowID
		w.tally.remove(r.contentSum)
		w.loose.add(indexedOf(&r.entry))
	}
	// FTS5 takes changes together as long as their row ids ascend.
	slices.Sort(rowIDs)
	list, err := json.Marshal(rowIDs)
	if err != nil {
		return err
	}
	if _, err := w.bump(rowIDs...); err != nil {
		return err
	}
	for _, statement := range []string{
		`DELETE FROM posting WHERE rowid IN (SELECT value FROM json_each(?))`,
		// The other tables follow by their foreign keys.
		`DELETE FROM entry WHERE row_id IN (SELECT value FROM json_each(?))`,
	} {
		if _, err := w.exec(statement, string(list)); err != nil {
			return err
		}
	}
	return nil
}

// Update implements [memory.Recaller].
func (s *Store) Update(ctx context.Context, id uuid.UUID, change memory.Change) (record memory.Record, err error) {
	err = s.write(ctx, func(w *writeTx) error {
		old, err := s.load(w.tx, id)
		if err != nil {
			return err
		}
		if change.IfVersion != 0 && change.IfVersion != uint64(old.version) {
			return fmt.Errorf("it has version %d, not %d: %w", old.version, change.IfVersion, memory.ErrConflict)
		}
		changed := old.entry.Clone()
		change.Apply(&changed, w.now)
		changed = changed.Clone() // nothing of the caller's is kept
		if err := changed.Validate(); err != nil {
			return err
		}
		if !s.scope.Contains(changed.Agent, changed.Confidentiality) {
			return memory.ErrScope
		}
		if err := w.fitModel(changed); err != nil {
			return err
		}
		if err := w.replaceContent(replacement{&old, &changed}); err != nil {
			return err
		}
		record = memory.Record{Entry: changed, Version: uint64(w.version)}
		return w.replaceState(&old, old.position, &changed)
	})
	if err != nil {
		return memory.Record{}, fmt.Errorf("update %s: %w", id, err)
	}
	return record, nil
}

// Forget implements [memory.Recaller]. What the archive has of the entry goes
// too, also where the entry itself is gone already, and so do entries of the
// same words that were merged into it. No query nor index of this or another
// process finds anything of it again.
//
// Its bytes are overwritten, also those of its words in the index of their
// parts, and the write-ahead log is emptied, which fails as
// long as a reader holds an old state open; the next writes then try it again.
// Copies that SQLite has left in unused parts of pages stay until
// [Store.Compact].
func (s *Store) Forget(ctx context.Context, id uuid.UUID) (found bool, err error) {
	live, _, err := s.forgetAll(ctx, []uuid.UUID{id})
	return len(live) > 0, err
}

// forgetAtOnce is how many entries ForgetAll takes out with one write, so that
// other writers need not wait long.
const forgetAtOnce = 100

// ForgetAll forgets many entries, some at a time, and returns the ids of those
// that were there, or in the archive at least; also after an error.
func (s *Store) ForgetAll(ctx context.Context, ids []uuid.UUID) (forgotten []uuid.UUID, err error) {
	live, archived, err := s.forgetAll(ctx, ids)
	return append(live, archived...), err
}

// forgetAll returns which entries were there, and which in the archive alone.
func (s *Store) forgetAll(ctx context.Context, ids []uuid.UUID) (live, archived []uuid.UUID, err error) {
	// One call throughout: Close must not come between the forgetting and the
	// emptying of the log.
	if err := s.enter(); err != nil {
		return nil, nil, err
	}
	defer s.leave()
	defer func() {
		if len(live)+len(archived) > 0 {
			s.emptyLog(ctx, s.options.BusyTimeout)
		}
	}()
	for some := range slices.Chunk(ids, forgetAtOnce) {
		var gone, old []uuid.UUID
		err := s.pass(ctx, s.options.BusyTimeout, func(w *writeTx) error {
			for _, id := range some {
				found, copies, err := s.forget(w, id)
				switch {
				case err != nil:
					return fmt.Errorf("forget %s: %w", id, err)
				case found:
					gone = append(gone, id)
				case copies > 0:
					old = append(old, id)
				}
			}
			if err := w.dropLoose(); err != nil {
				return err
			}
			return w.dropTrigrams()
		})
		if err != nil {
			return live, archived, err
		}
		live, archived = append(live, gone...), append(archived, old...)
	}
	return live, archived, nil
}

// forget removes one entry, and what the archive has of it, and returns whether
// there was the one and how many of the other.
func (s *Store) forget(w *writeTx, id uuid.UUID) (found bool, archived int, err error) {
	rows, err := w.rows(where("e.id = ?", id[:]), "")
	if err != nil {
		return false, 0, err
	}
	var texts []string
	if len(rows) > 0 {
		e := &rows[0].entry
		texts = append(texts, e.Memory)
		if !s.scope.Contains(e.Agent, e.Confidentiality) {
			return false, 0, nil
		}
		if err := w.remove(&rows[0]); err != nil {
			return false, 0, err
		}
	}
	archived, err = s.forgetArchived(w, id, texts...)
	return len(rows) > 0, archived, err
}

// Link implements [memory.Recaller].
func (s *Store) Link(ctx context.Context, a, b uuid.UUID) error {
	if a == b {
		return fmt.Errorf("%w: link %s to itself; name two entries", memory.ErrInvalid, a)
	}
	return s.write(ctx, func(w *writeTx) error {
		from, err := s.load(w.tx, a)
		if err != nil {
			return fmt.Errorf("link %s: %w", a, err)
		}
		to, err := s.load(w.tx, b)
		if err != nil {
			return fmt.Errorf("link %s: %w", b, err)
		}
		if err := w.relate(&from, b); err != nil {
			return err
		}
		return w.relate(&to, a)
	})
}

// relate adds one direction of a link unless it is there.
func (w *writeTx) relate(r *row, id uuid.UUID) error {
	changed := r.entry.Clone()
	if !changed.Relate(id) {
		return nil
	}
	return w.replaceContent(replacement{r, &changed})
}

// Prune implements [memory.Recaller].
func (s *Store) Prune(ctx context.Context, minStrength float64, minAge time.Duration, agentPrefix string) (removed int, err error) {
	rule := memory.PruneRule{MinStrength: minStrength, MinAge: minAge, Namespace: agentPrefix}
	if err := rule.Validate(); err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	err = s.write(ctx, func(w *writeTx) error {
		weak, err := w.prunable(&rule)
		if err != nil {
			return err
		}
		rows, err := w.rows(weak.and(within(s.scope)), "")
		if err != nil {
			return err
		}
		var leaving []departure
		for i := range rows {
			// What is damaged stays for somebody to look at; see planFor.
			if rule.Removes(&rows[i].entry, w.now) && rows[i].damage() == 0 {
				leaving = append(leaving, departing(&rows[i], 0, ReasonPruned, uuid.Nil))
			}
		}
		removed = len(leaving)
		return w.archive(leaving...)
	})
	if err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	return removed, nil
}

// prunable is the condition of a rule; like passing, it lets a few more rows
// pass than the rule removes.
func (w *writeTx) prunable(rule *memory.PruneRule) (c condition, err error) {
	if rule.MinStrength <= 0 {
		return where("FALSE"), nil // effective strength is never below 0
	}
	unfading, err := w.unfading()
	if err != nil {
		return c, err
	}
	weak := where("s.fade < ?", fadeThreshold(rule.MinStrength, w.now)+fadeMargin)
	c = where("e.pinned = 0").and(where("s.created_at <= ?", w.now.Add(-rule.MinAge).UnixNano())).and(weak.or(unfading))
	if rule.Namespace != "" {
		c = c.and(below(rule.Namespace))
	}
	return c, nil
}
