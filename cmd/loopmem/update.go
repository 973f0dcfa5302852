package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func updateCommand(a *app) *cobra.Command {
	var u update
	cmd := &cobra.Command{
		Use:   "update ID",
		Short: "Change fields of an entry, which keeps its place",
		Long: `Change the fields that flags name; the others stay. The entry keeps its id and
its place, and counts as used now.

--append, --tag, --untag, --keyword, --unkeyword and --attribute build on what
the entry holds: they are applied to its latest state, so that two programs
that change one entry at the same time lose nothing. With --if-version the
change is made only if nobody has changed the entry since; see "version" in
loopmem show.`,
		Example: `  loopmem update 1f3a9c --text "staging is rebuilt on Tuesdays" --validated
  loopmem update 1f3a9c --tag infra --untag ops --pin
  echo "seen again in May" | loopmem update 1f3a9c --append -`,
		Args: arguments(cobra.ExactArgs(1), "takes one id"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			u.changed = cmd.Flags().Changed
			if !slices.ContainsFunc(updateFlags, u.changed) {
				return usage(cmd, "nothing to change; name a field, such as --text")
			}
			return notBoth(cmd, "text", "append")
		},
		RunE: a.withStore(changing, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			ctx := cmd.Context()
			if err := u.read(ctx, a); err != nil {
				return err
			}
			for flag, text := range map[string]string{"text": u.set.Memory, "append": u.append} {
				if u.changed(flag) && strings.TrimSpace(text) == "" {
					return usage(cmd, "the text of --%s is empty; loopmem forget removes an entry", flag)
				}
			}
			id, err := store.Resolve(ctx, args[0])
			if err != nil {
				return err
			}
			record, err := u.apply(ctx, store, id)
			if err != nil {
				return err
			}
			return a.answer(struct {
				ID      uuid.UUID `json:"id"`
				Version uint64    `json:"version"`
			}{id, record.Version}, "updated %s, now version %d", id, record.Version)
		}),
	}
	flags := cmd.Flags()
	entryFlags(flags, &u.set)
	flags.StringVar(&u.set.Memory, "text", "", "the new `TEXT`; - reads it from standard input")
	flags.StringVar(&u.append, "append", "", "a `TEXT` to add in a line of its own; - reads it from standard input")
	flags.Func("tag", "a `TAG` to add; may be repeated", filledList(&u.tag))
	flags.StringArrayVar(&u.untag, "untag", nil, "a `TAG` to take away; may be repeated")
	flags.Func("keyword", "a `KEYWORD` to add; may be repeated", filledList(&u.keyword))
	flags.StringArrayVar(&u.unkeyword, "unkeyword", nil, "a `KEYWORD` to take away; may be repeated")
	flags.Func("attribute", "`KEY=VALUE` to set, KEY= to take away; may be repeated", u.attributes.set)
	flags.Func("if-version", "change only this `VERSION` of the entry", intoValue(&u.ifVersion, parseVersion))
	return cmd
}

func parseVersion(text string) (uint64, error) {
	version, err := strconv.ParseUint(text, 10, 64)
	if err != nil || version == 0 {
		return 0, errors.New("use the number that loopmem show tells as the version")
	}
	return version, nil
}

// updateFlags are the flags that change something.
var updateFlags = []string{
	"text", "append", "category", "agent", "importance", "summary", "validated", "pin", "confidentiality",
	"tag", "untag", "keyword", "unkeyword", "attribute",
}

// update is what the flags ask for.
type update struct {
	changed    func(flag string) bool
	set        memory.Entry // the fields that are set, as far as their flags were given
	append     string
	tag        []string
	untag      []string
	keyword    []string
	unkeyword  []string
	attributes attributes
	ifVersion  uint64
}

// read replaces a text of - by standard input.
func (u *update) read(ctx context.Context, a *app) (err error) {
	if u.set.Memory, err = a.text(ctx, u.set.Memory); err != nil {
		return err
	}
	u.append, err = a.text(ctx, u.append)
	return err
}

// relative reports whether the change builds on what the entry holds.
func (u *update) relative() bool {
	return slices.ContainsFunc([]string{"append", "tag", "untag", "keyword", "unkeyword", "attribute"}, u.changed)
}

// apply makes the change. One that builds on the entry is made anew whenever
// someone else was faster; each time that happens someone has succeeded.
func (u *update) apply(ctx context.Context, store memory.Backend, id uuid.UUID) (memory.Record, error) {
	if !u.relative() {
		change := u.absolute()
		change.IfVersion = u.ifVersion
		return store.Update(ctx, id, change)
	}
	for {
		old, err := store.Get(ctx, id)
		if err != nil {
			return memory.Record{}, err
		}
		change := u.absolute()
		u.build(&change, &old.Entry)
		change.IfVersion = old.Version
		if u.ifVersion != 0 {
			change.IfVersion = u.ifVersion
		}
		record, err := store.Update(ctx, id, change)
		if u.ifVersion == 0 && errors.Is(err, memory.ErrConflict) {
			continue
		}
		return record, err
	}
}

// absolute returns the changes that do not depend on the entry.
func (u *update) absolute() memory.Change {
	var c memory.Change
	given(u, "text", &c.Memory, &u.set.Memory)
	given(u, "category", &c.Category, &u.set.Category)
	given(u, "agent", &c.Agent, &u.set.Agent)
	given(u, "importance", &c.Importance, &u.set.Importance)
	given(u, "summary", &c.Summary, &u.set.Summary)
	given(u, "validated", &c.Validated, &u.set.Validated)
	given(u, "pin", &c.Pinned, &u.set.Pinned)
	given(u, "confidentiality", &c.Confidentiality, &u.set.Confidentiality)
	return c
}

// given names a field in a change if its flag was given.
func given[T any](u *update, flag string, field **T, value *T) {
	if u.changed(flag) {
		*field = value
	}
}

// build adds the changes that depend on what the entry holds.
func (u *update) build(c *memory.Change, e *memory.Entry) {
	if u.changed("append") {
		c.Memory = new(e.Memory + "\n" + u.append)
	}
	if u.changed("tag") || u.changed("untag") {
		c.Tags = new(edited(e.Tags, u.tag, u.untag))
	}
	if u.changed("keyword") || u.changed("unkeyword") {
		c.Keywords = new(edited(e.Keywords, u.keyword, u.unkeyword))
	}
	if u.changed("attribute") {
		all := make(map[string]string)
		maps.Copy(all, e.Attributes)
		maps.Copy(all, u.attributes)
		maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
		c.Attributes = &all
	}
}

// edited returns the list without what goes and with what is new in it.
func edited(list, come, gone []string) []string {
	out := slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(gone, s) })
	for _, s := range come {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
