package mcpserver

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// argumentsSchema derives the schema of a tool's arguments from their Go type.
// Beside the tag jsonschema, which describes a field to the model, these tags
// say what Go types cannot:
//
//	min, max     the range of a number, or the length of a text or a list
//	default      the value of an argument left out
//	enum         the words allowed, separated by spaces
//
// Arguments that the type does not have are refused by the schema.
func argumentsSchema[T any]() *jsonschema.Schema {
	schema := schemaOf[T]()
	if schema.Properties == nil {
		// Some clients miss the member even where there are no arguments.
		schema.Properties = make(map[string]*jsonschema.Schema)
	}
	for field := range reflect.TypeFor[T]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		restrict(schema.Properties[name], field.Tag)
	}
	return schema
}

// schemaOf derives a schema from a Go type. It names one type for each value:
// there are clients that cannot read two.
func schemaOf[T any]() *jsonschema.Schema {
	schema, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err)
	}
	oneType(schema)
	return schema
}

// oneType takes null from the types, which Go's pointers and slices have
// beside their own.
func oneType(schema *jsonschema.Schema) {
	if types := schema.Types; len(types) > 0 {
		schema.Type, schema.Types = types[len(types)-1], nil // null comes first
	}
	for _, property := range schema.Properties {
		oneType(property)
	}
	if schema.Items != nil {
		oneType(schema.Items)
	}
}

func restrict(property *jsonschema.Schema, tag reflect.StructTag) {
	least, most := number(tag.Get("min")), number(tag.Get("max"))
	switch property.Type {
	case "string":
		property.MinLength, property.MaxLength = whole(least), whole(most)
	case "array":
		property.MinItems, property.MaxItems = whole(least), whole(most)
	default:
		property.Minimum, property.Maximum = least, most
	}
	if value := tag.Get("default"); value != "" {
		property.Default = json.RawMessage(value)
	}
	for _, word := range strings.Fields(tag.Get("enum")) {
		property.Enum = append(property.Enum, word)
	}
}

func number(text string) *float64 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(fmt.Sprintf("bad tag: %v", err))
	}
	return &n
}

func whole(n *float64) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}
