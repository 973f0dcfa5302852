package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// Recall is the algorithm of heartbit's in-memory store with the rules of
// loopmem: filter, count the words, score, sort, follow links once.
func (s *scan) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	hits, err := s.rank(ctx, query)
	if err != nil {
		return memory.Recollection{}, err
	}
	s.touch(hits, !query.NoReinforce)
	return memory.Recollection{Hits: hits}, nil
}

// rank answers the query and changes nothing.
func (s *scan) rank(_ context.Context, query memory.Query) ([]memory.Hit, error) {
	if err := query.Validate(); err != nil {
		return nil, err
	}
	if query.Ranking == memory.RankingQuestion {
		return s.answer(&query)
	}
	q := recall{scan: s, Query: query, tokens: query.Tokens()}
	if q.Limit == 0 {
		q.Limit = len(s.records)
	}
	q.collect()
	q.score()
	results := q.best()
	if linked := q.linked(results); len(linked) > 0 {
		all := append(slices.Clone(results), linked...)
		slices.SortFunc(all, better[float64])
		results = all[:min(q.Limit, len(all))]
	}
	hits := make([]memory.Hit, len(results))
	for i, x := range results {
		hits[i] = memory.Hit{Entry: x.entry.Clone(), Score: x.score, Matched: x.matched}
		hits[i].Entry.Touch(now, !q.NoReinforce)
	}
	return hits, nil
}

// answer answers a question as the specification does, to which nothing of
// another store compares.
func (s *scan) answer(query *memory.Query) ([]memory.Hit, error) {
	all := make([]memory.Candidate, len(s.records))
	for i, r := range s.records {
		all[i] = memory.Candidate{Entry: r.entry, Position: int64(i)}
	}
	hits, err := query.Answer(now, all, func(ids []uuid.UUID) (linked []memory.Candidate, err error) {
		for _, c := range all {
			if slices.Contains(ids, c.Entry.ID) {
				linked = append(linked, c)
			}
		}
		return linked, nil
	})
	for i := range hits {
		hits[i].Entry = hits[i].Entry.Clone()
	}
	return hits, err
}

// recall is one run of Recall.
type recall struct {
	*scan
	memory.Query
	tokens     []string
	candidates []candidate
	meanLength float64
	highest    float64 // bm25 of a candidate, at least 1
	fused      bool
}

// candidate is an entry that may be part of the answer.
type candidate struct {
	*record
	position  int
	frequency []int // of each token
	matched   bool
	length    int // in pieces
	bm25      float64
	relevance float64
}

// collect finds the candidates. The tuned scan passes over an entry that does
// not match without allocating anything.
func (q *recall) collect() {
	for i, r := range q.records {
		if !q.Filter.Matches(&r.entry, now) {
			continue
		}
		t := q.read(r)
		vector := len(q.Embedding) > 0 && len(r.entry.Embedding) > 0
		matched := q.matches(&t)
		if len(q.tokens) == 0 || matched || vector {
			q.fused = q.fused || vector
			q.candidates = append(q.candidates, q.count(r, i, &t, matched))
		}
	}
}

// read returns the texts of an entry as far as matching needs them.
func (q *recall) read(r *record) texts {
	if r.texts != nil {
		return *r.texts
	}
	t := texts{memory: memory.Lower(r.entry.Memory), keywords: loweredKeywords(&r.entry)}
	if q.ExactWords {
		t.pieces = strings.Fields(t.memory)
		t.words = wordsOf(t.pieces)
	}
	return t
}

func (q *recall) matches(t *texts) bool {
	for _, token := range q.tokens {
		inText := q.ExactWords && slices.Contains(t.words, token) || !q.ExactWords && strings.Contains(t.memory, token)
		if inText || q.inKeywords(t, token) {
			return true
		}
	}
	return false
}

func (q *recall) inKeywords(t *texts, token string) bool {
	if !q.ExactWords {
		return containsPart(t.keywords, token)
	}
	return slices.ContainsFunc(t.keywords, func(keyword string) bool {
		return slices.Contains(wordsOf(strings.Fields(keyword)), token)
	})
}

// count makes a candidate of an entry.
func (q *recall) count(r *record, position int, t *texts, matched bool) candidate {
	pieces := t.pieces
	if pieces == nil {
		pieces = strings.Fields(t.memory)
	}
	c := candidate{record: r, position: position, matched: matched, length: len(pieces)}
	if !matched {
		return c
	}
	c.frequency = make([]int, len(q.tokens))
	for i, token := range q.tokens {
		if q.ExactWords {
			for _, word := range t.words {
				if word == token {
					c.frequency[i]++
				}
			}
		} else {
			for _, piece := range pieces {
				if strings.Contains(piece, token) {
					c.frequency[i]++
				}
			}
		}
		if q.inKeywords(t, token) {
			c.frequency[i] += 2
		}
	}
	return c
}

// score sets the relevance of all candidates.
func (q *recall) score() {
	total := 0
	for i := range q.candidates {
		total += q.candidates[i].length
	}
	q.meanLength = max(float64(total)/float64(max(len(q.candidates), 1)), 1)
	q.highest = 1
	for i := range q.candidates {
		c := &q.candidates[i]
		c.bm25 = q.bm25(c)
		q.highest = max(q.highest, c.bm25)
	}
	for i := range q.candidates {
		q.candidates[i].relevance = q.candidates[i].bm25 / q.highest
	}
	if q.fused {
		q.fuse()
	}
}

func (q *recall) bm25(c *candidate) float64 {
	const k1, b = 1.2, 0.75
	norm := float64(k1 * float64((1-b)+float64(float64(b*float64(c.length))/q.meanLength)))
	sum := 0.0
	for _, n := range c.frequency {
		sum += float64(float64(n)*(k1+1)) / float64(float64(n)+norm)
	}
	return sum
}

// fuse replaces relevance by the reciprocal ranks of text and vector.
func (q *recall) fuse() {
	type value struct {
		candidate int
		value     float64
	}
	var byText, byVector []value
	for i := range q.candidates {
		c := &q.candidates[i]
		c.relevance = 0
		if c.bm25 > 0 {
			byText = append(byText, value{i, c.bm25})
		}
		if len(c.entry.Embedding) > 0 {
			byVector = append(byVector, value{i, memory.Cosine(q.Embedding, c.entry.Embedding)})
		}
	}
	for _, list := range [][]value{byText, byVector} {
		slices.SortFunc(list, func(a, b value) int {
			return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.candidate, b.candidate))
		})
		for rank, v := range list {
			q.candidates[v.candidate].relevance += 1 / float64(50+rank+1)
		}
	}
	highest := 0.0
	for i := range q.candidates {
		highest = max(highest, q.candidates[i].relevance)
	}
	for i := range q.candidates {
		q.candidates[i].relevance /= highest
	}
}

// best ranks the candidates by the composite score.
func (q *recall) best() []result[float64] {
	best := ranked[float64]{limit: q.Limit, tuned: q.tuned}
	for i := range q.candidates {
		best.add(q.result(&q.candidates[i]))
	}
	return best.best()
}

func (q *recall) result(c *candidate) result[float64] {
	recency := 1.0
	if age := hours(now.Sub(c.entry.CreatedAt)); age > 0 {
		recency = math.Exp(float64(-0.01 * age))
	}
	importance := float64(min(max(c.entry.Importance, 1), 10)-1) / 9
	score := float64(0.25 * recency)
	score += float64(0.25 * importance)
	score += float64(0.3 * min(max(c.relevance, 0), 1))
	score += float64(0.2 * c.entry.EffectiveStrength(now))
	return result[float64]{record: c.record, position: c.position, score: score, matched: c.matched}
}

// linked returns what the results are linked to and do not contain.
func (q *recall) linked(results []result[float64]) []result[float64] {
	known := make(map[uuid.UUID]bool)
	for _, x := range results {
		known[x.entry.ID] = true
	}
	reach := memory.Filter{Agent: q.Agent, AgentPrefix: q.AgentPrefix, MinStrength: q.MinStrength, MaxConfidentiality: q.MaxConfidentiality}
	var linked []result[float64]
	for _, x := range results {
		for _, id := range x.entry.RelatedIDs {
			r := q.byID[id]
			if known[id] || r == nil || !reach.Matches(&r.entry, now) {
				continue
			}
			known[id] = true
			t := q.read(r)
			c := q.count(r, slices.Index(q.records, r), &t, q.matches(&t))
			c.relevance = q.bm25(&c) / q.highest
			linked = append(linked, q.result(&c))
		}
	}
	return linked
}

// hours is d in whole seconds, as hours.
func hours(d time.Duration) float64 { return float64(d/time.Second) / 3600 }
