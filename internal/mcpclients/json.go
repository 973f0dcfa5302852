package mcpclients

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tailscale/hujson"
)

// jsonFile is a JSON file, with comments where its client allows them, that
// has the servers in an object under one name.
type jsonFile struct {
	name  string
	typed bool // a server says what type it is
}

func (f jsonFile) edit(content []byte, server Server) ([]byte, error) {
	root, object, err := parseObject(content)
	if err != nil {
		return nil, err
	}
	if member(object, f.name) == nil {
		setMember(object, 1, f.name, &hujson.Object{})
	}
	list, err := f.servers(object)
	if err != nil {
		return nil, err
	}
	entry, err := f.entry(server)
	if err != nil {
		return nil, err
	}
	if existing, ok := memberObject(list, server.Name); ok {
		for _, key := range addresses {
			if member(existing, key) != nil {
				return nil, elsewhere(server.Name, key)
			}
		}
		for _, m := range entry.Members {
			setMember(existing, 3, m.Name.Value.(hujson.Literal).String(), m.Value.Value)
		}
	} else {
		setMember(list, 2, server.Name, entry)
	}
	return root.Pack(), nil
}

// entry returns what the file says about a server.
func (f jsonFile) entry(server Server) (*hujson.Object, error) {
	var entry struct {
		Type    string   `json:"type,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	if f.typed {
		entry.Type = "stdio"
	}
	entry.Command, entry.Args = server.Command, server.Args
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent(indent(2), indent(1))
	if err := encoder.Encode(entry); err != nil {
		return nil, err
	}
	_, object, err := parseObject(text.Bytes())
	return object, err
}

func (f jsonFile) has(content []byte, name string) (bool, error) {
	_, object, err := parseObject(content)
	if err != nil || member(object, f.name) == nil {
		return false, err
	}
	list, err := f.servers(object)
	return err == nil && member(list, name) != nil, err
}

// servers returns the object of the servers, which has to be there.
func (f jsonFile) servers(object *hujson.Object) (*hujson.Object, error) {
	list, ok := memberObject(object, f.name)
	if !ok {
		return nil, fmt.Errorf("%s in it is no object", f.name)
	}
	return list, nil
}

// parseObject reads a file whose content is an object, or nothing.
func parseObject(content []byte) (root hujson.Value, object *hujson.Object, err error) {
	if len(bytes.TrimSpace(content)) == 0 {
		content = []byte("{}\n")
	}
	if root, err = hujson.Parse(content); err != nil {
		return root, nil, err
	}
	object, ok := root.Value.(*hujson.Object)
	if !ok {
		return root, nil, errors.New("it is no JSON object")
	}
	return root, object, nil
}

// member returns the value of a member, or nil.
func member(object *hujson.Object, name string) *hujson.Value {
	for i := range object.Members {
		if literal, ok := object.Members[i].Name.Value.(hujson.Literal); ok && literal.String() == name {
			return &object.Members[i].Value
		}
	}
	return nil
}

// memberObject returns the value of a member, if that is an object.
func memberObject(object *hujson.Object, name string) (*hujson.Object, bool) {
	value := member(object, name)
	if value == nil {
		return nil, false
	}
	found, ok := value.Value.(*hujson.Object)
	return found, ok
}

// setMember gives a member a value; a new one gets a line of its own at the
// end.
func setMember(object *hujson.Object, depth int, name string, value hujson.ValueTrimmed) {
	if existing := member(object, name); existing != nil {
		existing.Value = value
		return
	}
	added := hujson.ObjectMember{
		// A comment behind the last member stays with it, behind the comma.
		Name: hujson.Value{
			BeforeExtra: append(trimRight(object.AfterExtra), "\n"+indent(depth)...),
			Value:       hujson.String(name),
		},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: value},
	}
	object.AfterExtra = hujson.Extra("\n" + indent(depth-1))
	if n := len(object.Members); n > 0 && object.Members[n-1].Value.AfterExtra != nil {
		// The way in which hujson tells a comma behind the last member.
		added.Value.AfterExtra = hujson.Extra{}
	}
	object.Members = append(object.Members, added)
}

func trimRight(extra hujson.Extra) hujson.Extra {
	return append(hujson.Extra(nil), bytes.TrimRight(extra, " \t\r\n")...)
}

func indent(depth int) string { return string(bytes.Repeat([]byte("  "), depth)) }
