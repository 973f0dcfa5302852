package jsonlimport

import (
	"fmt"

	"github.com/dustin/go-humanize/english"
)

// ignoredFields counts the fields of a source that its form does not know.
type ignoredFields struct {
	names []string // in the order in which they came
	where map[string]*ignoredField
	more  bool // there are names that are not remembered
}

type ignoredField struct{ first, lines int }

// maxIgnored bounds how many names are remembered: a person needs some of them.
const maxIgnored = 20

func (i *ignoredFields) add(it *item) {
	for _, name := range it.ignored {
		field := i.where[name]
		if field == nil {
			if len(i.names) == maxIgnored {
				i.more = true
				continue
			}
			if i.where == nil {
				i.where = make(map[string]*ignoredField)
			}
			field = &ignoredField{first: it.line.number}
			i.where[name] = field
			i.names = append(i.names, name)
		}
		field.lines++
	}
}

// notes says for each field where it is.
func (i *ignoredFields) notes() []string {
	var notes []string
	for _, name := range i.names {
		field := i.where[name]
		notes = append(notes, fmt.Sprintf("the field %q is unknown to this form and left out: on %s, the first is line %d",
			shorten(name), english.Plural(field.lines, "line", ""), field.first))
	}
	if i.more {
		notes = append(notes, fmt.Sprintf("more than %d fields are unknown to this form and left out", maxIgnored))
	}
	return notes
}

// ignoredValues returns the fields that the form does not know as what the
// file has and a store does not.
func (it *item) ignoredValues() []FieldDifference {
	if len(it.ignored) == 0 {
		return nil
	}
	fields := parseObject(it.line.text).fields
	var out []FieldDifference
	for _, name := range it.ignored {
		out = append(out, FieldDifference{Field: shorten(name), File: shorten(string(fields[name].raw))})
	}
	return out
}
