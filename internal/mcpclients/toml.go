package mcpclients

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// tomlFile is a TOML file with a table for each server below one table.
//
// There is no editor for TOML that keeps comments, so the lines of the table
// are replaced as text, and the result is read to see that it says what it
// said before and the server.
type tomlFile struct{ name string }

func (f tomlFile) edit(content []byte, server Server) ([]byte, error) {
	header := fmt.Sprintf("[%s.%s]", f.name, server.Name)
	want := map[string]any{"command": server.Command, "args": server.Args}
	entry, err := toml.Marshal(want)
	if err != nil {
		return nil, err
	}
	edited := replaceTable(string(content), header, header+"\n"+string(entry))
	if err := f.verify(string(content), edited, server); err != nil {
		return nil, fmt.Errorf("%w; add this by hand:\n\n%s\n%s", err, header, entry)
	}
	return []byte(edited), nil
}

// replaceTable puts the text in the place of the table with that header, up to
// the next one, or at the end.
func replaceTable(content, header, text string) string {
	var before, after strings.Builder
	place := &before
	found := false
	for line := range strings.Lines(content) {
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == header || strings.HasPrefix(trimmed, header+" ") || strings.HasPrefix(trimmed, header+"#"):
			found, place = true, nil
		case place == nil && strings.HasPrefix(trimmed, "["):
			place = &after
		}
		if place != nil {
			place.WriteString(line)
		}
	}
	start := before.String()
	if !found && strings.TrimSpace(start) != "" {
		start = strings.TrimRight(start, "\n") + "\n\n"
	}
	if after.Len() > 0 {
		text += "\n"
	}
	return start + text + after.String()
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
		delete(f.servers(document), server.Name)
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
