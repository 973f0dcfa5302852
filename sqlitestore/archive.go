package sqlitestore

import (
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// forgetArchived removes what the archive has of an entry the handle may see.
func (s *Store) forgetArchived(w *writeTx, id uuid.UUID) error {
	var archived []struct {
		ArchiveID int64  `db:"archive_id"`
		Entry     string `db:"entry"`
	}
	if err := w.collect(&archived, `SELECT archive_id, entry FROM archive WHERE id = ?`, id[:]); err != nil {
		return err
	}
	for _, a := range archived {
		e, err := memory.DecodeJSON([]byte(a.Entry))
		if err == nil && !s.scope.Contains(e.Agent, e.Confidentiality) {
			continue
		}
		if _, err := w.exec(`DELETE FROM archive WHERE archive_id = ?`, a.ArchiveID); err != nil {
			return err
		}
	}
	return nil
}
