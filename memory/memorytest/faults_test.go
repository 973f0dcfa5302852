package memorytest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Each of these stores is sound but for one fault.

type sound = memory.Store

type losesStamps struct{ *sound }

func (s losesStamps) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	return s.Fork().Retrieve(ctx, query, limit)
}

// stampsTheCutOff stamps every match, and cuts to the limit afterwards.
type stampsTheCutOff struct{ *sound }

func (s stampsTheCutOff) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := s.sound.Retrieve(ctx, query, 1000)
	return matches[:min(max(limit, 0), len(matches))], err
}

// countsAtOnce writes the access down where only a stamp should be left.
type countsAtOnce struct{ *sound }

func (s countsAtOnce) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := s.Fork().Retrieve(ctx, query, limit)
	for _, m := range matches {
		if m.Matched {
			if _, err := s.Update(ctx, m.Entry.ID, memory.Change{}); err != nil {
				return nil, err
			}
		}
	}
	return matches, err
}

// laterTiesFirst returns entries of equal score in the order of a heap gone
// wrong.
type laterTiesFirst struct{ *sound }

func (s laterTiesFirst) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := s.sound.Retrieve(ctx, query, limit)
	for i := 1; i < len(matches); i++ {
		if matches[i].Score == matches[i-1].Score {
			matches[i], matches[i-1] = matches[i-1], matches[i]
		}
	}
	return matches, err
}

// takesQueriesForSyntax drops what a search engine would choke on.
type takesQueriesForSyntax struct{ *sound }

func (s takesQueriesForSyntax) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	return s.sound.Retrieve(ctx, strings.Trim(query, `"*^-:()`), limit)
}

type knowsNoRankings struct{ *sound }

func (s knowsNoRankings) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	query.Ranking = memory.RankingComposite
	return s.sound.Recall(ctx, query)
}

type ignoresWindows struct{ *sound }

func (s ignoresWindows) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	query.Window = 0
	return s.sound.Recall(ctx, query)
}

type recallsWithoutCounting struct{ *sound }

func (s recallsWithoutCounting) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	return s.Fork().Recall(ctx, query)
}

type alwaysReinforces struct{ *sound }

func (s alwaysReinforces) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	query.NoReinforce = false
	return s.sound.Recall(ctx, query)
}

// foldsFilters compares agents as LIKE does, without regard to case.
type foldsFilters struct{ *sound }

func (s foldsFilters) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	query.AgentPrefix = strings.ToLower(query.AgentPrefix)
	return s.sound.Recall(ctx, query)
}

// replacesInPlace updates an entry of the same id where it stands.
type replacesInPlace struct{ *sound }

func (s replacesInPlace) Store(ctx context.Context, e memory.Entry) error {
	if _, err := s.Get(ctx, e.ID); err != nil {
		return s.sound.Store(ctx, e)
	}
	_, err := s.Update(ctx, e.ID, memory.Change{Memory: &e.Memory})
	return err
}

// swallowsInvalid drops what it cannot store without a word.
type swallowsInvalid struct{ *sound }

func (s swallowsInvalid) Store(ctx context.Context, e memory.Entry) error {
	if e.Validate() != nil {
		return nil
	}
	return s.sound.Store(ctx, e)
}

// truncates cuts long texts.
type truncates struct{ *sound }

func (s truncates) Store(ctx context.Context, e memory.Entry) error {
	e.Memory = e.Memory[:min(len(e.Memory), 1<<16)]
	return s.sound.Store(ctx, e)
}

// keepsMicroseconds stores times as many databases do.
type keepsMicroseconds struct{ *sound }

func (s keepsMicroseconds) Store(ctx context.Context, e memory.Entry) error {
	e.CreatedAt = e.CreatedAt.Truncate(time.Microsecond)
	return s.sound.Store(ctx, e)
}

// outlivesContexts goes on after the context has ended.
type outlivesContexts struct{ *sound }

func (s outlivesContexts) Store(ctx context.Context, e memory.Entry) error {
	return s.sound.Store(context.WithoutCancel(ctx), e)
}

// storesOneByOne makes a batch of as many writes as it has entries.
type storesOneByOne struct{ *sound }

func (s storesOneByOne) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (sum memory.BatchResult, err error) {
	for _, e := range entries {
		r, err := s.sound.StoreBatch(ctx, []memory.Entry{e}, onConflict)
		if err != nil {
			return sum, err
		}
		sum.Stored, sum.Replaced, sum.Kept = sum.Stored+r.Stored, sum.Replaced+r.Replaced, sum.Kept+r.Kept
	}
	return sum, nil
}

// sharesMemory hands out the same entry again and again.
type sharesMemory struct {
	*sound
	entries map[uuid.UUID]memory.Record
}

func (s sharesMemory) Get(ctx context.Context, id uuid.UUID) (memory.Record, error) {
	if r, ok := s.entries[id]; ok {
		return r, nil
	}
	r, err := s.sound.Get(ctx, id)
	s.entries[id] = r
	return r, err
}

type ignoresVersions struct{ *sound }

func (s ignoresVersions) Update(ctx context.Context, id uuid.UUID, change memory.Change) (memory.Record, error) {
	change.IfVersion = 0
	return s.sound.Update(ctx, id, change)
}

// keepsEmbedding forgets that a vector belongs to a text.
type keepsEmbedding struct{ *sound }

func (s keepsEmbedding) Update(ctx context.Context, id uuid.UUID, change memory.Change) (memory.Record, error) {
	before, err := s.Get(ctx, id)
	if err != nil {
		return before, err
	}
	after, err := s.sound.Update(ctx, id, change)
	after.Entry.Embedding = before.Entry.Embedding
	return after, err
}

// linksOneWay replaces the one entry by a linked one.
type linksOneWay struct{ *sound }

func (s linksOneWay) Link(ctx context.Context, a, b uuid.UUID) error {
	r, err := s.Get(ctx, a)
	if err != nil {
		return err
	}
	r.Entry.Relate(b)
	return s.Store(ctx, r.Entry)
}

// prunesByText takes tg:1234 for something below tg:123.
type prunesByText struct{ *sound }

func (s prunesByText) Prune(ctx context.Context, minStrength float64, minAge time.Duration, prefix string) (int, error) {
	count := 0
	for e, err := range s.Entries(ctx, memory.Selection{Filter: memory.Filter{AgentPrefix: prefix}}) {
		if err != nil {
			return count, err
		}
		n, err := s.sound.Prune(ctx, minStrength, minAge, e.Agent)
		if err != nil {
			return count, err
		}
		count += n
	}
	return count, nil
}

// doesWhatItPreviews consolidates when asked what that would do.
type doesWhatItPreviews struct{ *sound }

func (s doesWhatItPreviews) PreviewConsolidation(ctx context.Context) (memory.ConsolidationStats, error) {
	return s.Consolidate(ctx)
}

// miscounts gives the bytes saved wrong.
type miscounts struct{ *sound }

func (s miscounts) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	stats, err := s.sound.Consolidate(ctx)
	stats.BytesSaved /= 2
	return stats, err
}

// unpins consolidates pinned entries like any others.
type unpins struct{ *sound }

func (s unpins) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	for e := range s.Entries(ctx, memory.Selection{}) {
		if _, err := s.Update(ctx, e.ID, memory.Change{Pinned: new(false)}); err != nil {
			return memory.ConsolidationStats{}, err
		}
	}
	return s.sound.Consolidate(ctx)
}

// listsLive looks each entry up when its turn comes.
type listsLive struct{ *sound }

func (s listsLive) Entries(ctx context.Context, selection memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(yield func(memory.Entry, error) bool) {
		for e, err := range s.sound.Entries(ctx, selection) {
			if err == nil {
				var r memory.Record
				r, err = s.Get(ctx, e.ID)
				e = r.Entry
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// seesEverything gives out handles without a scope.
type seesEverything struct{ *sound }

func (s seesEverything) In(memory.Scope) memory.Backend { return s.sound }

// forgetsLevels gives out handles that only know the namespace.
type forgetsLevels struct{ *sound }

func (s forgetsLevels) In(scope memory.Scope) memory.Backend {
	return s.sound.In(memory.Scope{Namespace: scope.Namespace})
}

// filtersAfterwards applies the scope to the results of the whole store.
type filtersAfterwards struct{ *sound }

func (s filtersAfterwards) In(scope memory.Scope) memory.Backend {
	return filteredAfterwards{s.sound.In(scope).(*sound), s.sound, scope}
}

type filteredAfterwards struct {
	*sound
	whole *sound
	scope memory.Scope
}

func (s filteredAfterwards) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	matches, err := s.whole.Retrieve(ctx, query, limit)
	return slices.DeleteFunc(matches, func(m memory.Match) bool {
		return !s.scope.Contains(m.Entry.Agent, m.Entry.Confidentiality)
	}), err
}

func (s filteredAfterwards) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	r, err := s.whole.Recall(ctx, query)
	r.Hits = slices.DeleteFunc(r.Hits, func(h memory.Hit) bool {
		return !s.scope.Contains(h.Entry.Agent, h.Entry.Confidentiality)
	})
	return r, err
}

// neverCloses takes calls after Close.
type neverCloses struct{ *sound }

func (neverCloses) Close() error { return nil }

// dead does nothing and reports success. Methods that it does not know yet
// panic.
type dead struct{ memory.Backend }

func (dead) Store(context.Context, memory.Entry) error                             { return nil }
func (dead) Retrieve(context.Context, string, int) ([]memory.Match, error)         { return nil, nil }
func (dead) Recall(context.Context, memory.Query) (r memory.Recollection, e error) { return }
func (dead) Get(context.Context, uuid.UUID) (r memory.Record, err error)           { return }
func (dead) Forget(context.Context, uuid.UUID) (bool, error)                       { return false, nil }
func (dead) Link(context.Context, uuid.UUID, uuid.UUID) error                      { return nil }
func (dead) Len(context.Context) (int, error)                                      { return 0, nil }
func (dead) Resolve(context.Context, string) (uuid.UUID, error)                    { return uuid.Nil, nil }
func (s dead) In(memory.Scope) memory.Backend                                      { return s }
func (dead) Close() error                                                          { return nil }
func (dead) Consolidate(context.Context) (r memory.ConsolidationStats, err error)  { return }
func (dead) PreviewConsolidation(context.Context) (r memory.ConsolidationStats, err error) {
	return
}
func (dead) Update(context.Context, uuid.UUID, memory.Change) (r memory.Record, err error) {
	return
}
func (dead) Prune(context.Context, float64, time.Duration, string) (int, error) { return 0, nil }
func (dead) StoreBatch(context.Context, []memory.Entry, memory.OnConflict) (r memory.BatchResult, err error) {
	return
}
func (dead) Entries(context.Context, memory.Selection) iter.Seq2[memory.Entry, error] {
	return func(func(memory.Entry, error) bool) {}
}
