package main

import (
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func linkCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "link A B",
		Short:   "Link two entries, so that recalling one brings the other",
		Example: `  loopmem link 1f3a9c 77e0b2`,
		Args:    arguments(cobra.ExactArgs(2), "takes two ids"),
		RunE: a.withStore(changing, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			ids := make([]uuid.UUID, len(args))
			for i, text := range args {
				id, err := store.Resolve(cmd.Context(), text)
				if err != nil {
					return err
				}
				ids[i] = id
			}
			if err := store.Link(cmd.Context(), ids[0], ids[1]); err != nil {
				return err
			}
			return a.answer(struct {
				Linked []uuid.UUID `json:"linked"`
			}{ids}, "linked %s and %s", ids[0], ids[1])
		}),
	}
}
