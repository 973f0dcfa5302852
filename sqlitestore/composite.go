package sqlitestore

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// composite answers by memory.RankingComposite. All candidates are weighed,
// but only the best of them are read whole.
func (r *recall) composite(now time.Time) ([]memory.Hit, error) {
	c := r.query.Composite()
	best, err := r.compositeBest(c, now)
	if err != nil {
		return nil, err
	}
	candidates, relevance, err := readWith(r, best)
	if err != nil {
		return nil, err
	}
	return c.Rank(now, candidates, relevance, r.follow)
}

// compositeBest returns the rows of the highest scores with their relevance.
func (r *recall) compositeBest(c *memory.Composite, now time.Time) (map[int64]float64, error) {
	if r.mirror != nil {
		cosines, err := r.cosines()
		if err != nil {
			return nil, err
		}
		return r.mirror.Composite(c, r.query, cosines, r.scope.Contains, now), nil
	}
	rows, readings, err := r.candidates(c, now)
	if err != nil {
		return nil, err
	}
	relevance := c.Weigh(readings)
	limit := r.query.Limit
	if limit == 0 {
		limit = len(rows)
	}
	best := topk.New(limit, leader.before)
	for i := range rows {
		best.Add(leader{rows[i].rowID, rows[i].position, c.Score(rows[i].entry(), relevance[i], now), relevance[i]})
	}
	leaders := make(map[int64]float64)
	for _, l := range best.Ranked() {
		leaders[l.rowID] = l.relevance
	}
	return leaders, nil
}

// numbers are what the score of a row is made of, beside its relevance. Times
// are in nanoseconds since 1970.
type numbers struct {
	rowID, position         int64
	createdAt, strengthBase int64
	strength                float64
	importance              uint8
}

// numbersOf are their columns.
const numbersOf = `s.row_id, s.position, s.created_at, s.strength_base, s.strength, e.importance`

func (n *numbers) columns() []any {
	return []any{&n.rowID, &n.position, &n.createdAt, &n.strengthBase, &n.strength, &n.importance}
}

// entry returns one of nothing else.
func (n *numbers) entry() *memory.Entry {
	return &memory.Entry{
		CreatedAt: fromNanos(n.createdAt), LastAccessed: new(fromNanos(n.strengthBase)),
		Strength: n.strength, Importance: n.importance,
	}
}

// leader is a row that may be among the best.
type leader struct {
	rowID     int64
	position  int64
	score     float64
	relevance float64
}

func (a leader) before(b leader) bool {
	return topk.Higher(a.score, b.score, a.position, b.position)
}

// candidates returns the rows that match and pass the filter, and what each
// says of the query.
func (r *recall) candidates(c *memory.Composite, now time.Time) (rows []numbers, readings []memory.Reading, err error) {
	among, err := r.mayMatch(c.Tokens())
	if err != nil {
		return nil, nil, err
	}
	tagged, err := r.tagged()
	if err != nil {
		return nil, nil, err
	}
	var one numbers
	var keywords, vector sql.RawBytes
	var e memory.Entry
	columns := append(one.columns(), &keywords, &e.Memory, &vector)
	err = r.each(func(found *sqlx.Rows) (err error) {
		if err := found.Scan(columns...); err != nil {
			return err
		}
		if tagged != nil && !tagged[one.rowID] || !r.strong(&one, now) {
			return nil
		}
		if e.Keywords, err = decodeList(string(keywords)); err != nil {
			return cannotRead(fmt.Sprint("row ", one.rowID), err)
		}
		e.Embedding = appendVector(e.Embedding[:0], vector)
		if reading, ok := c.Read(&e, one.position); ok {
			rows, readings = append(rows, one), append(readings, reading)
		}
		return nil
	}, `
		SELECT `+numbersOf+`, iif(?1, e.keywords, '[]'), iif(?1, e.memory, ''),
		       iif(?2, (SELECT vector FROM embedding AS v WHERE v.row_id = e.row_id), NULL)
		FROM entry AS e JOIN entry_state AS s USING (row_id) `+among.sql(),
		append([]any{len(c.Tokens()) > 0, len(r.query.Embedding) > 0}, among.args...)...)
	return rows, readings, err
}

// strong decides what SQL leaves open of a filter besides tags: the last bit of
// the strength.
func (r *recall) strong(n *numbers, now time.Time) bool {
	return r.query.MinStrength == nil || n.entry().EffectiveStrength(now) >= *r.query.MinStrength
}

// mayMatch is the condition of the rows to look at: those whose text may match
// or that have an embedding to compare, as far as they pass.
func (r *recall) mayMatch(tokens []string) (condition, error) {
	rowIDs, all, err := r.holders(tokens)
	if all || err != nil {
		return r.where, err
	}
	if len(r.query.Embedding) > 0 {
		embedded, err := r.embedded()
		if err != nil {
			return condition{}, err
		}
		for _, id := range embedded {
			rowIDs[id] = true
		}
	}
	list, err := json.Marshal(slices.Sorted(maps.Keys(rowIDs)))
	return where("e.row_id IN (SELECT value FROM json_each(?))", string(list)).and(r.where), err
}

// holders returns the rows that hold any of the tokens, or reports that all
// are to be looked at: there are no tokens, or too many pieces are made of them.
func (r *recall) holders(tokens []string) (rows map[int64]bool, all bool, err error) {
	if len(tokens) == 0 {
		return nil, true, nil
	}
	now, err := r.standing()
	if err != nil {
		return nil, false, err
	}
	many := manyPieces(int(now.Entries))
	rows = make(map[int64]bool)
	for _, word := range tokens {
		pieces, err := r.pieces(word, r.query.ExactWords, many)
		if err != nil {
			return nil, false, err
		}
		if len(pieces) > many {
			return nil, true, nil
		}
		if err := r.tx.holders(rows, anyOf(inText+inKeyword, pieces...)); err != nil {
			return nil, false, err
		}
	}
	return rows, false, nil
}
