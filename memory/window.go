package memory

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// lentShare is what a term counts that only entries around hold. The more
	// it is, the sooner an entry is found for what others say; the less, the
	// sooner an answer is missed that leaves out what the question before it
	// named.
	lentShare = 0.5
	// lendingPool is how many of the best entries are looked around at. On
	// the conversations it was tuned on, no more made a difference.
	lendingPool = 20
	// nearby is how far apart entries may be created that lend each other
	// their words.
	nearby = time.Hour
	// beyondChance is how many standard deviations more of the question the
	// entries around must hold than others would, to lend any of it.
	beyondChance = 2
)

// Surroundings tells of the entries that others stand among: those of the same
// agent root that the handle sees, up to the confidentiality of the query.
type Surroundings interface {
	// Around returns an entry with up to n entries before it and n after it,
	// in order, which is that of created_at and then as inserted.
	Around(c *Candidate, n int) ([]Candidate, error)
	// Among returns how many entries of a root hold each term of the question.
	Among(root string) (*Holders, error)
}

// Holders is how many of a number of entries hold each term of a question.
type Holders struct {
	Entries int
	Terms   []int
}

func (h *Holders) add(holds []int) {
	h.Entries++
	for term, n := range holds {
		h.Terms[term] += n
	}
}

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

// Pool is how many of the best candidates [Question.RankAmong] needs at least.
func (q *Question) Pool() int {
	if q.query.Window > 0 {
		return max(q.query.Limit, lendingPool)
	}
	return q.query.Limit
}

// LendingPool returns how many of the entries that are best by their text
// alone are looked around at.
func (q *Question) LendingPool() int {
	if q.query.Window > 0 {
		return lendingPool
	}
	return 0
}

// Turn is what lending looks at of an entry.
type Turn struct {
	Position  int64 // in insertion order
	CreatedAt time.Time
	Holds     []int // 1 for each term that the entry holds
}

// Run is one of the best entries with those around it.
type Run struct {
	// Turns are the entry, up to twice the query's window before it, and as
	// many after it: those around it have others around them.
	Turns []Turn
	At    int      // the entry among the turns
	Among *Holders // of all entries that turns of this root could be
}

// window is the range of turns around one of them, itself included.
func (r *Run) window(at, size int) (first, end int) {
	return max(at-size, 0), min(at+size+1, len(r.Turns))
}

// neighbours are the turns around one of them that lend it their words.
func (r *Run) neighbours(at, size int) (turns []*Turn) {
	first, end := r.window(at, size)
	for k := first; k < end; k++ {
		if k != at && r.Turns[k].CreatedAt.Sub(r.Turns[at].CreatedAt).Abs() <= nearby {
			turns = append(turns, &r.Turns[k])
		}
	}
	return turns
}

// Lend returns which terms the entries in the window of the best ones are lent
// by those around them, by position; none unless there is evidence that
// entries belong with those around them.
//
// The evidence is that the neighbours of the best entries hold more of the
// question than as many entries of the same root, drawn at random, would. If h
// of e entries of a root hold a term of weight w, a random one holds on average
// p*w of it, p = h/e, with the variance p*(1-p)*w^2. Both are summed over the
// terms and the neighbours of all runs; the observed sum must exceed the
// expected one by more than two standard deviations. In a conversation it does
// as soon as it dwells on what the question is about. Facts that were stored
// one after the other, and have nothing to do with each other, pass for
// belonging together about as often as chance has it, one time in forty.
func (q *Question) Lend(runs []Run) map[int64][]bool {
	if !q.belongTogether(runs) {
		return nil
	}
	lent := make(map[int64][]bool)
	for i := range runs {
		r := &runs[i]
		first, end := r.window(r.At, q.query.Window)
		for k := first; k < end; k++ {
			if position := r.Turns[k].Position; lent[position] == nil {
				lent[position] = q.lentBy(r.neighbours(k, q.query.Window))
			}
		}
	}
	return lent
}

func (q *Question) belongTogether(runs []Run) bool {
	var surplus, variance float64
	for i := range runs {
		r := &runs[i]
		mean, spread := q.chance(r.Among)
		for _, neighbour := range r.neighbours(r.At, q.query.Window) {
			surplus += q.Sum(neighbour.Holds, nil) - mean
			variance += spread
		}
	}
	return surplus > 0 && float64(surplus*surplus) > float64(beyondChance*beyondChance*variance)
}

// chance returns the mean and the variance of what an entry drawn at random
// holds of the question.
func (q *Question) chance(among *Holders) (mean, variance float64) {
	for i, weight := range q.weights {
		p := float64(among.Terms[i]) / float64(among.Entries)
		mean += float64(p * weight)
		variance += float64(float64(p*(1-p)) * float64(weight*weight))
	}
	return mean, variance
}

func (q *Question) lentBy(neighbours []*Turn) []bool {
	lent := make([]bool, len(q.terms))
	for _, neighbour := range neighbours {
		for term, n := range neighbour.Holds {
			lent[term] = lent[term] || n > 0
		}
	}
	return lent
}

// lend gives the best candidates, and the entries around them, the words that
// they are surrounded by.
func (r *questionRanking) lend(around Surroundings) error {
	known := make(map[int64]scored) // by position: candidates and those around
	var pool []ranked
	for i := range r.candidates {
		c := &r.candidates[i]
		known[c.Candidate.Position] = *c
		if c.matched {
			pool = append(pool, r.rank(c))
		}
	}
	pool = byScore(pool)
	var runs []Run
	for i := range pool[:min(lendingPool, len(pool))] {
		run, err := r.runOf(&Candidate{Entry: pool[i].Entry, Position: pool[i].position}, around, known)
		if err != nil {
			return err
		}
		runs = append(runs, run)
	}
	lent := r.question.Lend(runs)
	for i := range r.candidates {
		delete(known, r.candidates[i].Candidate.Position)
		r.borrow(&r.candidates[i], lent)
	}
	for _, c := range known {
		if r.borrow(&c, lent); c.relevance > 0 && r.query.Filter.Matches(&c.Entry, r.now) {
			r.candidates = append(r.candidates, c)
		}
	}
	r.inOrder()
	return nil
}

// runOf looks around a candidate, and notes what it sees among what is known.
func (r *questionRanking) runOf(c *Candidate, around Surroundings, known map[int64]scored) (run Run, err error) {
	if run.Among, err = around.Among(Root(c.Entry.Agent)); err != nil {
		return run, err
	}
	turns, err := around.Around(c, 2*r.query.Window)
	for i, turn := range turns {
		s, ok := known[turn.Position]
		if !ok {
			s = r.read(turn)
			known[turn.Position] = s
		}
		if turn.Position == c.Position {
			run.At = i
		}
		run.Turns = append(run.Turns, Turn{Position: turn.Position, CreatedAt: turn.Entry.CreatedAt, Holds: s.Frequency})
	}
	return run, err
}

// borrow counts what an entry is lent.
func (r *questionRanking) borrow(c *scored, lent map[int64][]bool) {
	if by := lent[c.Candidate.Position]; by != nil {
		c.lent = by
		c.relevance = r.question.Relevance(r.question.Sum(c.Frequency, by))
	}
}

// surroundings are those of a store that has all entries in hand.
type surroundings struct {
	lines map[string][]Candidate // by root
	among map[string]*Holders
}

func (q *Question) surroundingsAmong(all []Candidate) *surroundings {
	s := &surroundings{make(map[string][]Candidate), make(map[string]*Holders)}
	if q.query.Window == 0 {
		return s
	}
	for _, c := range all {
		if level := q.query.MaxConfidentiality; level != nil && c.Entry.Confidentiality > *level {
			continue
		}
		root := Root(c.Entry.Agent)
		if s.lines[root] = append(s.lines[root], c); s.among[root] == nil {
			s.among[root] = &Holders{Terms: make([]int, len(q.terms))}
		}
		s.among[root].add(q.read(&c.Entry))
	}
	for _, line := range s.lines {
		slices.SortFunc(line, inTime)
	}
	return s
}

func (s *surroundings) Around(c *Candidate, n int) ([]Candidate, error) {
	line := s.lines[Root(c.Entry.Agent)]
	at, _ := slices.BinarySearchFunc(line, *c, inTime)
	return line[max(at-n, 0):min(at+n+1, len(line))], nil
}

func (s *surroundings) Among(root string) (*Holders, error) { return s.among[root], nil }

// inTime is the order in which entries stand around each other.
func inTime(a, b Candidate) int {
	return cmp.Or(a.Entry.CreatedAt.Compare(b.Entry.CreatedAt), cmp.Compare(a.Position, b.Position))
}
