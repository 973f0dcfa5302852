package sqlitestore

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// The driver brings sqlite-vec along, but vectors are read and compared in Go,
// by memory.Cosine. Reciprocal Rank Fusion needs the rank of every candidate,
// the same in every store, and sqlite-vec computes in float32: over 10,000
// random vectors of 384 dimensions, 38 ranks came out otherwise. That settles
// it against speed: for the full order, vec_distance_cosine took two thirds of
// the time of a scan in Go, of which comparing is less than a tenth and
// reading the rest, which the mirror does once and for all. The index of the virtual table vec0 is faster still for
// the best ten, but ends at 4,096 results, and would be a second copy of all
// vectors to keep in step.

// EmbeddingModel implements [memory.EmbeddingStore].
func (s *Store) EmbeddingModel(ctx context.Context) (model memory.Model, err error) {
	err = s.view(ctx, func(t *tx) error {
		model, err = t.boundModel()
		return err
	})
	return model, err
}

// boundModel reads which model the store is bound to; the zero Model is none.
func (t *tx) boundModel() (memory.Model, error) {
	var bound struct {
		Name       *string `db:"embedding_model"`
		Dimensions *int    `db:"embedding_dimensions"`
	}
	err := t.get(&bound, `SELECT embedding_model, embedding_dimensions FROM store`)
	if err != nil || bound.Name == nil || bound.Dimensions == nil {
		return memory.Model{}, err
	}
	return memory.Model{Name: *bound.Name, Dimensions: *bound.Dimensions}, nil
}

// BindEmbeddingModel implements [memory.EmbeddingStore]. Where the model is
// bound already, it does not wait for the write lock.
func (s *Store) BindEmbeddingModel(ctx context.Context, model memory.Model) error {
	if err := model.Validate(); err != nil {
		return err
	}
	bound, err := s.EmbeddingModel(ctx)
	if err != nil {
		return err
	}
	if bound != (memory.Model{}) {
		return bound.Match(model)
	}
	return s.write(ctx, func(w *writeTx) error { return w.bindModel(model) })
}

func (w *writeTx) bindModel(model memory.Model) error {
	bound, err := w.boundModel()
	if err != nil {
		return err
	}
	if bound != (memory.Model{}) {
		return bound.Match(model)
	}
	var misfit struct {
		ID     uuid.UUID `db:"id"`
		Length int       `db:"length"`
	}
	found, err := w.find(&misfit, `
		SELECT id, length(vector) AS length FROM embedding JOIN entry USING (row_id)
		WHERE length(vector) <> ? LIMIT 1`, model.Dimensions*componentSize)
	if err != nil {
		return err
	}
	if found {
		err := model.Fits(make([]float32, misfit.Length/componentSize))
		return fmt.Errorf("bind, with entry %s stored before: %w", misfit.ID, err)
	}
	if _, err := w.bump(); err != nil {
		return err
	}
	_, err = w.exec(`UPDATE store SET embedding_model = ?, embedding_dimensions = ?`, model.Name, model.Dimensions)
	return err
}

// fitModel refuses embeddings that the bound model cannot have made.
func (w *writeTx) fitModel(entries ...memory.Entry) error {
	if !slices.ContainsFunc(entries, func(e memory.Entry) bool { return len(e.Embedding) > 0 }) {
		return nil
	}
	bound, err := w.boundModel()
	if err != nil {
		return err
	}
	for i := range entries {
		if err := bound.Fits(entries[i].Embedding); err != nil {
			return fmt.Errorf("entry %s: %w", entries[i].ID, err)
		}
	}
	return nil
}

// dropMisfit takes away an embedding that fitModel would refuse.
func (w *writeTx) dropMisfit(e *memory.Entry) error {
	bound, err := w.boundModel()
	if err == nil && bound.Fits(e.Embedding) != nil {
		e.Embedding = nil
	}
	return err
}

// Unembedded implements [memory.EmbeddingStore].
func (s *Store) Unembedded(ctx context.Context) (ids []uuid.UUID, err error) {
	missing := where("NOT EXISTS (SELECT 1 FROM embedding AS v WHERE v.row_id = e.row_id)").and(within(s.scope))
	err = s.view(ctx, func(t *tx) error {
		return t.collect(&ids, `SELECT e.id FROM entry AS e JOIN entry_state AS s USING (row_id) `+missing.sql()+inOrder, missing.args...)
	})
	if err != nil {
		return nil, fmt.Errorf("find entries without embedding: %w", err)
	}
	return ids, nil
}

// SetEmbeddings implements [memory.EmbeddingStore]: one transaction.
func (s *Store) SetEmbeddings(ctx context.Context, model memory.Model, embeddings []memory.Embedded) (set int, err error) {
	if err := memory.CheckEmbeddings(model, embeddings); err != nil {
		return 0, fmt.Errorf("set embeddings: %w", err)
	}
	err = s.write(ctx, func(w *writeTx) error {
		if err := w.bindModel(model); err != nil {
			return err
		}
		for _, e := range embeddings {
			rows, err := w.rows(where("e.id = ?", e.ID[:]).and(where("e.version = ?", int64(e.Version))).and(within(s.scope)), "")
			if err != nil {
				return err
			}
			for i := range rows {
				if err := w.replaceEmbedding(&rows[i], e.Vector); err != nil {
					return err
				}
				set++
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("set embeddings: %w", err)
	}
	return set, nil
}

// dropAtOnce is how many embeddings one transaction drops, so that others can
// write in between.
const dropAtOnce = 500

// DropEmbeddings implements [memory.EmbeddingStore]. The archive loses its
// embeddings too: one that is restored later would be compared with those of
// another model. The last of the transactions finds no embedding any more and
// unbinds the model.
func (s *Store) DropEmbeddings(ctx context.Context) error {
	for more := true; more; {
		err := s.write(ctx, func(w *writeTx) (err error) {
			if !s.scope.Whole() {
				return memory.ErrScope
			}
			more, err = w.dropSomeEmbeddings()
			return err
		})
		if err != nil {
			return fmt.Errorf("drop embeddings: %w", err)
		}
	}
	return nil
}

// dropSomeEmbeddings reports whether it found any.
func (w *writeTx) dropSomeEmbeddings() (found bool, err error) {
	rows, err := w.rows(where("e.row_id IN (SELECT row_id FROM embedding LIMIT ?)", dropAtOnce), "")
	if err != nil {
		return false, err
	}
	for i := range rows {
		if err := w.replaceEmbedding(&rows[i], nil); err != nil {
			return false, err
		}
	}
	if len(rows) > 0 {
		return true, nil
	}
	if found, err = w.dropArchivedEmbeddings(); found || err != nil {
		return found, err
	}
	if _, err := w.bump(); err != nil {
		return false, err
	}
	_, err = w.exec(`UPDATE store SET embedding_model = NULL, embedding_dimensions = NULL`)
	return false, err
}

// dropArchivedEmbeddings does the same with a portion of the archive. What is
// damaged there is not to look sound afterwards.
func (w *writeTx) dropArchivedEmbeddings() (found bool, err error) {
	var rows []archivedRow
	// Within a string of JSON, the quotes would be escaped.
	err = w.collect(&rows, selectArchived+`WHERE instr(entry, ',"embedding":[') > 0 LIMIT ?`, dropAtOnce)
	if err != nil {
		return false, err
	}
	for i := range rows {
		r := &rows[i]
		a, err := r.decode()
		if err != nil {
			return false, err
		}
		if r.damage() != 0 {
			return false, fmt.Errorf("%w: archived entry %d is not what was archived", ErrCorrupt, r.ArchiveID)
		}
		a.Entry.Embedding = nil
		r.Entry = string(a.Entry.AppendJSON(nil))
		if _, err := w.exec(`UPDATE archive SET entry = ?, checksum = ? WHERE archive_id = ?`, r.Entry, r.sum(), r.ArchiveID); err != nil {
			return false, err
		}
	}
	return len(rows) > 0, nil
}

// replaceEmbedding is replaceContent for a change of the vector alone, of
// which no index knows.
func (w *writeTx) replaceEmbedding(old *row, vector []float32) error {
	version, err := w.bump(old.rowID)
	if err != nil {
		return err
	}
	changed := old.entry
	changed.Embedding = vector
	sum := contentSum(&changed) ^ old.contentDamage()
	_, err = w.exec(`UPDATE entry SET version = ?, checksum = ? WHERE row_id = ?`, version, sum, old.rowID)
	if err != nil {
		return err
	}
	w.tally.change(old.contentSum, sum)
	return w.putEmbedding(old.rowID, vector)
}

// putEmbedding sets the embedding of a row; no vector is none.
func (w *writeTx) putEmbedding(rowID int64, vector []float32) error {
	if len(vector) == 0 {
		_, err := w.exec(`DELETE FROM embedding WHERE row_id = ?`, rowID)
		return err
	}
	_, err := w.exec(`
		INSERT INTO embedding (row_id, vector) VALUES (?, ?)
		ON CONFLICT (row_id) DO UPDATE SET vector = excluded.vector`, rowID, encodeVector(vector))
	return err
}
