package sqlitestore

import (
	"cmp"
	"container/heap"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/mirror"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// question answers by memory.RankingQuestion, with the mirror if there is one
// and the question is not too long for it.
func (r *recall) question(now time.Time) ([]memory.Hit, error) {
	q := r.query.Question()
	if r.mirror != nil && len(q.Terms()) <= mirror.MaxTerms {
		return r.mirrored(q, now)
	}
	return r.posted(q, now)
}

func (r *recall) mirrored(q *memory.Question, now time.Time) ([]memory.Hit, error) {
	cosines, err := r.cosines()
	if err != nil {
		return nil, err
	}
	candidates, fits, err := readWith(r, r.mirror.Question(q, r.query, cosines, r.scope.Contains, now))
	if err != nil {
		return nil, err
	}
	return q.Rank(now, candidates, fits, r.follow)
}

// posted answers by the postings of the terms: they say what every entry
// holds, and with that how well it fits; only those that fit best are read.
func (r *recall) posted(q *memory.Question, now time.Time) ([]memory.Hit, error) {
	lists, err := r.weigh(q)
	if err != nil {
		return nil, err
	}
	var found []fit
	for i, list := range lists {
		found = addWeight(found, list, q.Weight(i))
	}
	var candidates []memory.Candidate
	switch {
	case len(lists) == 0:
		candidates, err = r.read(r.tx.rows(r.where, ""))
	case r.query.Limit > 0 && len(r.query.Embedding) == 0:
		candidates, err = r.leading(q, found, now)
	default:
		candidates, err = r.allOf(found)
	}
	if err != nil {
		return nil, err
	}
	return q.RankAmong(now, candidates, &surroundings{recall: r, holders: lists}, r.follow)
}

// fit is what a row holds of a question: the weights of its terms, summed
// in their order.
type fit struct {
	rowID   int64
	weights float64
}

// weigh weighs the question and returns which rows hold each of its terms, in
// the order of row ids.
func (r *recall) weigh(q *memory.Question) ([][]int64, error) {
	entries, visible, err := r.visible()
	if err != nil {
		return nil, err
	}
	lists := make([][]int64, len(q.Terms()))
	holders := make([]int, len(lists))
	for i, term := range q.Terms() {
		if lists[i], err = r.holdersOf(term); err != nil {
			return nil, err
		}
		if visible != nil {
			lists[i] = slices.DeleteFunc(lists[i], func(rowID int64) bool { return !visible[rowID] })
		}
		holders[i] = len(lists[i])
	}
	q.Weigh(entries, holders)
	return lists, nil
}

// holdersOf returns the rows that hold a term, in order: in the text, a
// keyword or the name of the speaker.
func (r *recall) holdersOf(term string) (rowIDs []int64, err error) {
	var pieces []int64
	if err := r.collect(&pieces, `SELECT piece_id FROM piece_term WHERE term = ?`, term); err != nil {
		return nil, err
	}
	for query := range anyOf(inAnyText, pieces...) {
		if rowIDs, err = r.appendHolders(rowIDs, query); err != nil {
			return nil, err
		}
	}
	slices.Sort(rowIDs)
	return slices.Compact(rowIDs), nil
}

// visible returns how many rows lie within the scope and, where those are not
// all, which.
func (r *recall) visible() (entries int, rows map[int64]bool, err error) {
	if r.scope.Whole() {
		err = r.get(&entries, `SELECT entries FROM store WHERE only_row = 1`)
		return entries, nil, err
	}
	var rowIDs []int64
	c := within(r.scope)
	if err := r.collect(&rowIDs, `SELECT e.row_id FROM entry AS e `+c.sql(), c.args...); err != nil {
		return 0, nil, err
	}
	rows = make(map[int64]bool, len(rowIDs))
	for _, id := range rowIDs {
		rows[id] = true
	}
	return len(rowIDs), rows, nil
}

// addWeight merges the rows that hold a term of that weight into those found
// so far; both are in the order of row ids.
func addWeight(found []fit, rows []int64, weight float64) []fit {
	if len(rows) == 0 {
		return found
	}
	merged := make([]fit, 0, len(found)+len(rows))
	for len(found) > 0 && len(rows) > 0 {
		switch a, b := found[0], rows[0]; {
		case a.rowID < b:
			merged, found = append(merged, a), found[1:]
		case a.rowID > b:
			merged, rows = append(merged, fit{b, weight}), rows[1:]
		default:
			merged = append(merged, fit{b, a.weights + weight})
			found, rows = found[1:], rows[1:]
		}
	}
	merged = append(merged, found...)
	for _, rowID := range rows {
		merged = append(merged, fit{rowID, weight})
	}
	return merged
}

// allOf reads all rows that hold anything, and those that have an embedding
// where the query has one.
func (r *recall) allOf(found []fit) ([]memory.Candidate, error) {
	var rowIDs []int64
	if len(r.query.Embedding) > 0 {
		embedded, err := r.embedded()
		if err != nil {
			return nil, err
		}
		rowIDs = embedded
	}
	for _, h := range found {
		rowIDs = append(rowIDs, h.rowID)
	}
	slices.Sort(rowIDs)
	return r.read(r.rowsByID(slices.Compact(rowIDs), r.where))
}

// leadingBatch is how many rows are looked at between two decisions to go on.
const leadingBatch = 128

// leading reads the rows of the highest scores, as many as Rank needs. It
// looks at them from the best fit on, and stops where no later one can have
// the score of the last that is needed.
func (r *recall) leading(q *memory.Question, found []fit, now time.Time) ([]memory.Candidate, error) {
	tagged, err := r.tagged()
	if err != nil {
		return nil, err
	}
	if tagged != nil {
		found = slices.DeleteFunc(found, func(h fit) bool { return !tagged[h.rowID] })
	}
	leaders := topk.New(q.Pool(), leader.before)
	rest := bestFirst(found)
	heap.Init(&rest)
	for len(rest) > 0 {
		if leaders.Full() && q.Relevance(rest[0].weights) < leaders.Worst().score {
			break
		}
		batch := make(map[int64]float64)
		for len(rest) > 0 && len(batch) < leadingBatch {
			h := heap.Pop(&rest).(fit)
			batch[h.rowID] = h.weights
		}
		scored, err := r.score(q, batch, now)
		if err != nil {
			return nil, err
		}
		for _, l := range scored {
			leaders.Add(l)
		}
	}
	var rowIDs []int64
	for _, l := range leaders.Ranked() {
		rowIDs = append(rowIDs, l.rowID)
	}
	return r.read(r.rowsByID(rowIDs, r.where))
}

// bestFirst is a heap with the best fit at the top.
type bestFirst []fit

func (h bestFirst) Len() int           { return len(h) }
func (h bestFirst) Less(i, j int) bool { return h[i].weights > h[j].weights }
func (h bestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *bestFirst) Push(x any)        { *h = append(*h, x.(fit)) }
func (h *bestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// tagged returns the rows that have any of the tags that the query calls for;
// nil where it calls for none.
func (r *recall) tagged() (map[int64]bool, error) {
	if len(r.query.Tags) == 0 {
		return nil, nil
	}
	rows := make(map[int64]bool)
	for _, tag := range r.query.Tags {
		var id int64
		known, err := r.find(&id, lookUpTag, tag)
		if err != nil {
			return nil, err
		}
		if known {
			if err := r.tx.holders(rows, anyOf(inTags, id)); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}

// score returns those rows of the batch that pass the filter, with their
// scores. It reads no more of them than the score depends on.
func (r *recall) score(q *memory.Question, batch map[int64]float64, now time.Time) (scored []leader, err error) {
	list, err := json.Marshal(slices.Collect(maps.Keys(batch)))
	if err != nil {
		return nil, err
	}
	among := where("s.row_id IN (SELECT value FROM json_each(?))", string(list)).and(r.where)
	var n numbers
	columns := n.columns()
	err = r.each(func(rows *sqlx.Rows) error {
		if err := rows.Scan(columns...); err != nil {
			return err
		}
		if r.strong(&n, now) {
			relevance := q.Relevance(batch[n.rowID])
			scored = append(scored, leader{n.rowID, n.position, q.Score(n.entry(), relevance, now), relevance})
		}
		return nil
	}, `
		SELECT `+numbersOf+`
		FROM entry_state AS s CROSS JOIN entry AS e USING (row_id) `+among.sql(), among.args...)
	return scored, err
}

// surroundings are those of the query, by SQL.
type surroundings struct {
	*recall
	holders [][]int64 // the rows that hold each term, in order
	among   map[string]*memory.Holders
}

// lenders returns which rows others of the root stand among, as tables and
// condition.
func (s *surroundings) lenders(root string) (from string, c condition) {
	from = "FROM entry_state AS s "
	seen := within(s.scope).and(upTo(s.query.MaxConfidentiality))
	if len(seen.terms) > 0 {
		from += "CROSS JOIN entry AS e USING (row_id) "
	}
	return from, where("s.root = ?", root).and(seen)
}

// Around implements [memory.Surroundings].
func (s *surroundings) Around(c *memory.Candidate, n int) ([]memory.Candidate, error) {
	from, lenders := s.lenders(memory.Root(c.Entry.Agent))
	side := func(beyond, order string) (rowIDs []int64, err error) {
		along := lenders.and(where(beyond, nanos(c.Entry.CreatedAt), c.Position))
		err = s.collect(&rowIDs, `SELECT s.row_id `+from+along.sql()+order+` LIMIT ?`, append(along.args, n)...)
		return rowIDs, err
	}
	before, err := side("(s.created_at, s.position) < (?, ?)", " ORDER BY s.created_at DESC, s.position DESC")
	if err != nil {
		return nil, err
	}
	after, err := side("(s.created_at, s.position) > (?, ?)", " ORDER BY s.created_at, s.position")
	if err != nil {
		return nil, err
	}
	run, err := s.read(s.rowsByID(append(before, after...), condition{}))
	if err != nil {
		return nil, err
	}
	run = append(run, *c)
	slices.SortFunc(run, func(a, b memory.Candidate) int {
		return cmp.Or(a.Entry.CreatedAt.Compare(b.Entry.CreatedAt), cmp.Compare(a.Position, b.Position))
	})
	return run, nil
}

// Among implements [memory.Surroundings].
func (s *surroundings) Among(root string) (*memory.Holders, error) {
	if known := s.among[root]; known != nil {
		return known, nil
	}
	var list []byte
	from, lenders := s.lenders(root)
	if err := s.get(&list, `SELECT group_concat(s.row_id) `+from+lenders.sql(), lenders.args...); err != nil {
		return nil, err
	}
	rows := appendIDs(nil, list)
	slices.Sort(rows)
	among := &memory.Holders{Entries: len(rows), Terms: make([]int, len(s.holders))}
	for i, holders := range s.holders {
		among.Terms[i] = shared(rows, holders)
	}
	if s.among == nil {
		s.among = make(map[string]*memory.Holders)
	}
	s.among[root] = among
	return among, nil
}

// shared counts the numbers that two ordered lists share.
func shared(a, b []int64) (n int) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			a = a[1:]
		case a[0] > b[0]:
			b = b[1:]
		default:
			n, a, b = n+1, a[1:], b[1:]
		}
	}
	return n
}
