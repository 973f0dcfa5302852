package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
)

// faultsOf says what is wrong with the arguments of a tool: which of them, what
// the schema wants and what was found. It explains in a model's words what the
// SDK has refused in those of its validator ("11/1 is greater than
// 10.000000"), for as much of JSON Schema as the schemas of tools use.
func faultsOf(schema *jsonschema.Schema, arguments json.RawMessage) []string {
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.UseNumber() // to show a number as it was written
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return faults(schema, "", value)
}

func faults(schema *jsonschema.Schema, name string, value any) []string {
	wrong := func(wanted string) []string {
		return []string{fmt.Sprintf("%s must be %s, and is %s", orArguments(name), wanted, shown(value))}
	}
	if !hasType(value, schema.Type) {
		return wrong(typeNames[schema.Type])
	}
	if len(schema.Enum) > 0 && !slices.Contains(schema.Enum, value) {
		return wrong("one of " + strings.Trim(fmt.Sprint(schema.Enum), "[]"))
	}
	switch value := value.(type) {
	case map[string]any:
		return faultsOfObject(schema, name, value)
	case []any:
		return faultsOfList(schema, name, value)
	case string:
		return faultOfSize(name, utf8.RuneCountInString(value), "characters", schema.MinLength, schema.MaxLength)
	case json.Number:
		return faultOfNumber(schema, name, value)
	default:
		return nil
	}
}

// typeNames are the types of JSON Schema in words.
var typeNames = map[string]string{
	"string": "a text", "integer": "a whole number", "number": "a number",
	"boolean": "true or false", "array": "a list", "object": "an object",
}

// hasType reports whether a value may pass for one of the type. Types that
// have no words pass.
func hasType(value any, typeName string) bool {
	if typeNames[typeName] == "" {
		return true
	}
	switch value := value.(type) {
	case string:
		return typeName == "string"
	case bool:
		return typeName == "boolean"
	case []any:
		return typeName == "array"
	case map[string]any:
		return typeName == "object"
	case json.Number:
		f, err := value.Float64()
		return err == nil && (typeName == "number" || typeName == "integer" && isWhole(f))
	default:
		return false // null
	}
}

func faultsOfObject(schema *jsonschema.Schema, name string, object map[string]any) []string {
	var all []string
	for _, member := range schema.Required {
		if _, ok := object[member]; !ok {
			all = append(all, member+" is missing"+in(name))
		}
	}
	for _, member := range slices.Sorted(maps.Keys(object)) {
		of := schema.Properties[member]
		if of == nil {
			of = schema.AdditionalProperties
		}
		switch {
		case of != nil && of.Not != nil: // the schema that nothing passes
			all = append(all, shown(member)+" is no argument"+in(name))
		case of != nil:
			all = append(all, faults(of, strings.TrimPrefix(name+"."+member, "."), object[member])...)
		}
	}
	return all
}

func faultsOfList(schema *jsonschema.Schema, name string, list []any) []string {
	all := faultOfSize(name, len(list), "members", schema.MinItems, schema.MaxItems)
	if schema.Items == nil {
		return all
	}
	for i, member := range list {
		all = append(all, faults(schema.Items, fmt.Sprintf("%s[%d]", name, i), member)...)
	}
	return all
}

func faultOfSize(name string, size int, unit string, least, most *int) []string {
	switch {
	case least != nil && size < *least:
		return []string{fmt.Sprintf("%s must have at least %d %s, and has %d", name, *least, unit, size)}
	case most != nil && size > *most:
		return []string{fmt.Sprintf("%s must have at most %d %s, and has %d", name, *most, unit, size)}
	default:
		return nil
	}
}

func faultOfNumber(schema *jsonschema.Schema, name string, number json.Number) []string {
	n, err := number.Float64()
	switch {
	case err != nil:
		return nil
	case schema.Minimum != nil && n < *schema.Minimum:
		return []string{fmt.Sprintf("%s must be at least %v, and is %s", name, *schema.Minimum, number)}
	case schema.Maximum != nil && n > *schema.Maximum:
		return []string{fmt.Sprintf("%s must be at most %v, and is %s", name, *schema.Maximum, number)}
	default:
		return nil
	}
}

// orArguments names the arguments as a whole where there is no name.
func orArguments(name string) string {
	if name == "" {
		return "the value of arguments"
	}
	return name
}

func in(name string) string {
	if name == "" {
		return ""
	}
	return " in " + name
}

// shown is a value as JSON has it, of a long one the beginning.
func shown(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return "something else"
	}
	beginning, cut := beginning(string(text), 60)
	if cut {
		beginning += "…"
	}
	return beginning
}
