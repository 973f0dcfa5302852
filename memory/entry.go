package memory

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Category says what kind of thing an entry records. It sets how fast the
// entry's relevance decays (see [Category.DecayWeight]) and which entries may
// merge. Any non-empty name is allowed.
type Category string

// The categories that have a decay weight of their own or are in common use.
const (
	Trajectory   Category = "trajectory"
	Insight      Category = "insight"
	ErrorPattern Category = "error_pattern"
	Strategy     Category = "strategy"
	Fact         Category = "fact"
	Working      Category = "working"
)

// DecayWeight is the factor on the exponent of relevance decay: 0.5 for facts
// and strategies, 0.75 for insights and error patterns, 2 for working notes,
// and the neutral 1 for trajectories and every other name.
func (c Category) DecayWeight() float32 {
	switch c {
	case Fact, Strategy:
		return 0.5
	case Insight, ErrorPattern:
		return 0.75
	case Working:
		return 2
	default:
		return 1
	}
}

// MemoryType tells how a memory came about. The zero value is [Episodic].
type MemoryType uint8

// The memory types.
const (
	Episodic   MemoryType = iota // something that happened
	Semantic                     // something that is so
	Reflection                   // something concluded from other memories
)

var memoryTypeNames = [...]string{"episodic", "semantic", "reflection"}

// String returns the name used in JSON, such as "episodic".
func (t MemoryType) String() string {
	if int(t) < len(memoryTypeNames) {
		return memoryTypeNames[t]
	}
	return fmt.Sprintf("MemoryType(%d)", uint8(t))
}

// ParseMemoryType is the inverse of [MemoryType.String]. Names are matched
// exactly; any other text is an [ErrInvalid].
func ParseMemoryType(name string) (MemoryType, error) {
	if i := slices.Index(memoryTypeNames[:], name); i >= 0 {
		return MemoryType(i), nil
	}
	return 0, invalid("memory_type", "is %q; use one of %s", shorten(name), strings.Join(memoryTypeNames[:], ", "))
}

// Confidentiality orders entries by who may see them. The zero value is
// [Public]; levels compare with < and >.
type Confidentiality uint8

// The confidentiality levels, from the most open to the most closed.
const (
	Public Confidentiality = iota
	Internal
	Confidential
	Restricted // never returned by Retrieve, unless the store lifts it
)

var confidentialityNames = [...]string{"public", "internal", "confidential", "restricted"}

// String returns the name used in JSON, such as "public".
func (c Confidentiality) String() string {
	if int(c) < len(confidentialityNames) {
		return confidentialityNames[c]
	}
	return fmt.Sprintf("Confidentiality(%d)", uint8(c))
}

// ParseConfidentiality is the inverse of [Confidentiality.String]. Names are
// matched exactly; any other text is an [ErrInvalid].
func ParseConfidentiality(name string) (Confidentiality, error) {
	if i := slices.Index(confidentialityNames[:], name); i >= 0 {
		return Confidentiality(i), nil
	}
	return 0, invalid("confidentiality", "is %q; use one of %s", shorten(name), strings.Join(confidentialityNames[:], ", "))
}

// Entry is one memory. Make one with [NewEntry], which fills in the defaults
// named below: the zero values of Relevance, Importance and Strength mean
// "none at all", not "the default".
type Entry struct {
	// ID is the key of the entry in its store. The zero UUID is refused.
	ID uuid.UUID
	// Category is a non-empty name; see [Category].
	Category Category
	// Memory is the text that is remembered and searched.
	Memory string
	// Tags keep their order and their duplicates.
	Tags []string
	// CreatedAt lies between 1970 and 2262 (int64 nanoseconds) and is kept to
	// the nanosecond, in UTC.
	CreatedAt time.Time
	// Relevance is the entry's worth, from 0 to 1; default 1. It decays.
	// Finite values outside that range are stored as they are, count as zero
	// in ranking, and are set aside by the next consolidation.
	Relevance float32
	// AccessCount is how often the entry was returned; at most 2^63-1, where
	// sums saturate.
	AccessCount uint64
	// Validated marks a memory that was confirmed; it raises its quality.
	Validated bool
	// LastAccessed and LastDecayed are nil as long as that has not happened.
	LastAccessed *time.Time
	LastDecayed  *time.Time

	// Agent is the namespace the entry belongs to, such as "tg:123:assistant".
	Agent string
	// Importance is 1 to 10, default 5; values outside are clamped in ranking.
	Importance uint8
	// MemoryType tells how the memory came about; default [Episodic].
	MemoryType MemoryType
	// Keywords are searched by Recall beside the text.
	Keywords []string
	// Summary is a short form of the text.
	Summary string
	// Strength is the Ebbinghaus strength at the time of the last access,
	// default 1; see [EffectiveStrength]. It must be finite.
	Strength float64
	// RelatedIDs name entries that belong with this one; they may point to
	// entries that do not exist. SourceIDs name entries this one was made of.
	RelatedIDs []uuid.UUID
	SourceIDs  []uuid.UUID
	// Embedding is the text as a vector, or nil. All components are finite.
	Embedding []float32
	// Confidentiality says who may see the entry; default [Public].
	Confidentiality Confidentiality
	// AuthorUserID and AuthorTenantID say on whose behalf it was stored.
	AuthorUserID   string
	AuthorTenantID string
	// Attributes hold what a legacy form knows and no field above has.
	Attributes map[string]string
	// Pinned entries are left as they are by consolidation, Prune and the
	// capacity bound.
	Pinned bool
}

// Defaults of the fields whose default is not the zero value.
const (
	DefaultRelevance  float32 = 1
	DefaultImportance uint8   = 5
	DefaultStrength   float64 = 1
)

// NewEntry returns an entry with a fresh random ID (UUID version 4), the
// current time and the default of every other field.
func NewEntry(category Category, text string) Entry {
	return Entry{
		ID:         uuid.New(),
		Category:   category,
		Memory:     text,
		CreatedAt:  time.Now().UTC().Round(0),
		Relevance:  DefaultRelevance,
		Importance: DefaultImportance,
		Strength:   DefaultStrength,
	}
}

// Validate reports the first rule of the entry's fields that e breaks, as a
// [FieldError]. Every store calls it before it writes anything.
func (e *Entry) Validate() error {
	if e.ID == uuid.Nil {
		return invalid("id", "is the zero UUID; every entry needs one of its own")
	}
	if e.Category == "" {
		return invalid("category", "is empty; name one, such as %q", Fact)
	}
	if err := e.validateTexts(); err != nil {
		return err
	}
	if err := validateTime("created_at", &e.CreatedAt); err != nil {
		return err
	}
	if err := validateTime("last_accessed", e.LastAccessed); err != nil {
		return err
	}
	if err := validateTime("last_decayed", e.LastDecayed); err != nil {
		return err
	}
	if !finite(float64(e.Relevance)) {
		return invalid("relevance", "is %v; it must be a finite number", e.Relevance)
	}
	if !finite(e.Strength) {
		return invalid("strength", "is %v; it must be a finite number", e.Strength)
	}
	if e.AccessCount > math.MaxInt64 {
		return invalid("access_count", "is %d; at most %d can be stored", e.AccessCount, int64(math.MaxInt64))
	}
	if int(e.MemoryType) >= len(memoryTypeNames) {
		return invalid("memory_type", "is %d, which is none of %s", e.MemoryType, strings.Join(memoryTypeNames[:], ", "))
	}
	if int(e.Confidentiality) >= len(confidentialityNames) {
		return invalid("confidentiality", "is %d, which is none of %s", e.Confidentiality, strings.Join(confidentialityNames[:], ", "))
	}
	return validateVector("embedding", e.Embedding)
}

func (e *Entry) validateTexts() error {
	for _, f := range []struct{ field, text string }{
		{"category", string(e.Category)},
		{"memory", e.Memory},
		{"agent", e.Agent},
		{"summary", e.Summary},
		{"author_user_id", e.AuthorUserID},
		{"author_tenant_id", e.AuthorTenantID},
	} {
		if err := validateText(f.field, f.text); err != nil {
			return err
		}
	}
	for _, tag := range e.Tags {
		if err := validateText("tags", tag); err != nil {
			return err
		}
	}
	for _, keyword := range e.Keywords {
		if err := validateText("keywords", keyword); err != nil {
			return err
		}
	}
	for key, value := range e.Attributes {
		if err := validateText("attributes", key); err != nil {
			return err
		}
		if err := validateText("attributes", value); err != nil {
			return err
		}
	}
	return nil
}

func validateText(field, text string) error {
	if !utf8.ValidString(text) {
		return invalid(field, "is not valid UTF-8")
	}
	if strings.IndexByte(text, 0) >= 0 {
		return invalid(field, "contains a NUL character")
	}
	return nil
}

// The instants that int64 nanoseconds since 1970 can hold.
var (
	minTime = time.Unix(0, 0)
	maxTime = time.Unix(0, math.MaxInt64)
)

func validateTime(field string, t *time.Time) error {
	if t != nil && (t.Before(minTime) || t.After(maxTime)) {
		return invalid(field, "is %s; only times from 1970 to 2262 can be stored", t.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

func validateVector(field string, vector []float32) error {
	for i, x := range vector {
		if !finite(float64(x)) {
			return invalid(field, "has %v as component %d; all must be finite numbers", x, i)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// Clone returns a copy of e that shares no memory with it. Empty lists become
// nil and times UTC without a monotonic reading, so that equal entries are
// equal values.
func (e *Entry) Clone() Entry {
	c := *e
	c.CreatedAt = e.CreatedAt.UTC().Round(0)
	c.LastAccessed = cloneTime(e.LastAccessed)
	c.LastDecayed = cloneTime(e.LastDecayed)
	c.Tags = cloneList(e.Tags)
	c.Keywords = cloneList(e.Keywords)
	c.RelatedIDs = cloneList(e.RelatedIDs)
	c.SourceIDs = cloneList(e.SourceIDs)
	c.Embedding = cloneList(e.Embedding)
	if len(e.Attributes) == 0 {
		c.Attributes = nil
	} else {
		c.Attributes = maps.Clone(e.Attributes)
	}
	return c
}

func cloneTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC().Round(0))
}

func cloneList[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return slices.Clone(list)
}
