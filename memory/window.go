package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	// lentShare is what a term counts that only entries around hold. With
	// more, an entry is found for what others say; with less, an answer is
	// not found that leaves out what the question before it named.
	lentShare = 0.4
	// lendingPool is how many of the best entries are looked around at. On
	// the conversations it was tuned on, no more made a difference.
	lendingPool = 20
	// nearby is how far apart entries may be created that lend each other
	// their words.
	nearby = time.Hour
)

// Around returns an entry with up to n entries before it and n after it, in
// order: those of the same agent root that the handle sees, up to the
// confidentiality of the query, ordered by created_at and then as inserted.
type Around func(c *Candidate, n int) ([]Candidate, error)

// Root is what the entries of one conversation share of their agents: all
// but the last part where there are more than two (conv:30 of conv:30:gina),
// else the agent as it is, since tg:1 and tg:2 are two users.
func Root(agent string) string {
	if i := strings.LastIndexByte(agent, ':'); strings.Count(agent, ":") > 1 {
		return agent[:i]
	}
	return agent
}

// Speaker is the last part of an agent, gina in conv:30:gina.
func Speaker(agent string) string { return agent[strings.LastIndexByte(agent, ':')+1:] }

// Pool is how many of the best candidates Rank needs at least.
func (q *Question) Pool() int {
	if q.query.Window > 0 {
		return max(q.query.Limit, lendingPool)
	}
	return q.query.Limit
}

// AroundAmong serves as Around for a store that has all entries in hand.
func (q *Question) AroundAmong(all []Candidate) Around {
	lines := make(map[string][]Candidate)
	for _, c := range all {
		if q.query.MaxConfidentiality == nil || c.Entry.Confidentiality <= *q.query.MaxConfidentiality {
			root := Root(c.Entry.Agent)
			lines[root] = append(lines[root], c)
		}
	}
	for _, line := range lines {
		slices.SortFunc(line, func(a, b Candidate) int {
			return cmp.Or(a.Entry.CreatedAt.Compare(b.Entry.CreatedAt), cmp.Compare(a.Position, b.Position))
		})
	}
	return func(c *Candidate, n int) ([]Candidate, error) {
		line := lines[Root(c.Entry.Agent)]
		at := slices.IndexFunc(line, func(other Candidate) bool { return other.Entry.ID == c.Entry.ID })
		return line[max(at-n, 0):min(at+n+1, len(line))], nil
	}
}

// lend gives the best candidates, and the entries around them, the words that
// they are surrounded by.
func (r *questionRanking) lend(around Around) error {
	place := make(map[uuid.UUID]int) // of each candidate
	var pool []ranked
	for i := range r.candidates {
		c := &r.candidates[i]
		place[c.Entry.ID] = i
		if c.matched {
			pool = append(pool, r.rank(c, c.relevance))
		}
	}
	pool = byScore(pool)
	done := make(map[uuid.UUID]bool)
	for i := range pool[:min(lendingPool, len(pool))] {
		// Those around it have others around them.
		window := r.query.Window
		run, err := around(&Candidate{Entry: pool[i].Entry, Position: pool[i].position}, 2*window)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(run, func(c Candidate) bool { return c.Entry.ID == pool[i].Entry.ID })
		readings := make([]scored, len(run))
		for j := range run {
			readings[j] = r.read(run[j])
		}
		for j := max(at-window, 0); j <= min(at+window, len(run)-1); j++ {
			id := run[j].Entry.ID
			if done[id] {
				continue
			}
			done[id] = true
			r.surround(readings, j)
			if known, ok := place[id]; ok {
				r.candidates[known] = readings[j]
			} else if readings[j].relevance > 0 && r.query.Filter.Matches(&run[j].Entry, r.now) {
				r.candidates = append(r.candidates, readings[j])
			}
		}
	}
	r.inOrder()
	return nil
}

// surround sets what the j-th entry of a run is lent by those around it.
func (r *questionRanking) surround(run []scored, j int) {
	c := &run[j]
	c.lent = make([]bool, len(r.tokens))
	for k := max(j-r.query.Window, 0); k <= min(j+r.query.Window, len(run)-1); k++ {
		if apart := run[k].Entry.CreatedAt.Sub(c.Entry.CreatedAt).Abs(); apart <= nearby {
			for term, frequency := range run[k].Frequency {
				c.lent[term] = c.lent[term] || frequency > 0
			}
		}
	}
	c.relevance = r.question.Bound(r.question.weigh(c.Frequency, c.lent))
}
