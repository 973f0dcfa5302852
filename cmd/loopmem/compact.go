package main

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/sqlitestore"
)

// scrub compacts the database after something was removed for good. Where that
// cannot be done now, it is no reason to call the removal failed.
func (a *app) scrub(ctx context.Context, store *sqlitestore.Store) {
	if err := store.Compact(ctx); err != nil {
		a.complain(fmt.Errorf("warning: it is gone, but bytes of it may be left in unused parts of the file until loopmem compact: %w", err))
	}
}

func compactCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "compact",
		Short: "Give the space of what was removed back to the system",
		Long: `Rewrite the database without the space of what was removed, which by itself is
only used again, and empty the log. After it, no byte of what was forgotten is
left in any of the files. Others wait with their writes meanwhile.`,
		Example: `  loopmem compact`,
		Args:    arguments(cobra.NoArgs, "takes no arguments"),
		PreRunE: a.whole,
		RunE: a.withStore(changing, databasesOnly(func(cmd *cobra.Command, store *sqlitestore.Store, args []string) error {
			before, err := store.Stats(cmd.Context())
			if err != nil {
				return err
			}
			if err := store.Compact(cmd.Context()); err != nil {
				return err
			}
			after, err := store.Stats(cmd.Context())
			if err != nil {
				return err
			}
			was, is := before.FileBytes+before.WALBytes, after.FileBytes+after.WALBytes
			return a.answer(struct {
				Before int64 `json:"bytes_before"`
				After  int64 `json:"bytes_after"`
			}{was, is}, "%s before, %s now", humanize.IBytes(uint64(was)), humanize.IBytes(uint64(is)))
		})),
	}
}
