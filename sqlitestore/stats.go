package sqlitestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/jmoiron/sqlx"

	"github.com/loopmem/loopmem/memory"
)

// Stats describe a store at one moment. Counts are of what the scope of the
// handle covers, sizes and the rest are of the whole file.
type Stats struct {
	Entries    int            `json:"entries"`
	ByCategory map[string]int `json:"by_category"`
	ByAgent    map[string]int `json:"by_agent"`
	// ByStrength counts entries by their effective strength now, in tenths: the
	// first are those below 0.1, the last those from 0.9 up to 1.
	ByStrength    [10]int `json:"by_strength"`
	PendingStamps int     `json:"pending_stamps"` // accesses that the next consolidation counts
	Archived      int     `json:"archived"`       // entries that could be restored

	Path             string     `json:"path"`
	FileBytes        int64      `json:"file_bytes"`
	WALBytes         int64      `json:"wal_bytes"` // of the write-ahead log beside the file
	SchemaVersion    int        `json:"schema_version"`
	SQLiteVersion    string     `json:"sqlite_version"`
	LastConsolidated *time.Time `json:"last_consolidated"`
}

// Stats counts and measures the store, on one snapshot.
func (s *Store) Stats(ctx context.Context) (stats Stats, err error) {
	stats.Path = s.path
	err = s.view(ctx, func(t *tx) error {
		visible := within(s.scope)
		var file struct {
			Schema       int    `db:"user_version"`
			Engine       string `db:"engine"`
			Consolidated *int64 `db:"last_consolidated"`
		}
		err := t.get(&file, `
			SELECT user_version, sqlite_version() AS engine, last_consolidated
			FROM store, pragma_user_version`)
		if err != nil {
			return err
		}
		stats.SchemaVersion, stats.SQLiteVersion = file.Schema, file.Engine
		stats.LastConsolidated = fromOptionalNanos(file.Consolidated)
		err = t.get(&stats.PendingStamps,
			`SELECT count(*) FROM access_stamp JOIN entry AS e USING (row_id) `+visible.sql(), visible.args...)
		if err != nil {
			return err
		}
		if stats.Archived, err = s.countArchived(t); err != nil {
			return err
		}
		stats.ByCategory, err = t.countBy("category", visible)
		if err != nil {
			return err
		}
		if stats.ByAgent, err = t.countBy("agent", visible); err != nil {
			return err
		}
		stats.ByStrength, err = t.countByStrength(s.settings.Now(), visible)
		for _, n := range stats.ByCategory {
			stats.Entries += n
		}
		return err
	})
	if err != nil {
		return Stats{}, fmt.Errorf("stats: %w", err)
	}
	if s.identity == nil {
		return stats, nil
	}
	if stats.FileBytes, err = sizeOf(s.path); err != nil {
		return Stats{}, err
	}
	stats.WALBytes, err = sizeOf(s.path + "-wal")
	return stats, err
}

// countBy counts entries by a text column of the table entry.
func (t *tx) countBy(column string, c condition) (map[string]int, error) {
	var groups []struct {
		Name  string `db:"name"`
		Count int    `db:"count"`
	}
	err := t.collect(&groups, `SELECT e.`+column+` AS name, count(*) AS count FROM entry AS e `+c.sql()+` GROUP BY name`, c.args...)
	counts := make(map[string]int, len(groups))
	for _, g := range groups {
		counts[g.Name] = g.Count
	}
	return counts, err
}

func (t *tx) countByStrength(now time.Time, c condition) (tenths [10]int, err error) {
	err = t.each(func(rows *sqlx.Rows) error {
		var strength float64
		var base int64
		if err := rows.Scan(&strength, &base); err != nil {
			return err
		}
		effective := memory.EffectiveStrength(strength, fromNanos(base), now)
		tenths[min(int(effective*10), 9)]++
		return nil
	}, `SELECT s.strength, s.strength_base FROM entry_state AS s JOIN entry AS e USING (row_id) `+c.sql(), c.args...)
	return tenths, err
}

// sizeOf returns the size of a file, 0 where there is none.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
