package sqlitestore

import (
	"context"
	"fmt"
)

// Size is what a part of the database takes of its file.
type Size struct {
	// Name is that of the table or index, as in the schema. Those that end in
	// _data, _idx, _docsize or _config are parts of an FTS5 table.
	Name string `json:"name" db:"name"`
	// Bytes are those of all its pages, free room in them included.
	Bytes int64 `json:"bytes" db:"bytes"`
}

// Sizes tells what each table and index takes, the largest first. It reads
// the whole file.
func (s *Store) Sizes(ctx context.Context) (sizes []Size, err error) {
	err = s.view(ctx, func(t *tx) error {
		return t.collect(&sizes, `
			SELECT name, sum(pgsize) AS bytes
			FROM dbstat
			GROUP BY name
			ORDER BY bytes DESC, name`)
	})
	if err != nil {
		return nil, fmt.Errorf("sizes: %w", err)
	}
	return sizes, nil
}
