package sqlitestore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore/internal/mirror"
)

// Recall implements [memory.Recaller].
func (s *Store) Recall(ctx context.Context, query memory.Query) (result memory.Recollection, err error) {
	if err := query.Validate(); err != nil {
		return result, fmt.Errorf("recall: %w", err)
	}
	r := recall{Store: s, query: &query, rowIDs: make(map[uuid.UUID]int64)}
	now := s.settings.Now().UTC().Round(0)
	err = s.viewMirrored(ctx, func(t *tx, m *mirror.Mirror) error {
		r.tx, r.mirror = t, m
		r.where = passing(&query.Filter, now).and(within(s.scope))
		if query.Ranking == memory.RankingQuestion {
			result.Hits, err = r.question(now)
		} else {
			result.Hits, err = r.composite(now)
		}
		return err
	})
	if err != nil {
		return memory.Recollection{}, fmt.Errorf("recall: %w", err)
	}
	if len(result.Hits) == 0 || s.options.Uncounted {
		return result, nil
	}
	touches := make([]touch, len(result.Hits))
	for i := range result.Hits {
		touches[i] = touch{rowID: r.rowIDs[result.Hits[i].Entry.ID], at: now, reinforce: !query.NoReinforce}
	}
	err = s.writeWithin(ctx, min(deferAfter, s.options.BusyTimeout), func(w *writeTx) error {
		return w.applyPending(backlog{touches: touches})
	})
	if err != nil {
		// The answer stands. What is owed for it is done with the next write.
		s.settings.Logger.Debug("accesses are counted later", "database", s.path, "error", err)
		s.putOff(backlog{touches: touches})
		result.Deferred = true
	}
	return result, nil
}

// recall is one run of Recall on a snapshot.
type recall struct {
	*Store
	*tx
	mirror *mirror.Mirror // nil if there is none
	query  *memory.Query
	where  condition           // what the filter and the scope leave
	rowIDs map[uuid.UUID]int64 // of all rows that were read
}

// readWith reads the rows of which something is said, and returns that beside
// each.
func readWith[T any](r *recall, said map[int64]T) ([]memory.Candidate, []T, error) {
	candidates, err := r.read(r.rowsOf(r.tx, r.mirror, slices.Collect(maps.Keys(said))))
	beside := make([]T, len(candidates))
	for i := range candidates {
		beside[i] = said[r.rowIDs[candidates[i].Entry.ID]]
	}
	return candidates, beside, err
}

// cosines compares the embedding of the query, if it has one, with all there
// are, unless the mirror has them.
func (r *recall) cosines() (map[int64]float64, error) {
	if len(r.query.Embedding) == 0 || r.mirror.KeepsVectors() {
		return nil, nil
	}
	cosines := make(map[int64]float64)
	var vector []float32 // one for all rows
	err := r.each(func(rows *sqlx.Rows) error {
		var rowID int64
		var blob sql.RawBytes
		if err := rows.Scan(&rowID, &blob); err != nil {
			return err
		}
		vector = appendVector(vector[:0], blob)
		cosines[rowID] = memory.Cosine(r.query.Embedding, vector)
		return nil
	}, `SELECT row_id, vector FROM embedding`)
	return cosines, err
}

// embedded returns the rows that have an embedding and pass the filter.
func (r *recall) embedded() (rowIDs []int64, err error) {
	err = r.collect(&rowIDs, `
		SELECT e.row_id
		FROM embedding JOIN entry AS e USING (row_id) JOIN entry_state AS s USING (row_id) `+
		r.where.sql(), r.where.args...)
	return rowIDs, err
}

// follow fetches linked entries; the filter for those is memory's.
func (r *recall) follow(ids []uuid.UUID) ([]memory.Candidate, error) {
	var linked []memory.Candidate
	for _, id := range ids {
		one, err := r.read(r.tx.rows(where("e.id = ?", id[:]).and(within(r.scope)), ""))
		if err != nil {
			return nil, err
		}
		linked = append(linked, one...)
	}
	return linked, nil
}

// read turns rows into candidates and remembers their row ids.
func (r *recall) read(rows []row, err error) ([]memory.Candidate, error) {
	if err != nil {
		return nil, err
	}
	candidates := make([]memory.Candidate, len(rows))
	for i := range rows {
		candidates[i] = rows[i].candidate()
		r.rowIDs[rows[i].entry.ID] = rows[i].rowID
	}
	return candidates, nil
}
