package memory

import (
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Consolidation configures the pass that lets relevance decay, merges near
// duplicates and prunes what is no longer worth keeping. Use
// [DefaultConsolidation] as the starting point.
type Consolidation struct {
	// Decay lets relevance halve with every HalfLife that passes without
	// access, faster or slower by [Category.DecayWeight].
	Decay bool
	// HalfLife is at least one second; the default is 336 hours.
	HalfLife time.Duration
	// Merge unites entries of one category, agent and confidentiality whose
	// texts share enough words.
	Merge bool
	// MergeThreshold is the Jaccard similarity of two texts' word sets from
	// which they merge, above 0 and up to 1; the default is 0.6.
	MergeThreshold float32
	// PruneFloor removes entries whose relevance or quality is below it, from
	// 0 (none) to 1; the default is 0.05.
	PruneFloor float32
}

// DefaultConsolidation returns the configuration that stores use unless they
// are given another.
func DefaultConsolidation() Consolidation {
	return Consolidation{Decay: true, HalfLife: 336 * time.Hour, Merge: true, MergeThreshold: 0.6, PruneFloor: 0.05}
}

// normalized replaces values outside their range by the defaults.
func (c Consolidation) normalized() Consolidation {
	defaults := DefaultConsolidation()
	if c.HalfLife < time.Second {
		c.HalfLife = defaults.HalfLife
	}
	if !(c.MergeThreshold > 0 && c.MergeThreshold <= 1) {
		c.MergeThreshold = defaults.MergeThreshold
	}
	if !(c.PruneFloor >= 0 && c.PruneFloor <= 1) {
		c.PruneFloor = defaults.PruneFloor
	}
	return c
}

// ConsolidationStats counts what a pass did.
type ConsolidationStats struct {
	EntriesBefore int `json:"entries_before"`
	EntriesAfter  int `json:"entries_after"`
	Pruned        int `json:"pruned"`
	Merged        int `json:"merged"`
	// BytesSaved is the length in UTF-8 of the texts of all entries that were
	// pruned or merged into another.
	BytesSaved int `json:"bytes_saved"`
}

// Plan is the outcome of a consolidation pass over a list of entries, for a
// store to carry out as one change.
type Plan struct {
	Stats ConsolidationStats
	// Survivors are the entries that stay, in their new insertion order.
	Survivors []Survivor
	// Removed are the entries that go.
	Removed []Removal
	// Merged maps each merged entry to the one it was merged into. Entries
	// that were not part of the pass are to follow it with [Entry.Relink].
	Merged map[uuid.UUID]uuid.UUID
}

// Survivor is an entry that stays.
type Survivor struct {
	Entry Entry // as it is after the pass
	Index int   // where it stood in the input
	// Slot is the index in the input whose place it takes, or [EndOfOrder].
	Slot int
	// Rewritten tells that more has changed than the pass does to every
	// entry: it absorbed others, or a link of it follows a merge.
	Rewritten bool
}

// EndOfOrder is the slot of survivors that move behind all others.
const EndOfOrder = -1

// Removal is an entry that goes.
type Removal struct {
	Index int // where it stood in the input
	// MergedInto is the entry it was merged into, or the zero UUID if it was
	// pruned.
	MergedInto uuid.UUID
}

// Plan computes one consolidation pass at the time now over entries in
// insertion order. stamps holds the pending access times by id. The input is
// not changed.
//
// In this order: access stamps are folded; entries whose relevance lies
// outside 0..1 are set aside (they become 0 and go to the end); relevance
// decays; near duplicates are clustered and merged; what is below the floor
// is pruned. Pinned entries only get their stamps and links.
func (c Consolidation) Plan(now time.Time, entries []Entry, stamps map[uuid.UUID]time.Time) *Plan {
	c = c.normalized()
	p := pass{config: c, now: now, plan: &Plan{Merged: make(map[uuid.UUID]uuid.UUID)}}
	p.plan.Stats.EntriesBefore = len(entries)
	ordered := make([]Survivor, 0, len(entries))
	var setAside []Survivor
	for i := range entries {
		s := Survivor{Entry: entries[i].Clone(), Index: i, Slot: i}
		if at, ok := stamps[s.Entry.ID]; ok {
			s.Entry.FoldStamp(at)
		}
		switch {
		case s.Entry.Pinned:
			ordered = append(ordered, s)
		case !(s.Entry.Relevance >= 0 && s.Entry.Relevance <= 1):
			s.Entry.Relevance = 0
			s.Slot = EndOfOrder
			setAside = append(setAside, s)
		default:
			if c.Decay {
				s.Entry.decay(now, c.HalfLife)
			}
			ordered = append(ordered, s)
		}
	}
	if c.Merge {
		ordered = p.merge(ordered)
	}
	p.prune(append(ordered, setAside...))
	for i := range p.plan.Survivors {
		s := &p.plan.Survivors[i]
		s.Rewritten = s.Entry.Relink(p.plan.Merged) || s.Rewritten
	}
	p.plan.Stats.EntriesAfter = len(p.plan.Survivors)
	return p.plan
}

// pass is one run of Plan.
type pass struct {
	config Consolidation
	now    time.Time
	plan   *Plan
}

// remove records an entry that goes.
func (p *pass) remove(s *Survivor, into uuid.UUID) {
	p.plan.Removed = append(p.plan.Removed, Removal{Index: s.Index, MergedInto: into})
	p.plan.Stats.BytesSaved += len(s.Entry.Memory)
}

// decay applies the exponential decay of relevance since the entry was last
// decayed or accessed. The stamp never moves back, even under a clock that
// does.
func (e *Entry) decay(now time.Time, halfLife time.Duration) {
	baseline := later(orElse(e.LastDecayed, e.CreatedAt), orElse(e.LastAccessed, e.CreatedAt))
	if !now.Before(baseline) {
		halfLives := float32(float32(seconds(now.Sub(baseline))/max(seconds(halfLife), 1)) * e.Category.DecayWeight())
		factor := float32(math.Pow(0.5, float64(halfLives)))
		e.Relevance = clamp(float32(e.Relevance*factor), 0, 1)
	}
	e.LastDecayed = new(later(orElse(e.LastDecayed, now), now).UTC().Round(0))
}

// seconds is d as the reference computes it: both parts rounded to float32
// before they are added.
func seconds(d time.Duration) float32 {
	whole, nanos := d/time.Second, d%time.Second
	return float32(whole) + float32(float32(nanos)/1e9)
}

func orElse(t *time.Time, otherwise time.Time) time.Time {
	if t != nil {
		return *t
	}
	return otherwise
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Quality weighs what makes an entry worth keeping, from 0 to 1, in float32:
//
//	relevance*0.45 + access*0.30 + recency*0.15 + (0.10 if validated)
//
// where access = ln(1+accesses)/ln(51), clamped to 0..1 with at most 65,535
// accesses counted, and recency = exp(-age/30 days), the age since the last
// access or else the creation; 1 for times in the future.
func (e *Entry) Quality(now time.Time) float32 {
	counted := min(e.AccessCount, math.MaxUint16)
	access := float32(math.Log(float64(1+counted))) / float32(math.Log(51))
	recency := float32(1)
	if since := orElse(e.LastAccessed, e.CreatedAt); !now.Before(since) {
		recency = float32(math.Exp(float64(-seconds(now.Sub(since)) / (30 * 24 * 3600))))
	}
	quality := float32(clamp(e.Relevance, 0, 1)*0.45) + float32(clamp(access, 0, 1)*0.30)
	quality = float32(quality + float32(recency*0.15))
	if e.Validated {
		quality = float32(quality + 0.10)
	}
	return quality
}

// merge clusters the entries and folds each cluster into one survivor, which
// takes the place of the cluster's first member. It reuses the list: clusters
// come in the order of their first members, so that nothing which is still to
// be folded stands before the last survivor.
func (p *pass) merge(entries []Survivor) []Survivor {
	groups := clusters(entries, p.config.MergeThreshold)
	merged := entries[:0]
	for _, cluster := range groups {
		merged = append(merged, p.fold(entries, cluster))
	}
	return merged
}

// fold merges a cluster into its member of highest quality, the first of
// equals, and records the others as removed.
func (p *pass) fold(entries []Survivor, cluster []int) Survivor {
	best := 0
	if len(cluster) > 1 {
		best = p.best(entries, cluster)
	}
	kept := entries[cluster[best]]
	kept.Slot = entries[cluster[0]].Slot
	if !kept.Entry.Pinned && kept.Entry.LastDecayed == nil {
		kept.Entry.LastDecayed = new(kept.Entry.CreatedAt)
	}
	others := slices.Delete(cluster, best, best+1)
	if best != 0 {
		// The demoted first member goes last, as the reference has it.
		others = append(others[1:], others[0])
	}
	for _, i := range others {
		other := &entries[i]
		kept.Rewritten = true
		kept.Entry.absorb(&other.Entry)
		p.plan.Merged[other.Entry.ID] = kept.Entry.ID
		p.plan.Stats.Merged++
		p.remove(other, kept.Entry.ID)
	}
	return kept
}

// best returns which member of a cluster has the highest quality.
func (p *pass) best(entries []Survivor, cluster []int) int {
	best, highest := 0, float32(-1)
	for n, i := range cluster {
		if quality := entries[i].Entry.Quality(p.now); quality > highest {
			best, highest = n, quality
		}
	}
	return best
}

// absorb takes over what the kept member of a cluster gains from another.
func (e *Entry) absorb(other *Entry) {
	e.Relevance = clamp(float32(e.Relevance+0.1), 0, 1)
	e.Tags = union(e.Tags, other.Tags)
	e.Keywords = union(e.Keywords, other.Keywords)
	e.addAccesses(other.AccessCount)
	e.Validated = e.Validated || other.Validated
	if other.CreatedAt.Before(e.CreatedAt) {
		e.CreatedAt = other.CreatedAt
	}
	if other.LastAccessed != nil {
		e.accessedAt(*other.LastAccessed)
	}
	e.Strength = max(e.Strength, other.Strength)
	e.Importance = max(e.Importance, other.Importance)
	related := slices.DeleteFunc(slices.Clone(other.RelatedIDs), func(id uuid.UUID) bool { return id == e.ID })
	e.RelatedIDs = union(e.RelatedIDs, related)
	e.SourceIDs = append(e.SourceIDs, other.ID)
}

// union appends to list what it does not hold yet; its own repeats stay.
func union[T comparable](list, more []T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}

// Relink makes the entry's related ids follow a merge: each id that was
// merged away becomes the one it was merged into, each stands once, and the
// entry's own does not stand at all. An entry that the merge does not concern
// stays as it is. It reports whether anything changed.
func (e *Entry) Relink(merged map[uuid.UUID]uuid.UUID) bool {
	concerned := false
	for i, id := range e.RelatedIDs {
		if into, ok := merged[id]; ok {
			if !concerned {
				e.RelatedIDs = slices.Clone(e.RelatedIDs)
			}
			e.RelatedIDs[i] = into
			concerned = true
		}
	}
	if !concerned {
		return false
	}
	ids := distinct(e.RelatedIDs)
	ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool { return id == e.ID })
	e.RelatedIDs = cloneList(ids)
	return true
}

// prune parts the entries into survivors, for which it reuses the list, and
// those below the floor.
func (p *pass) prune(entries []Survivor) {
	floor := p.config.PruneFloor
	p.plan.Survivors = entries[:0]
	for i := range entries {
		s := &entries[i]
		if !s.Entry.Pinned && (s.Entry.Relevance < floor || s.Entry.Quality(p.now) < floor) {
			p.plan.Stats.Pruned++
			p.remove(s, uuid.Nil)
			continue
		}
		p.plan.Survivors = append(p.plan.Survivors, *s)
	}
}
