package mcpclients

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlFile is a TOML file with a table for each server below one table.
//
// There is no editor for TOML that keeps comments, so lines of the table are
// replaced as text, and the result is read to see that it says what it said
// before and the server.
type tomlFile struct{ name string }

func (f tomlFile) edit(content []byte, server Server) ([]byte, error) {
	header := fmt.Sprintf("[%s.%s]", f.name, server.Name)
	want := map[string]any{"command": server.Command, "args": server.Args}
	entry, err := toml.Marshal(want)
	if err != nil {
		return nil, err
	}
	document, err := f.read(string(content))
	if err != nil {
		return nil, err
	}
	existing, _ := f.servers(document)[server.Name].(map[string]any)
	for _, key := range addresses {
		if existing[key] != nil {
			return nil, elsewhere(server.Name, key)
		}
	}
	edited := setTable(string(content), header, string(entry))
	if err := f.verify(string(content), edited, server); err != nil {
		return nil, fmt.Errorf("%w; add this by hand:\n\n%s\n%s", err, header, entry)
	}
	return []byte(edited), nil
}

// setTable puts the entry into the table with that header, in the place of
// what it said about the same keys, or into a new one at the end.
func setTable(content, header, entry string) string {
	before, table, after := cutTable(content, header)
	if table == "" {
		if strings.TrimSpace(before) != "" {
			before = strings.TrimRight(before, "\n") + "\n\n"
		}
		table = header
	}
	first, rest, _ := strings.Cut(table, "\n")
	return before + first + "\n" + entry + withoutKeys(rest, "command", "args") + after
}

// cutTable cuts out the table with that header, up to the next one.
func cutTable(content, header string) (before, table, after string) {
	part := &before
	for line := range strings.Lines(content) {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == header || strings.HasPrefix(trimmed, header+" ") || strings.HasPrefix(trimmed, header+"#"):
			part = &table
		case part == &table && strings.HasPrefix(trimmed, "["):
			part = &after
		}
		*part += line
	}
	return before, table, after
}

// withoutKeys leaves out the lines of some keys of a table. A value may take
// several lines: it ends with the first that makes it whole.
func withoutKeys(table string, keys ...string) string {
	var kept, value string
	for line := range strings.Lines(table) {
		key, _, _ := strings.Cut(line, "=")
		if value == "" && !slices.Contains(keys, strings.TrimSpace(key)) {
			kept += line
			continue
		}
		value += line
		if toml.Unmarshal([]byte(value), new(map[string]any)) == nil {
			value = ""
		}
	}
	return kept
}

// verify makes sure that an edit did what it should and nothing else.
func (f tomlFile) verify(old, edited string, server Server) error {
	was, err := f.read(old)
	if err != nil {
		return err
	}
	is, err := f.read(edited)
	if err != nil {
		return fmt.Errorf("the server cannot be added to it: %w", err)
	}
	table, ok := f.servers(is)[server.Name].(map[string]any)
	if !ok || table["command"] != server.Command || fmt.Sprint(table["args"]) != fmt.Sprint(server.Args) {
		return errors.New("the server cannot be added to it")
	}
	for _, document := range []map[string]any{was, is} {
		if entry, ok := f.servers(document)[server.Name].(map[string]any); ok {
			delete(entry, "command")
			delete(entry, "args")
			if len(entry) == 0 {
				delete(f.servers(document), server.Name)
			}
		}
		if len(f.servers(document)) == 0 {
			delete(document, f.name)
		}
	}
	if !reflect.DeepEqual(was, is) {
		return errors.New("the server cannot be added without changing something else")
	}
	return nil
}

func (f tomlFile) read(content string) (document map[string]any, err error) {
	err = toml.Unmarshal([]byte(content), &document)
	return document, err
}

func (f tomlFile) servers(document map[string]any) map[string]any {
	servers, _ := document[f.name].(map[string]any)
	return servers
}

func (f tomlFile) has(content []byte, name string) (bool, error) {
	document, err := f.read(string(content))
	return f.servers(document)[name] != nil, err
}
