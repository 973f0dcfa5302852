package main

import (
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func addCommand(a *app) *cobra.Command {
	entry := memory.NewEntry(memory.Fact, "")
	var attrs attributes
	var e embedding
	cmd := &cobra.Command{
		Use:   "add TEXT",
		Short: "Remember a text and print its id",
		Long: `Remember a text and print its id. A missing database is made.

A TEXT of - is read from standard input.`,
		Example: `  loopmem add "the staging cluster is rebuilt every Monday"
  loopmem add "retry uploads after a 503" --category strategy --tag http --importance 8
  git log -1 --format=%B | loopmem add - --category trajectory --agent ci`,
		Args: arguments(cobra.ExactArgs(1), "takes one text, in quotes"),
		RunE: a.action(func(cmd *cobra.Command, args []string) (err error) {
			entry.Attributes = attrs
			if entry.Memory, err = a.text(cmd.Context(), args[0]); err != nil {
				return err
			}
			if strings.TrimSpace(entry.Memory) == "" {
				return usage(cmd, "the text is empty; there is nothing to remember")
			}
			return a.use(cmd, creating, func(store memory.Backend) error {
				if store, err = e.before(cmd.Context(), a, store); err != nil {
					return err
				}
				if err := store.Store(cmd.Context(), entry); err != nil {
					return err
				}
				return a.answer(struct {
					ID uuid.UUID `json:"id"`
				}{entry.ID}, "%s", entry.ID)
			})
		}),
	}
	flags := cmd.Flags()
	entryFlags(flags, &entry)
	flags.Func("tag", "a `TAG`; may be repeated", filledList(&entry.Tags))
	flags.Func("keyword", "a `WORD` to be found by besides the text; may be repeated", filledList(&entry.Keywords))
	flags.Func("type", "memory `TYPE`: episodic (default), semantic or reflection", intoValue(&entry.MemoryType, memory.ParseMemoryType))
	flags.StringVar(&entry.AuthorUserID, "author-user", "", "`ID` of the user on whose behalf it is stored")
	flags.StringVar(&entry.AuthorTenantID, "author-tenant", "", "`ID` of that user's tenant")
	flags.Func("attribute", "`KEY=VALUE` kept with the entry; may be repeated", attrs.set)
	e.optionalFlags(flags, "store it with an embedding; if the endpoint fails, without")
	return cmd
}
