package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/filestore"
	"github.com/loopmem/loopmem/sqlitestore"
)

func statsCommand(a *app) *cobra.Command {
	var sizes bool
	command := &cobra.Command{
		Use:   "stats",
		Short: "Tell which file is used and what is in it",
		Example: `  loopmem stats
  loopmem stats --sizes
  loopmem stats --json`,
		Args: arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.withStore(reading, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			switch store := store.(type) {
			case *sqlitestore.Store:
				stats, err := store.Stats(cmd.Context())
				if err != nil {
					return err
				}
				if !sizes {
					return a.answer(stats, "%s", describeStats(&stats))
				}
				parts, err := store.Sizes(cmd.Context())
				if err != nil {
					return err
				}
				both := struct {
					sqlitestore.Stats
					Sizes []sqlitestore.Size `json:"sizes"`
				}{stats, parts}
				return a.answer(both, "%s\n%s", describeStats(&stats), describeSizes(parts))
			case *filestore.Store:
				stats, err := countFile(cmd.Context(), store)
				if err != nil {
					return err
				}
				var f fields
				f.add("file", "%s", visible(stats.Path))
				describeCounts(&f, stats.Entries, stats.ByCategory, stats.ByAgent)
				f.add("size", "%s", humanize.IBytes(uint64(stats.FileBytes)))
				return a.answer(stats, "%s", &f)
			default:
				return fmt.Errorf("no statistics about %T", store)
			}
		}),
	}
	command.Flags().BoolVar(&sizes, "sizes", false, "tell also what each table and index takes of a database; it is read for that")
	return command
}

// describeSizes lists the parts with the sizes first, as their names are long.
func describeSizes(parts []sqlitestore.Size) string {
	var f fields
	for _, part := range parts {
		f.add("", "%8s  %s", humanize.IBytes(uint64(part.Bytes)), part.Name)
	}
	return f.String()
}

func describeStats(s *sqlitestore.Stats) string {
	var f fields
	f.add("database", "%s", visible(s.Path))
	describeCounts(&f, s.Entries, s.ByCategory, s.ByAgent)
	describeStrengths(&f, s.ByStrength[:])
	f.add("to be counted", "%s with the next consolidation", plural(s.PendingStamps, "use"))
	f.add("consolidated", "%s", stamp(s.LastConsolidated))
	f.add("archived", "%s that can be restored", plural(s.Archived, "entry"))
	f.add("size", "%s, and %s of log", humanize.IBytes(uint64(s.FileBytes)), humanize.IBytes(uint64(s.WALBytes)))
	f.add("schema", "version %d", s.SchemaVersion)
	f.add("SQLite", "version %s", s.SQLiteVersion)
	return f.String()
}

func describeCounts(f *fields, entries int, byCategory, byAgent map[string]int) {
	f.add("entries", "%s", humanize.Comma(int64(entries)))
	f.add("categories", "%s", mostFrequent(byCategory))
	f.add("agents", "%s", mostFrequent(byAgent))
}

// describeStrengths draws a histogram, a line for each tenth.
func describeStrengths(f *fields, tenths []int) {
	const width = 30
	most := slices.Max(tenths)
	if most == 0 {
		return
	}
	for i, n := range tenths {
		name := ""
		if i == 0 {
			name = "strength"
		}
		bar := strings.Repeat("█", (n*width+most-1)/most) // a single entry is seen
		f.add(name, "%.1f to %.1f  %s %s", float64(i)/10, float64(i+1)/10, pad(bar, width), humanize.Comma(int64(n)))
	}
}

// mostFrequent names the groups with the most entries.
func mostFrequent(counts map[string]int) string {
	const most = 5
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(a, b))
	})
	if len(names) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range names[:min(most, len(names))] {
		parts = append(parts, fmt.Sprintf("%s %s", label(name), humanize.Comma(int64(counts[name]))))
	}
	if more := len(names) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// fileStats describe a JSONL file.
type fileStats struct {
	Entries    int            `json:"entries"`
	ByCategory map[string]int `json:"by_category"`
	ByAgent    map[string]int `json:"by_agent"`
	Path       string         `json:"path"`
	FileBytes  int64          `json:"file_bytes"`
}

func countFile(ctx context.Context, store *filestore.Store) (fileStats, error) {
	stats := fileStats{ByCategory: make(map[string]int), ByAgent: make(map[string]int), Path: store.Path()}
	for entry, err := range store.Entries(ctx, memory.Selection{}) {
		if err != nil {
			return fileStats{}, err
		}
		stats.Entries++
		stats.ByCategory[string(entry.Category)]++
		stats.ByAgent[entry.Agent]++
	}
	info, err := os.Stat(store.Path())
	if err != nil {
		return fileStats{}, err
	}
	stats.FileBytes = info.Size()
	return stats, nil
}
