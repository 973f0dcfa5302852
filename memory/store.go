package memory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Store is the in-memory store. It scans all entries for every answer and is
// kept plain enough to read as the specification of what a store does; the
// persistent ones must agree with it in every result. It is safe for
// concurrent use and forgets everything when the process ends.
//
// What consolidation, Prune and the capacity bound remove is gone at once:
// this store has no archive.
type Store struct {
	*contents
	settings Settings
	scope    Scope
}

var _ Backend = (*Store)(nil)

// contents is what all handles on one store share.
type contents struct {
	mu      sync.Mutex // guards everything below
	records []*record  // in insertion order
	byID    map[uuid.UUID]*record
	version uint64 // of the latest write
	model   Model  // of all embeddings, once it is bound
	closed  bool
}

// record is a stored entry with its book-keeping.
type record struct {
	Record
	stamp *time.Time // pending access, from Retrieve
}

// NewStore returns an in-memory store. It fails only if an entry given by
// [WithEntries] is not valid.
func NewStore(options ...Option) (*Store, error) {
	s := &Store{contents: &contents{byID: make(map[uuid.UUID]*record)}, settings: NewSettings(options...)}
	if _, err := s.StoreBatch(context.Background(), s.settings.Entries, Keep); err != nil {
		return nil, err
	}
	s.settings.Entries = nil
	return s, nil
}

// In implements [Backend].
func (s *Store) In(scope Scope) Backend {
	return s.View(s.settings, scope)
}

// View returns a handle on the same entries with options of its own, narrowed
// to the scope. A store that keeps this one as its mirror thereby gives each
// of its handles the options it was opened with.
func (s *Store) View(settings Settings, scope Scope) *Store {
	return &Store{contents: s.contents, settings: settings, scope: s.scope.In(scope)}
}

// Fork returns an independent copy of the store, pending stamps and versions
// included, with the scope of this handle. A store that has to write a change
// down before it makes it can try the change on the copy.
func (s *Store) Fork() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	copied := &contents{byID: make(map[uuid.UUID]*record), version: s.version, model: s.model, closed: s.closed}
	records := make([]*record, len(s.records))
	for i, r := range s.records {
		records[i] = &record{Record: Record{Entry: r.Entry.Clone(), Version: r.Version}, stamp: cloneTime(r.stamp)}
	}
	fork := &Store{contents: copied, settings: s.settings, scope: s.scope}
	fork.setRecords(records)
	return fork
}

// Close implements [Backend]. Every later call is [ErrClosed].
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// lock begins a call: it fails if the context has ended or the store is
// closed. The caller must unlock s.mu if it succeeds.
func (s *Store) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	return nil
}

// visible returns the records within the scope, in insertion order.
func (s *Store) visible() []*record {
	var out []*record
	for _, r := range s.records {
		if s.sees(r) {
			out = append(out, r)
		}
	}
	return out
}

// find returns the record of that id if it lies within the scope, else nil.
func (s *Store) find(id uuid.UUID) *record {
	if r := s.byID[id]; r != nil && s.sees(r) {
		return r
	}
	return nil
}

func (s *Store) sees(r *record) bool {
	return s.scope.Contains(r.Entry.Agent, r.Entry.Confidentiality)
}

// touch gives the record a new version.
func (s *Store) touch(r *record) {
	s.version++
	r.Version = s.version
}

// take takes one record out.
func (s *Store) take(r *record) {
	i := slices.Index(s.records, r)
	s.records = slices.Delete(s.records, i, i+1)
	delete(s.byID, r.Entry.ID)
}

// remove takes out the records that gone names and returns how many.
func (s *Store) remove(gone func(*record) bool) int {
	before := len(s.records)
	s.setRecords(slices.DeleteFunc(s.records, gone))
	return before - len(s.records)
}

func (s *Store) setRecords(records []*record) {
	s.records = records
	clear(s.byID)
	for _, r := range records {
		s.byID[r.Entry.ID] = r
	}
}

// Store implements [LoopMemory].
func (s *Store) Store(ctx context.Context, entry Entry) error {
	_, err := s.StoreBatch(ctx, []Entry{entry}, Replace)
	return err
}

// StoreBatch implements [BatchWriter].
func (s *Store) StoreBatch(ctx context.Context, entries []Entry, onConflict OnConflict) (BatchResult, error) {
	return s.StoreBatchThen(ctx, entries, onConflict, func([]Entry, int) error { return nil })
}

// StoreBatchThen is StoreBatch for a store that has to write a batch down
// before it counts. It calls commit once the batch is in place but not yet
// seen by anyone, with the entries as they were stored, in order, and the
// number of those that the capacity bound made leave; if commit fails, the
// batch is undone and that error returned. commit must not change the entries
// nor call this store.
func (s *Store) StoreBatchThen(ctx context.Context, entries []Entry, onConflict OnConflict,
	commit func(stored []Entry, evicted int) error) (BatchResult, error) {
	if err := s.lock(ctx); err != nil {
		return BatchResult{}, err
	}
	defer s.mu.Unlock()
	before, version := slices.Clone(s.records), s.version
	result, err := s.storeAll(entries, onConflict)
	if err == nil {
		err = commit(s.storedSince(version), len(before)+result.Stored-len(s.records))
	}
	if err != nil {
		s.setRecords(before)
		return BatchResult{}, err
	}
	return result, nil
}

// storedSince returns the entries stored after that version; they are the
// last in insertion order.
func (s *Store) storedSince(version uint64) []Entry {
	first := len(s.records)
	for first > 0 && s.records[first-1].Version > version {
		first--
	}
	var stored []Entry
	for _, r := range s.records[first:] {
		stored = append(stored, r.Entry)
	}
	return stored
}

// admitted returns copies of the entries as the scope lets them in.
func (s *Store) admitted(entries []Entry) ([]Entry, error) {
	copies := make([]Entry, len(entries))
	for i := range entries {
		copies[i] = entries[i].Clone()
		err := copies[i].Validate()
		if err == nil {
			err = s.scope.Admit(&copies[i])
		}
		if err != nil {
			return nil, fmt.Errorf("store %s: %w", copies[i].ID, err)
		}
	}
	for i := range copies {
		if err := s.model.Fits(copies[i].Embedding); err != nil {
			return nil, fmt.Errorf("store %s: %w", copies[i].ID, err)
		}
	}
	return copies, nil
}

func (s *Store) storeAll(entries []Entry, onConflict OnConflict) (BatchResult, error) {
	var result BatchResult
	entries, err := s.admitted(entries)
	if err != nil {
		return result, err
	}
	for _, entry := range entries {
		old := s.byID[entry.ID]
		switch {
		case old == nil:
			if err := s.makeRoom(); err != nil {
				return result, fmt.Errorf("store %s: %w", entry.ID, err)
			}
			result.Stored++
		case onConflict == Fail:
			return result, fmt.Errorf("store %s: an entry of that id exists: %w", entry.ID, ErrConflict)
		case onConflict == Keep:
			result.Kept++
			continue
		default:
			if !s.sees(old) {
				return result, fmt.Errorf("store %s: %w", entry.ID, ErrScope)
			}
			s.take(old)
			result.Replaced++
		}
		r := &record{Record: Record{Entry: entry}}
		s.touch(r)
		s.records = append(s.records, r)
		s.byID[entry.ID] = r
	}
	return result, nil
}

// makeRoom removes entries until one more fits the capacity.
func (s *Store) makeRoom() error {
	now := s.settings.Now()
	for s.settings.Capacity > 0 && len(s.records) >= s.settings.Capacity {
		var weakest *record
		for _, r := range s.records {
			if !r.Entry.Pinned && (weakest == nil || WeakerThan(&r.Entry, &weakest.Entry, now)) {
				weakest = r
			}
		}
		if weakest == nil {
			return ErrFull
		}
		s.take(weakest)
	}
	return nil
}

// WeakerThan reports whether a has to make room before b, where a comes
// later in insertion order: its effective strength is lower or, that being
// equal, it was created earlier.
func WeakerThan(a, b *Entry, now time.Time) bool {
	return cmp.Or(
		cmp.Compare(a.EffectiveStrength(now), b.EffectiveStrength(now)),
		a.CreatedAt.Compare(b.CreatedAt),
	) < 0
}

// Retrieve implements [LoopMemory].
func (s *Store) Retrieve(ctx context.Context, query string, limit int) ([]Match, error) {
	if limit < 0 {
		return nil, invalid("limit", "is %d; it must not be negative", limit)
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	q := NewRetrieveQuery(query)
	type result struct {
		Match
		record *record
	}
	var results []*result // sorting moves them about, and entries are large
	for _, r := range s.visible() {
		if r.Entry.Confidentiality < Restricted || s.settings.Restricted {
			results = append(results, &result{q.Match(&r.Entry), r})
		}
	}
	slices.SortStableFunc(results, func(a, b *result) int { return cmp.Compare(b.Score, a.Score) })
	results = results[:min(limit, len(results))]
	now := s.settings.Now()
	matches := make([]Match, len(results))
	for i, r := range results {
		matches[i] = r.Match
		matches[i].Entry = r.Entry.Clone()
		if r.Matched && (r.record.stamp == nil || now.After(*r.record.stamp)) {
			r.record.stamp = cloneTime(&now)
		}
	}
	return matches, nil
}

// plan computes a consolidation of what the handle sees.
func (s *Store) plan(visible []*record) *Plan {
	entries := make([]Entry, len(visible))
	stamps := make(map[uuid.UUID]time.Time)
	for i, r := range visible {
		entries[i] = r.Entry
		if r.stamp != nil {
			stamps[r.Entry.ID] = *r.stamp
		}
	}
	return s.settings.Consolidation.Plan(s.settings.Now(), entries, stamps)
}

// PreviewConsolidation implements [Backend].
func (s *Store) PreviewConsolidation(ctx context.Context) (ConsolidationStats, error) {
	if err := s.lock(ctx); err != nil {
		return ConsolidationStats{}, err
	}
	defer s.mu.Unlock()
	return s.plan(s.visible()).Stats, nil
}

// Consolidate implements [LoopMemory].
func (s *Store) Consolidate(ctx context.Context) (ConsolidationStats, error) {
	if err := s.lock(ctx); err != nil {
		return ConsolidationStats{}, err
	}
	defer s.mu.Unlock()
	visible := s.visible()
	plan := s.plan(visible)

	// Survivors are put into the places the plan gives them among the records
	// that the handle does not see.
	place := make(map[*record]*record) // old occupant of a slot → new one
	var ends []*record
	for _, survivor := range plan.Survivors {
		r := visible[survivor.Index]
		r.Entry, r.stamp = survivor.Entry, nil
		if survivor.Rewritten {
			s.touch(r)
		}
		if survivor.Slot == EndOfOrder {
			ends = append(ends, r)
		} else {
			place[visible[survivor.Slot]] = r
		}
	}
	seen := make(map[*record]bool, len(visible))
	for _, r := range visible {
		seen[r] = true
	}
	var records []*record
	for _, r := range s.records {
		if occupant := place[r]; occupant != nil {
			records = append(records, occupant)
		} else if !seen[r] {
			if r.Entry.Relink(plan.Merged) {
				s.touch(r)
			}
			records = append(records, r)
		}
	}
	s.setRecords(append(records, ends...))
	return plan.Stats, nil
}

// Len implements [LoopMemory].
func (s *Store) Len(ctx context.Context) (int, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return len(s.visible()), nil
}

// Recall implements [Recaller].
func (s *Store) Recall(ctx context.Context, query Query) (Recollection, error) {
	if err := query.Validate(); err != nil {
		return Recollection{}, fmt.Errorf("recall: %w", err)
	}
	if err := s.lock(ctx); err != nil {
		return Recollection{}, err
	}
	defer s.mu.Unlock()
	now := s.settings.Now()
	var all []Candidate
	byID := make(map[uuid.UUID]*record)
	for i, r := range s.visible() {
		all = append(all, Candidate{Entry: r.Entry, Position: int64(i)})
		byID[r.Entry.ID] = r
	}
	hits, err := query.Answer(now, all, func(ids []uuid.UUID) ([]Candidate, error) {
		var linked []Candidate
		for _, c := range all {
			if slices.Contains(ids, c.Entry.ID) {
				linked = append(linked, c)
			}
		}
		return linked, nil
	})
	if err != nil {
		return Recollection{}, err
	}
	for i := range hits {
		hits[i].Entry = hits[i].Entry.Clone()
		byID[hits[i].Entry.ID].Entry.Touch(now, !query.NoReinforce)
	}
	return Recollection{Hits: hits}, nil
}

// Get implements [Recaller].
func (s *Store) Get(ctx context.Context, id uuid.UUID) (Record, error) {
	if err := s.lock(ctx); err != nil {
		return Record{}, err
	}
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return Record{}, fmt.Errorf("get %s: %w", id, ErrNotFound)
	}
	return Record{Entry: r.Entry.Clone(), Version: r.Version}, nil
}

// Update implements [Recaller].
func (s *Store) Update(ctx context.Context, id uuid.UUID, change Change) (Record, error) {
	if err := s.lock(ctx); err != nil {
		return Record{}, err
	}
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return Record{}, fmt.Errorf("update %s: %w", id, ErrNotFound)
	}
	if change.IfVersion != 0 && change.IfVersion != r.Version {
		return Record{}, fmt.Errorf("update %s: it has version %d, not %d: %w", id, r.Version, change.IfVersion, ErrConflict)
	}
	entry := r.Entry.Clone()
	change.Apply(&entry, s.settings.Now())
	if err := entry.Validate(); err != nil {
		return Record{}, fmt.Errorf("update %s: %w", id, err)
	}
	if !s.scope.Contains(entry.Agent, entry.Confidentiality) {
		return Record{}, fmt.Errorf("update %s: %w", id, ErrScope)
	}
	if err := s.model.Fits(entry.Embedding); err != nil {
		return Record{}, fmt.Errorf("update %s: %w", id, err)
	}
	r.Entry = entry
	s.touch(r)
	return Record{Entry: r.Entry.Clone(), Version: r.Version}, nil
}

// Forget implements [Recaller].
func (s *Store) Forget(ctx context.Context, id uuid.UUID) (bool, error) {
	if err := s.lock(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	r := s.find(id)
	if r == nil {
		return false, nil
	}
	s.take(r)
	return true, nil
}

// Link implements [Recaller].
func (s *Store) Link(ctx context.Context, a, b uuid.UUID) error {
	if a == b {
		return invalid("link", "is from %s to itself; name two entries", a)
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	from, to := s.find(a), s.find(b)
	if from == nil {
		return fmt.Errorf("link %s: %w", a, ErrNotFound)
	}
	if to == nil {
		return fmt.Errorf("link %s: %w", b, ErrNotFound)
	}
	if from.Entry.Relate(b) {
		s.touch(from)
	}
	if to.Entry.Relate(a) {
		s.touch(to)
	}
	return nil
}

// Prune implements [Recaller].
func (s *Store) Prune(ctx context.Context, minStrength float64, minAge time.Duration, agentPrefix string) (int, error) {
	rule := PruneRule{MinStrength: minStrength, MinAge: minAge, Namespace: agentPrefix}
	if err := rule.Validate(); err != nil {
		return 0, fmt.Errorf("prune: %w", err)
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	now := s.settings.Now()
	return s.remove(func(r *record) bool {
		return s.sees(r) && rule.Removes(&r.Entry, now)
	}), nil
}

// Entries implements [Lister].
func (s *Store) Entries(ctx context.Context, selection Selection) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		entries, err := s.selected(ctx, selection)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		for _, entry := range entries {
			if !yield(entry, nil) {
				return
			}
		}
	}
}

func (s *Store) selected(ctx context.Context, selection Selection) ([]Entry, error) {
	if err := selection.Validate(); err != nil {
		return nil, err
	}
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	visible := s.visible()
	if selection.Backward {
		slices.Reverse(visible)
	}
	if selection.After != uuid.Nil {
		after := slices.IndexFunc(visible, func(r *record) bool { return r.Entry.ID == selection.After })
		if after < 0 {
			return nil, fmt.Errorf("list after %s: %w", selection.After, ErrNotFound)
		}
		visible = visible[after+1:]
	}
	now := s.settings.Now()
	var entries []Entry
	for _, r := range visible {
		if selection.Matches(&r.Entry, now) {
			entries = append(entries, r.Entry.Clone())
		}
	}
	return entries, nil
}

// Resolve implements [Lister].
func (s *Store) Resolve(ctx context.Context, text string) (uuid.UUID, error) {
	prefix, err := ParseIDPrefix(text)
	if err != nil {
		return uuid.Nil, err
	}
	if err := s.lock(ctx); err != nil {
		return uuid.Nil, err
	}
	defer s.mu.Unlock()
	var found []uuid.UUID
	for _, r := range s.visible() {
		if strings.HasPrefix(hexDigits(r.Entry.ID), prefix) {
			found = append(found, r.Entry.ID)
		}
	}
	return OnlyID(text, found)
}

// ParseIDPrefix returns the hexadecimal digits of an id or of a prefix of
// one: at least [MinPrefix] of them, in lower case, without hyphens.
func ParseIDPrefix(text string) (string, error) {
	if id, err := ParseID(text); err == nil {
		return hexDigits(id), nil
	}
	prefix := strings.ReplaceAll(strings.ToLower(text), "-", "")
	if strings.Trim(prefix, "0123456789abcdef") != "" || len(prefix) > 32 {
		return "", invalid("id", "is %q, which is neither a UUID nor the beginning of one", shorten(text))
	}
	if len(prefix) < MinPrefix {
		return "", invalid("id", "is %q; give at least %d characters of it", text, MinPrefix)
	}
	return prefix, nil
}

func hexDigits(id uuid.UUID) string { return strings.ReplaceAll(id.String(), "-", "") }

// OnlyID returns the one id found for a text given to Resolve, or the error
// for none and for several.
func OnlyID(text string, found []uuid.UUID) (uuid.UUID, error) {
	switch len(found) {
	case 0:
		return uuid.Nil, fmt.Errorf("%s: %w", text, ErrNotFound)
	case 1:
		return found[0], nil
	default:
		return uuid.Nil, invalid("id", "%s could be any of %d entries or more; give more characters of it", text, len(found))
	}
}
