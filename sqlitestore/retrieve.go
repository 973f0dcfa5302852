package sqlitestore

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/mirror"
	"github.com/loopmem/loopmem/sqlitestore/internal/topk"
)

// Retrieve implements [memory.LoopMemory]. The access stamps are written
// shortly after the answer, in one write for all that come together.
func (s *Store) Retrieve(ctx context.Context, query string, limit int) ([]memory.Match, error) {
	if limit < 0 {
		return nil, fmt.Errorf("%w: limit is %d; it must not be negative", memory.ErrInvalid, limit)
	}
	if limit == 0 {
		return nil, ctx.Err()
	}
	r := retrieval{query: memory.NewRetrieveQuery(query), scope: s.scope}
	if !s.settings.Restricted {
		below := memory.Restricted - 1
		r.scope = r.scope.In(memory.Scope{MaxConfidentiality: &below})
	}
	var ranked []mirror.Match
	var rows map[int64]row
	err := s.viewMirrored(ctx, func(t *tx, m *mirror.Mirror) (err error) {
		r.tx = t
		r.best = topk.New(limit, mirror.Match.Before)
		if ranked, err = r.answer(m, limit); err != nil {
			return err
		}
		rows, err = s.fetch(t, m, ranked)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("retrieve: %w", err)
	}
	now := s.settings.Now().UTC().Round(0)
	stamps := make(map[int64]time.Time)
	var matches []memory.Match
	for _, hit := range ranked {
		matches = append(matches, memory.Match{Entry: rows[hit.RowID].entry, Score: hit.Score, Matched: hit.Matched})
		if hit.Matched && !s.options.Uncounted {
			stamps[hit.RowID] = now
		}
	}
	s.putOff(backlog{stamps: stamps})
	return matches, nil
}

// retrieval is one run of Retrieve on a snapshot. There are two ways to the
// best rows, and neither looks at all of them:
//
//   - From the index: the rows that hold a word or a tag, counted word by
//     word, and the most relevant others to fill the result. The cost grows
//     with the number of rows that match.
//   - By relevance: the rows in that order, until no later one can be better
//     than those found. The cost grows with the number of rows before enough
//     have matched, which is small where many match.
//
// For a word in a share p of N rows, that is about p*N rows against limit/p;
// taking the smaller never costs more than the square root of limit*N.
type retrieval struct {
	*tx
	query memory.RetrieveQuery
	scope memory.Scope
	best  *topk.Best[mirror.Match]

	words []word
	tags  []int64 // ids of the tags that contain the phrase
}

// word is a distinct word of the query.
type word struct {
	text   string
	weight int     // how often the query has it
	pieces []int64 // the pieces that contain it
	// unlisted is set while pieces is not known: the word is too short for
	// the trigram index, or so short a part of words that a list is too long.
	unlisted bool
}

// answer returns the result, from the mirror if there is one that can tell.
func (r *retrieval) answer(m *mirror.Mirror, limit int) ([]mirror.Match, error) {
	if m != nil {
		if ranked, ok := m.Retrieve(&r.query, r.scope.Contains, limit); ok {
			return ranked, nil
		}
	}
	err := r.run(limit)
	return r.best.Ranked(), err
}

func (r *retrieval) run(limit int) error {
	var rows int // the highest position, which is close enough and free
	if err := r.get(&rows, `SELECT ifnull(max(position), 0) FROM entry_state`); err != nil {
		return err
	}
	budget := walkBudget(limit, rows)
	if err := r.lookUp(manyPieces(budget)); err != nil {
		return err
	}
	// Where few rows match, the index is short, and where many do, the walk.
	// Which it is shows soon; until then, trying both a little further costs a
	// part of the last try.
	for some := max(tryFirst, 2*r.fewestPostings()); ; some *= 4 {
		some = min(some, budget)
		if hits, all, err := r.hits(some); err != nil {
			return err
		} else if all {
			return r.fromIndex(hits)
		}
		if done, err := r.byRelevance(some); done || err != nil {
			return err
		}
		if some == budget {
			break
		}
	}
	if err := r.lookUpRest(manyPieces(rows)); err != nil {
		return err
	}
	if hits, all, err := r.hits(math.MaxInt); err != nil {
		return err
	} else if all {
		return r.fromIndex(hits)
	}
	_, err := r.byRelevance(math.MaxInt)
	return err
}

// lookUp finds the words of the query in the vocabulary, but for the short
// ones and those that are part of too many, and its phrase among the tags.
func (r *retrieval) lookUp(many int) error {
	for _, text := range r.query.Words {
		if i := slices.IndexFunc(r.words, func(w word) bool { return w.text == text }); i >= 0 {
			r.words[i].weight++
			continue
		}
		w := word{text: text, weight: 1, unlisted: utf8.RuneCountInString(text) < trigramLength}
		if !w.unlisted {
			if err := r.list(&w, many); err != nil {
				return err
			}
		}
		r.words = append(r.words, w)
	}
	if r.query.Phrase == "" {
		return nil
	}
	return r.collect(&r.tags, `SELECT tag_id FROM tag WHERE instr(lowered, ?)`, r.query.Phrase)
}

// lookUpRest finds the other words too; the short ones by reading the whole
// vocabulary.
func (r *retrieval) lookUpRest(many int) error {
	for i := range r.words {
		if w := &r.words[i]; w.unlisted {
			if err := r.list(w, many); err != nil {
				return err
			}
		}
	}
	return nil
}

// list finds the pieces that contain the word, unless there are too many.
func (r *retrieval) list(w *word, many int) (err error) {
	w.pieces, err = r.pieces(w.text, false, many)
	w.unlisted = len(w.pieces) > many
	return err
}

// walkBudget is how many rows a walk by relevance may look at before reading
// the postings would have been cheaper, given how many rows there are.
func walkBudget(limit, rows int) int {
	return max(tryFirst, 2*int(math.Sqrt(float64(limit)*float64(rows))))
}

// tryFirst is how many rows both ways look at, before either goes further.
const tryFirst = 100

// hit is what the index says of a row.
type hit struct {
	weight int // of the words it holds
	tag    bool
	last   int // the latest word counted, so that none counts twice
}

// fewestPostings is how many there are at least: some entry has each piece.
func (r *retrieval) fewestPostings() (n int) {
	for _, w := range r.words {
		n += len(w.pieces)
	}
	return n + len(r.tags)
}

// hits reads the postings of all words and tags. It gives up, and reports
// false, at a word without a list or when there are more than limit.
func (r *retrieval) hits(limit int) (found map[int64]*hit, all bool, err error) {
	found = make(map[int64]*hit)
	read := 0
	count := func(queries iter.Seq[string], visit func(*hit)) error {
		return r.eachHolder(queries, func(rowID int64) error {
			if read++; read > limit {
				return errEnough
			}
			h := found[rowID]
			if h == nil {
				h = &hit{last: -1}
				found[rowID] = h
			}
			visit(h)
			return nil
		})
	}
	for i, w := range r.words {
		if w.unlisted {
			return nil, false, nil
		}
		err := count(anyOf(inText, w.pieces...), func(h *hit) {
			if h.last != i {
				h.last = i
				h.weight += w.weight
			}
		})
		if err != nil {
			return nil, false, ifNotEnough(err)
		}
	}
	if err := count(anyOf(inTags, r.tags...), func(h *hit) { h.tag = true }); err != nil {
		return nil, false, ifNotEnough(err)
	}
	return found, true, nil
}

func ifNotEnough(err error) error {
	if err == errEnough {
		return nil
	}
	return err
}

// fromIndex ranks the rows that match by what the index says of them, and
// fills up with the most relevant of the others.
func (r *retrieval) fromIndex(hits map[int64]*hit) error {
	r.best.Clear()
	ids, err := json.Marshal(slices.Collect(maps.Keys(hits)))
	if err != nil {
		return err
	}
	among := where("s.row_id IN (SELECT value FROM json_each(?))", string(ids)).and(within(r.scope))
	err = r.each(func(rows *sqlx.Rows) error {
		var c mirror.Match
		var relevance float32
		if err := rows.Scan(&c.RowID, &c.Position, &relevance); err != nil {
			return err
		}
		h := hits[c.RowID]
		c.Score, c.Matched = r.query.Score(relevance, r.overlap(h.weight), h.tag), true
		r.best.Add(c)
		return nil
	}, `
		SELECT s.row_id, s.position, s.relevance
		FROM entry_state AS s CROSS JOIN entry AS e USING (row_id) `+among.sql(), among.args...)
	if err != nil {
		return err
	}
	visible := within(r.scope)
	end := r.endOfWalk(0, false)
	return ifNotEnough(r.each(func(rows *sqlx.Rows) error {
		var c mirror.Match
		var relevance float32
		if err := rows.Scan(&c.RowID, &c.Position, &relevance); err != nil {
			return err
		}
		if ended, err := end(c.Position, relevance); err != nil {
			return err
		} else if ended {
			return errEnough
		}
		if hits[c.RowID] == nil {
			c.Score = r.query.Score(relevance, 0, false)
			r.best.Add(c)
		}
		return nil
	}, `
		SELECT s.row_id, s.position, s.ranked
		FROM entry_state AS s CROSS JOIN entry AS e USING (row_id) `+visible.sql()+mostRelevantFirst,
		visible.args...))
}

const mostRelevantFirst = ` ORDER BY s.ranked DESC, s.position`

// byRelevance ranks rows by their texts in the order of their relevance. It
// reports whether it came to an end within the budget.
func (r *retrieval) byRelevance(budget int) (done bool, err error) {
	r.best.Clear()
	visible := within(r.scope)
	end := r.endOfWalk(r.highestOverlap(), len(r.tags) > 0)
	err = r.each(func(rows *sqlx.Rows) error {
		var c mirror.Match
		var relevance float32
		var text, tags string
		if err := rows.Scan(&c.RowID, &c.Position, &relevance, &text, &tags); err != nil {
			return err
		}
		if done, err = end(c.Position, relevance); err != nil {
			return err
		} else if done {
			return errEnough
		}
		if budget--; budget < 0 {
			return errEnough
		}
		list, err := decodeList(tags)
		if err != nil {
			return err
		}
		overlap := r.query.Overlap(memory.Lower(text))
		tag := r.query.TagMatches(list)
		c.Score, c.Matched = r.query.Score(relevance, overlap, tag), overlap > 0 || tag
		r.best.Add(c)
		return nil
	}, `
		SELECT s.row_id, s.position, s.ranked, e.memory, e.tags
		FROM entry_state AS s CROSS JOIN entry AS e USING (row_id) `+visible.sql()+mostRelevantFirst,
		visible.args...)
	return done || err == nil, ifNotEnough(err)
}

// highestOverlap is that of an entry with every word that any entry has.
func (r *retrieval) highestOverlap() float32 {
	weight := 0
	for _, w := range r.words {
		if w.unlisted || len(w.pieces) > 0 {
			weight += w.weight
		}
	}
	return r.overlap(weight)
}

// overlap is the share of the query's words that have the weight.
func (r *retrieval) overlap(weight int) float32 {
	if len(r.query.Words) == 0 {
		return 0
	}
	return float32(weight) / float32(len(r.query.Words))
}

// endOfWalk returns a function that tells, for the next row of a walk by
// relevance, whether neither it nor any row behind it can get into the
// result, if none can have more than the overlap and tag given.
func (r *retrieval) endOfWalk(overlap float32, tag bool) func(position int64, relevance float32) (bool, error) {
	return func(position int64, relevance float32) (bool, error) {
		if !r.best.Full() {
			return false, nil
		}
		worst := r.best.Worst()
		highest := r.query.Score(relevance, overlap, tag)
		if highest != worst.Score {
			return highest < worst.Score, nil
		}
		// Rows of this relevance can only tie, and come in the order of their
		// positions. Those of the next lower relevance could tie too, where
		// the score rounds the difference away.
		if position < worst.Position {
			return false, nil
		}
		lower, err := r.nextLower(relevance)
		return err == nil && (lower < 0 || r.query.Score(lower, overlap, tag) < highest), err
	}
}

// nextLower returns the highest relevance below the given one that any row
// has, or -1.
func (r *retrieval) nextLower(relevance float32) (lower float32, err error) {
	err = r.get(&lower, `SELECT ifnull(max(ranked), -1) FROM entry_state WHERE ranked < ?`, float64(relevance))
	return lower, err
}

// fetch reads the rows of the result.
func (d *database) fetch(t *tx, m *mirror.Mirror, ranked []mirror.Match) (map[int64]row, error) {
	ids := make([]int64, len(ranked))
	for i := range ranked {
		ids[i] = ranked[i].RowID
	}
	found, err := d.rowsOf(t, m, ids)
	rows := make(map[int64]row, len(found))
	for _, row := range found {
		rows[row.rowID] = row
	}
	return rows, err
}
