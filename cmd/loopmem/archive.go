package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

func archiveCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive {list | restore | purge}",
		Short: "Look at what consolidation and prune took out, and bring it back",
		Long: `Entries that consolidation merges or prunes, that "loopmem prune" removes, or
that make room in a full store, are kept in the archive for 30 days. What was
forgotten is not there.`,
		Example: `  loopmem archive list
  loopmem archive restore 1f3a9c
  loopmem archive purge --older-than 7d`,
		Args: func(cmd *cobra.Command, args []string) error {
			return usage(cmd, "archive needs to know what to do: list, restore or purge")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	cmd.AddCommand(archiveListCommand(a), archiveRestoreCommand(a), archivePurgeCommand(a))
	return cmd
}

// archivedNote is what is known about an archived entry beside the entry.
type archivedNote struct {
	ArchivedAt time.Time `json:"archived_at"`
	Reason     string    `json:"reason"`
	MergedInto uuid.UUID `json:"merged_into,omitzero"`
}

func archiveListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List what can be restored, the latest first",
		Example: `  loopmem archive list --json`,
		Args:    arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.withStore(reading, databasesOnly(func(cmd *cobra.Command, store *sqlitestore.Store, args []string) error {
			archived, err := store.Archive(cmd.Context())
			if err != nil {
				return err
			}
			if !a.json {
				entries := make([]memory.Entry, len(archived))
				for i := range archived {
					entries[i] = archived[i].Entry
				}
				return a.list(entries)
			}
			for i := range archived {
				x := &archived[i]
				if err := a.printJSON(&x.Entry, archivedNote{x.ArchivedAt, x.Reason, x.MergedInto}); err != nil {
					return err
				}
			}
			return nil
		})),
	}
}

func archiveRestoreCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "restore ID...",
		Short:   "Put entries back into the store",
		Example: `  loopmem archive restore 1f3a9c`,
		Args:    arguments(cobra.MinimumNArgs(1), "takes the ids of archived entries"),
		RunE: a.withStore(changing, databasesOnly(func(cmd *cobra.Command, store *sqlitestore.Store, args []string) error {
			archived, err := store.Archive(cmd.Context())
			if err != nil {
				return err
			}
			ids := make([]uuid.UUID, len(args))
			for i, text := range args {
				if ids[i], err = resolveArchived(archived, text); err != nil {
					return err
				}
			}
			for i, id := range ids {
				if _, err := store.Restore(cmd.Context(), id); err != nil {
					return fmt.Errorf("restored %d of %s: %w", i, plural(len(ids), "entry"), err)
				}
			}
			return a.answer(struct {
				Restored []uuid.UUID `json:"restored"`
			}{ids}, "restored %s", plural(len(ids), "entry"))
		})),
	}
}

// resolveArchived finds the one archived id that begins with the text.
func resolveArchived(archived []sqlitestore.Archived, text string) (uuid.UUID, error) {
	prefix, err := memory.ParseIDPrefix(text)
	if err != nil {
		return uuid.Nil, err
	}
	var found []uuid.UUID
	for i := range archived {
		id := archived[i].Entry.ID
		if strings.HasPrefix(hex.EncodeToString(id[:]), prefix) && !slices.Contains(found, id) { // archived more than once, perhaps
			found = append(found, id)
		}
	}
	id, err := memory.OnlyID(text, found)
	if errors.Is(err, memory.ErrNotFound) {
		err = &advisedError{fmt.Errorf("in the archive: %w", err), "(loopmem archive list shows what there is)"}
	}
	return id, err
}

func archivePurgeCommand(a *app) *cobra.Command {
	var age time.Duration
	var yes bool
	cmd := &cobra.Command{
		Use:   "purge",
		Short: "Drop what is in the archive, for good",
		Long: `Drop what is in the archive, for good. You are asked first, and without a
terminal to ask on need --yes.`,
		Example: `  loopmem archive purge --older-than 7d
  loopmem archive purge --yes`,
		Args: arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.withStore(changing, databasesOnly(func(cmd *cobra.Command, store *sqlitestore.Store, args []string) error {
			if !yes {
				err := a.confirm(cmd.Context(), confirmation{
					question: "Drop archived entries for good?",
					refused:  "nothing was dropped", look: "loopmem archive list",
				})
				if err != nil {
					return err
				}
			}
			n, err := store.PurgeArchive(cmd.Context(), age)
			if err != nil {
				return err
			}
			if n > 0 {
				a.scrub(cmd.Context(), store)
			}
			return a.answer(struct {
				Purged int `json:"purged"`
			}{n}, "dropped %s", plural(n, "archived entry"))
		})),
	}
	cmd.Flags().Func("older-than", "only what was archived that long ago, such as `7d`", intoValue(&age, parseAge))
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}
