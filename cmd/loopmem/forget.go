package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

func forgetCommand(a *app) *cobra.Command {
	var filter memory.Filter
	var dryRun, yes bool
	cmd := &cobra.Command{
		Use:   "forget {ID... | filters}",
		Short: "Remove entries for good",
		Long: `Remove entries for good: they do not go to the archive, and what they held is
overwritten; entries of the same words that were merged into them go as well.
Entries, also archived ones, are named by ids or chosen by filters; with filters,
you are asked first, and without a terminal to ask on need --yes. The database is
compacted after that, so that no byte of them is left in its files.`,
		Example: `  loopmem forget 1f3a9c 77e0b2
  loopmem forget --agent tg:123 --dry-run
  loopmem forget --category working --yes`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			switch filtered := isSet(cmd.Flags()); {
			case filtered && len(args) > 0:
				return usage(cmd, "forget takes ids or filters, not both: leave out %s, or the filters", strings.Join(args, " "))
			case !filtered && len(args) == 0:
				return usage(cmd, "name the entries by their ids, or choose them with filters such as --category")
			default:
				return nil
			}
		},
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			return a.use(cmd, changing.orDry(dryRun), func(store memory.Backend) error {
				chosen, err := choose(cmd.Context(), store, filter, args)
				if err != nil {
					return err
				}
				if dryRun {
					return a.wouldForget(chosen)
				}
				if len(args) == 0 && len(chosen) > 0 && !yes {
					err := a.confirm(cmd.Context(), confirmation{
						question: "Forget " + plural(len(chosen), "entry") + " for good?",
						refused:  "nothing was forgotten", look: "--dry-run",
					})
					if err != nil {
						return err
					}
				}
				return a.forget(cmd.Context(), store, chosen)
			})
		}),
	}
	filterFlags(cmd.Flags(), &filter)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only show what would be forgotten")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// forgotten is what a forget did or, with DryRun, would do.
type forgotten struct {
	Forgotten int         `json:"forgotten"`
	IDs       []uuid.UUID `json:"ids"`
	DryRun    bool        `json:"dry_run"`
}

func (a *app) wouldForget(chosen []memory.Entry) error {
	would := forgotten{Forgotten: len(chosen), IDs: []uuid.UUID{}, DryRun: true}
	for i := range chosen {
		would.IDs = append(would.IDs, chosen[i].ID)
	}
	if !a.json {
		if err := a.list(chosen); err != nil {
			return err
		}
	}
	return a.answer(would, "would forget %s", plural(len(chosen), "entry"))
}

func (a *app) forget(ctx context.Context, store memory.Backend, chosen []memory.Entry) error {
	did := forgotten{IDs: []uuid.UUID{}}
	ids := make([]uuid.UUID, len(chosen))
	for i := range chosen {
		ids[i] = chosen[i].ID
	}
	gone, err := a.forgetAll(ctx, store, ids)
	did.IDs = append(did.IDs, gone...) // the others another process was faster with
	did.Forgotten = len(gone)
	if err != nil {
		return fmt.Errorf("forgot %d of %s: %w", did.Forgotten, plural(len(chosen), "entry"), err)
	}
	return a.answer(did, "forgot %s", plural(did.Forgotten, "entry"))
}

// forgetAll returns the ids of what it has forgotten, also after an error.
func (a *app) forgetAll(ctx context.Context, store memory.Backend, ids []uuid.UUID) (gone []uuid.UUID, err error) {
	if database, ok := store.(*sqlitestore.Store); ok {
		if gone, err = database.ForgetAll(ctx, ids); err == nil && len(gone) > 0 {
			a.scrub(ctx, database)
		}
		return gone, err
	}
	for _, id := range ids {
		found, err := store.Forget(ctx, id)
		if err != nil {
			return gone, err
		}
		if found {
			gone = append(gone, id)
		}
	}
	return gone, nil
}

// choose returns the entries that ids name, all of which must exist, or that
// pass the filter.
func choose(ctx context.Context, store memory.Backend, filter memory.Filter, ids []string) ([]memory.Entry, error) {
	var chosen []memory.Entry
	for _, text := range ids {
		entry, err := named(ctx, store, text)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(chosen, func(e memory.Entry) bool { return e.ID == entry.ID }) {
			chosen = append(chosen, entry)
		}
	}
	if len(ids) > 0 {
		return chosen, nil
	}
	for entry, err := range store.Entries(ctx, memory.Selection{Filter: filter}) {
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, entry)
	}
	return chosen, nil
}

// named returns the entry that a text names, if need be from the archive.
func named(ctx context.Context, store memory.Backend, text string) (memory.Entry, error) {
	id, err := store.Resolve(ctx, text)
	if err == nil {
		record, err := store.Get(ctx, id)
		return record.Entry, err
	}
	database, ok := store.(*sqlitestore.Store)
	if !ok || !errors.Is(err, memory.ErrNotFound) {
		return memory.Entry{}, err
	}
	archived, failed := database.Archive(ctx)
	if failed != nil {
		return memory.Entry{}, failed
	}
	if id, failed = resolveArchived(archived, text); failed != nil {
		return memory.Entry{}, err
	}
	latest := slices.IndexFunc(archived, func(a sqlitestore.Archived) bool { return a.Entry.ID == id })
	return archived[latest].Entry, nil
}
