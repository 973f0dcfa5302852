package memory

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"github.com/google/uuid"
)

// LoopMemory is the heart of every store: what an agent loop needs to keep
// memories, find them again and keep them in order. All methods are safe for
// concurrent use, and a call whose context ends leaves nothing half done.
//
// Entries that go in are copied, entries that come out belong to the caller.
type LoopMemory interface {
	// Store adds the entry at the end of insertion order. An entry of the
	// same id is replaced by it, access stamp included. An entry that breaks
	// a rule is an [ErrInvalid], one outside the handle's scope an
	// [ErrScope]; nothing is changed then.
	Store(ctx context.Context, entry Entry) error

	// Retrieve ranks every entry by [RetrieveQuery.Score], ties by insertion
	// order, and returns the best limit; 0 returns none, a negative limit is
	// an error. Entries that do not match fill the result by their relevance.
	// Those that match get an access stamp, which the next consolidation
	// folds. Restricted entries never come out, unless the store was made
	// with [WithRestricted].
	Retrieve(ctx context.Context, query string, limit int) ([]Match, error)

	// Consolidate runs one pass of [Consolidation.Plan], all or nothing.
	Consolidate(ctx context.Context) (ConsolidationStats, error)

	// Len counts the entries. A store that cannot be read is an error, never
	// a zero.
	Len(ctx context.Context) (int, error)
}

// Recaller is the richer way to a store, after heartbit's MemoryQuery.
type Recaller interface {
	// Recall answers a query; see [Query.Rank] for how. Each returned entry
	// counts as accessed.
	Recall(ctx context.Context, query Query) (Recollection, error)

	// Get returns the entry as it stands, without counting an access, or
	// [ErrNotFound].
	Get(ctx context.Context, id uuid.UUID) (Record, error)

	// Update changes the named fields of an entry, which keeps its place in
	// insertion order and counts as accessed now. A changed text drops the
	// embedding, unless the change brings one. It returns the entry as it then
	// stands. An unknown id is [ErrNotFound]; a version that is no longer the
	// entry's, [ErrConflict].
	Update(ctx context.Context, id uuid.UUID, change Change) (Record, error)

	// Forget removes an entry for good and reports whether there was one.
	Forget(ctx context.Context, id uuid.UUID) (bool, error)

	// Link relates two entries with each other, once however often it is
	// called. An unknown id is [ErrNotFound].
	Link(ctx context.Context, a, b uuid.UUID) error

	// Prune removes the entries whose effective strength is below minStrength
	// and that were created more than minAge ago, and returns how many there
	// were. A non-empty agent prefix limits it to that agent and those below
	// it, as [Scope.Namespace] does. Pinned entries stay.
	Prune(ctx context.Context, minStrength float64, minAge time.Duration, agentPrefix string) (int, error)
}

// BatchWriter stores many entries with one write, for imports.
type BatchWriter interface {
	// StoreBatch stores all entries in order, or none. Whether the entries are
	// valid and within the scope is checked first, for all of them.
	StoreBatch(ctx context.Context, entries []Entry, onConflict OnConflict) (BatchResult, error)
}

// Lister reads a whole store.
type Lister interface {
	// Entries iterates over one consistent snapshot in insertion order, or
	// backward, without counting accesses, and yields a single error if it has to stop
	// early. The snapshot is released when the loop ends; what others write
	// meanwhile is not seen and not blocked.
	Entries(ctx context.Context, selection Selection) iter.Seq2[Entry, error]

	// Resolve returns the id of the one entry that the text names: a UUID in
	// any usual spelling, or a prefix of at least [MinPrefix] hexadecimal
	// digits. No such entry is [ErrNotFound], several are [ErrInvalid].
	Resolve(ctx context.Context, text string) (uuid.UUID, error)
}

// Backend is a store with everything that loopmem offers. The in-memory
// [Store] is the plain one that reads as the specification.
type Backend interface {
	LoopMemory
	Recaller
	BatchWriter
	Lister
	EmbeddingStore

	// PreviewConsolidation tells what Consolidate would do now.
	PreviewConsolidation(ctx context.Context) (ConsolidationStats, error)

	// In returns a handle that sees and changes only the part of the store
	// that lies within the scope, and within the scope of this handle. It
	// shares everything else, and is closed with it.
	In(scope Scope) Backend

	// Close writes what is pending and releases the store. Handles made by In
	// need not be closed.
	Close() error
}

// Record is an entry with the version it has in its store.
type Record struct {
	Entry Entry
	// Version changes with every write to the entry's content. Access
	// book-keeping does not change it.
	Version uint64
}

// Change names the fields that Update is to change; nil fields stay.
type Change struct {
	Memory          *string
	Category        *Category
	Tags            *[]string
	Keywords        *[]string
	Summary         *string
	Importance      *uint8
	Validated       *bool
	Pinned          *bool
	Confidentiality *Confidentiality
	Agent           *string
	Attributes      *map[string]string
	// Embedding is that of the text as it is after the change.
	Embedding *[]float32
	// IfVersion makes the update fail with [ErrConflict] unless the entry
	// still has that version; 0 means any.
	IfVersion uint64
}

// Apply makes the change to an entry at the given time. The entry shares no
// memory with the change.
func (c *Change) Apply(e *Entry, now time.Time) {
	if c.Memory != nil && *c.Memory != e.Memory {
		e.Memory = *c.Memory
		e.Embedding = nil
	}
	set(&e.Category, c.Category)
	set(&e.Tags, c.Tags)
	set(&e.Keywords, c.Keywords)
	set(&e.Summary, c.Summary)
	set(&e.Importance, c.Importance)
	set(&e.Validated, c.Validated)
	set(&e.Pinned, c.Pinned)
	set(&e.Confidentiality, c.Confidentiality)
	set(&e.Agent, c.Agent)
	set(&e.Attributes, c.Attributes)
	set(&e.Embedding, c.Embedding)
	e.accessedAt(now)
	*e = e.Clone()
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Relate adds id to the entry's related ids unless it is there already, and
// reports whether it was added.
func (e *Entry) Relate(id uuid.UUID) bool {
	if slices.Contains(e.RelatedIDs, id) {
		return false
	}
	e.RelatedIDs = append(e.RelatedIDs, id)
	return true
}

// Selection chooses what Entries iterates over; the zero Selection is all.
type Selection struct {
	Filter
	// After is the id of an entry behind which to begin, or the zero UUID; an
	// id that does not exist is [ErrNotFound].
	After uuid.UUID
	// Backward goes through insertion order from its end. Behind an entry are
	// then those that came before it.
	Backward bool
}

// OnConflict says what StoreBatch does with an entry whose id exists.
type OnConflict int

// The ways to treat an id that exists.
const (
	Keep    OnConflict = iota // the stored entry stays as it is
	Replace                   // the new entry replaces it, as Store does
	Fail                      // the whole batch fails with [ErrConflict]
)

// BatchResult counts what became of the entries of a batch.
type BatchResult struct {
	Stored   int // under ids that were new
	Replaced int
	Kept     int // existed and stayed
}

// MinPrefix is the least number of hexadecimal digits of an id prefix.
const MinPrefix = 6

// PruneRule is the condition of Prune.
type PruneRule struct {
	MinStrength float64
	MinAge      time.Duration
	Namespace   string
}

// Validate reports a rule that cannot mean anything, as an [ErrInvalid].
func (p *PruneRule) Validate() error {
	if !finite(p.MinStrength) {
		return invalid("min_strength", "is %v; it must be a finite number", p.MinStrength)
	}
	if p.MinAge < 0 {
		return invalid("min_age", "is %s; it must not be negative", p.MinAge)
	}
	return nil
}

// Removes reports whether the rule removes the entry at the given time.
func (p *PruneRule) Removes(e *Entry, now time.Time) bool {
	return !e.Pinned && within(e.Agent, p.Namespace) &&
		now.Sub(e.CreatedAt) > p.MinAge && e.EffectiveStrength(now) < p.MinStrength
}

// Preview returns how many entries Prune would remove by the rule now.
func (p *PruneRule) Preview(ctx context.Context, store Lister) (n int, err error) {
	if err := p.Validate(); err != nil {
		return 0, err
	}
	now := time.Now()
	for entry, err := range store.Entries(ctx, Selection{}) {
		if err != nil {
			return 0, err
		}
		if p.Removes(&entry, now) {
			n++
		}
	}
	return n, nil
}

// Option sets up what all stores have in common.
type Option func(*Settings)

// Settings are the options of a store, for those who implement one.
type Settings struct {
	Consolidation Consolidation
	Capacity      int              // most entries; 0 means unlimited
	Now           func() time.Time // the clock
	Restricted    bool             // Retrieve returns restricted entries too
	Entries       []Entry          // stored at the beginning
	Logger        *slog.Logger
}

// NewSettings applies the options to the defaults.
func NewSettings(options ...Option) Settings {
	s := Settings{Consolidation: DefaultConsolidation(), Now: time.Now, Logger: slog.New(slog.DiscardHandler)}
	for _, option := range options {
		option(&s)
	}
	return s
}

// WithConsolidation sets the configuration of Consolidate.
func WithConsolidation(config Consolidation) Option {
	return func(s *Settings) { s.Consolidation = config }
}

// WithCapacity bounds the number of entries. When a new entry would exceed
// it, the unpinned entry of lowest effective strength makes room, the oldest
// first on ties. 0, the default, means unlimited. The bound is that of the
// whole store: what is stored through a handle of a narrower scope may push
// out an entry outside it.
func WithCapacity(entries int) Option { return func(s *Settings) { s.Capacity = max(entries, 0) } }

// WithClock sets the source of the current time; the default is [time.Now].
func WithClock(now func() time.Time) Option { return func(s *Settings) { s.Now = now } }

// WithRestricted lets Retrieve return restricted entries. Its results usually
// end in prompts, so the default is that it does not.
func WithRestricted() Option { return func(s *Settings) { s.Restricted = true } }

// WithEntries stores the entries when the store is made, in order. In a store
// that kept entries from before, those of the same id stay as they are.
func WithEntries(entries ...Entry) Option {
	return func(s *Settings) { s.Entries = append(s.Entries, entries...) }
}

// WithLogger sets where a store reports what no caller hears of, such as
// book-keeping that had to be put off; the default discards it.
func WithLogger(logger *slog.Logger) Option { return func(s *Settings) { s.Logger = logger } }
