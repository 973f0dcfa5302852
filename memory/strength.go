package memory

import (
	"math"
	"time"
)

const (
	// DecayPerHour is the rate at which strength fades; half of it is gone
	// after about 139 hours without access.
	DecayPerHour = 0.005
	// reinforcement is what one recall adds to the strength, up to 1.
	reinforcement = 0.2
)

// EffectiveStrength is the Ebbinghaus forgetting curve (H. Ebbinghaus, "Über
// das Gedächtnis", 1885, in the exponential form of heartbit's MemoryQuery):
//
//	clamp(strength * exp(-0.005*h), 0, 1)
//
// where h is the time since the last access, or since the creation of an
// entry never accessed, in whole seconds, as hours; not below 0.
func (e *Entry) EffectiveStrength(now time.Time) float64 {
	return EffectiveStrength(e.Strength, e.StrengthBase(), now)
}

// StrengthBase is the instant from which the entry's strength fades.
func (e *Entry) StrengthBase() time.Time {
	if e.LastAccessed != nil {
		return *e.LastAccessed
	}
	return e.CreatedAt
}

// EffectiveStrength is [Entry.EffectiveStrength] for a strength that was last
// set at base.
func EffectiveStrength(strength float64, base, now time.Time) float64 {
	hours := max(wholeHours(now.Sub(base)), 0)
	return clamp(float64(strength*math.Exp(float64(-DecayPerHour*hours))), 0, 1)
}

// wholeHours is d cut to whole seconds, in hours.
func wholeHours(d time.Duration) float64 {
	return float64(d/time.Second) / 3600
}

func clamp[T float32 | float64](x, low, high T) T { return min(max(x, low), high) }

// Touch does the book-keeping of one recall on a returned entry: one more
// access, at the later of now and the access known already, and, if
// reinforce, a strength that is 0.2 higher, up to 1.
func (e *Entry) Touch(now time.Time, reinforce bool) {
	e.addAccesses(1)
	e.accessedAt(now)
	if reinforce {
		e.Strength = min(e.Strength+reinforcement, 1)
	}
}

// FoldStamp applies the access stamp that Retrieve left: one more access, at
// the later of the two times.
func (e *Entry) FoldStamp(at time.Time) {
	e.addAccesses(1)
	e.accessedAt(at)
}

func (e *Entry) addAccesses(n uint64) {
	if n > math.MaxInt64-min(e.AccessCount, math.MaxInt64) {
		e.AccessCount = math.MaxInt64
		return
	}
	e.AccessCount += n
}

func (e *Entry) accessedAt(t time.Time) {
	if e.LastAccessed == nil || t.After(*e.LastAccessed) {
		e.LastAccessed = cloneTime(&t)
	}
}
