package jsonlimport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loopmem/loopmem/memory"
)

// object is the JSON object of one line, taken apart for the readers of
// foreign forms. Fields are read with required, optional and nullable; the
// first fault sticks. The decoder of memory reads its one form from a stream, in
// the order in which the fields come; here they are asked for in any order, and
// shown in errors and comparisons, so the two share what they say of faults
// ([memory.ExplainSyntax]) and not how they read.
type object struct {
	fields map[string]value
	names  []string // of the fields, in order
	within string   // the field whose value is being taken apart, or ""
	asked  []string // names that were read, present or not
	err    error    // the first fault, a memory.DecodeError or FieldError
}

// value is a JSON value and where in the line it begins.
type value struct {
	raw    jsontext.Value
	offset int
}

// parseObject takes a line apart. What is no JSON object, and nothing but
// one, or has a key twice, is a fault.
func parseObject(line []byte) *object {
	o := &object{fields: make(map[string]value)}
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if err := o.parse(line, d); err != nil {
		fault := memory.ExplainSyntax(err, int(d.InputOffset()))
		if fault.Field == "" {
			fault.Field = o.within
		}
		o.err = fault
	}
	return o
}

func (o *object) parse(line []byte, d *jsontext.Decoder) error {
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	for d.PeekKind() == jsontext.KindString {
		key, err := d.ReadToken()
		if err != nil {
			return err
		}
		name := key.String()
		o.names, o.within = append(o.names, name), name
		raw, err := d.ReadValue()
		if err != nil {
			return err
		}
		o.within = ""
		end := int(d.InputOffset())
		start := end - len(raw)
		o.fields[name] = value{raw: line[start:end], offset: start}
	}
	if _, err := d.ReadToken(); err != nil {
		return err
	}
	if token, err := d.ReadToken(); err == nil {
		return fmt.Errorf("a second JSON value, %s, follows the object; put each on a line of its own", kindName(token.Kind()))
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// fail records a fault of the field unless there was one before.
func (o *object) fail(name string, err error) {
	if o.err != nil {
		return
	}
	reason, at := err.Error(), 0
	if fault, ok := errors.AsType[*valueError](err); ok {
		at = fault.offset
	}
	if fault, ok := errors.AsType[*memory.FieldError](err); ok {
		reason = fault.Reason
	}
	if v, ok := o.fields[name]; ok {
		o.err = &memory.DecodeError{Offset: v.offset + at, Field: name, Reason: reason}
	} else {
		o.err = &memory.FieldError{Field: name, Reason: reason}
	}
}

// lookup finds a field. One that is spelled in another case is a fault even
// where the right one is there as well.
func (o *object) lookup(name string) (value, bool) {
	o.asked = append(o.asked, name)
	for _, other := range o.names {
		if other != name && strings.EqualFold(other, name) {
			o.fail(other, fmt.Errorf("is spelled in another case than %q", name))
		}
	}
	v, ok := o.fields[name]
	return v, ok
}

// unknown returns the fields that nobody asked for.
func (o *object) unknown() []string {
	return slices.DeleteFunc(slices.Clone(o.names), func(name string) bool {
		return slices.Contains(o.asked, name)
	})
}

// required reads a field that must be there.
func required[T any](o *object, name string, as func(value) (T, error)) (out T) {
	v, ok := o.lookup(name)
	if !ok {
		o.fail(name, errors.New("is missing"))
		return out
	}
	out, err := as(v)
	if err != nil {
		o.fail(name, err)
	}
	return out
}

// optional reads a field that may be absent and then has a default.
func optional[T any](o *object, name string, as func(value) (T, error), absent T) T {
	if _, ok := o.lookup(name); !ok {
		return absent
	}
	return required(o, name, as)
}

// nullable reads a field that may be absent or null, which mean the same.
func nullable[T any](o *object, name string, as func(value) (T, error)) T {
	return optional(o, name, func(v value) (T, error) {
		if v.raw.Kind() == jsontext.KindNull {
			var none T
			return none, nil
		}
		return as(v)
	}, *new(T))
}

// valueError is a fault at an offset within a value.
type valueError struct {
	offset int
	error
}

func (v value) kind(kind jsontext.Kind, want string) error {
	if got := v.raw.Kind(); got != kind {
		return fmt.Errorf("is %s; expected %s", kindName(got), want)
	}
	return nil
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case jsontext.KindNull:
		return "null"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "a boolean"
	case jsontext.KindString:
		return "a string"
	case jsontext.KindNumber:
		return "a number"
	case jsontext.KindBeginObject:
		return "an object"
	default:
		return "an array"
	}
}

func asText(v value) (string, error) {
	if err := v.kind(jsontext.KindString, "a string"); err != nil {
		return "", err
	}
	text, err := jsontext.AppendUnquote(nil, v.raw)
	if err != nil {
		return "", err
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return "", &valueError{max(0, bytes.Index(v.raw, []byte(`\u0000`))), errors.New("contains a NUL character")}
	}
	return string(text), nil
}

// asUint reads an unsigned integer up to limit; 7.0 and 1e3 are none.
func asUint(limit uint64) func(value) (uint64, error) {
	want := fmt.Sprintf("a whole number from 0 to %d", limit)
	return func(v value) (uint64, error) {
		if err := v.kind(jsontext.KindNumber, want); err != nil {
			return 0, err
		}
		n, err := strconv.ParseUint(string(v.raw), 10, 64)
		if err != nil || n > limit {
			return 0, fmt.Errorf("is %s; expected %s", shorten(string(v.raw)), want)
		}
		return n, nil
	}
}

func asUint8(v value) (uint8, error) {
	n, err := asUint(math.MaxUint8)(v)
	return uint8(n), err
}

func asFloat(v value, bits int) (float64, error) {
	if err := v.kind(jsontext.KindNumber, "a number"); err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(string(v.raw), bits)
	if err != nil {
		return 0, fmt.Errorf("is %s, which is too large to store", shorten(string(v.raw)))
	}
	return x, nil
}

func asFloat64(v value) (float64, error) { return asFloat(v, 64) }

func asFloat32(v value) (float32, error) {
	x, err := asFloat(v, 32)
	return float32(x), err
}

// asTime reads an RFC 3339 time of any offset. More than nine digits of a
// second are refused: they could not be kept.
func asTime(v value) (time.Time, error) {
	const want = "a time such as 2026-01-05T08:30:00.5Z"
	if v.raw.Kind() == jsontext.KindNumber {
		return time.Time{}, fmt.Errorf("is a number (seconds or milliseconds since 1970?); expected %s", want)
	}
	if err := v.kind(jsontext.KindString, want); err != nil {
		return time.Time{}, err
	}
	text, err := asText(v)
	if err != nil {
		return time.Time{}, err
	}
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, fmt.Errorf("is %q; expected %s", shorten(text), want)
	}
	// The layout's length is where a fraction begins.
	if fraction, ok := strings.CutPrefix(text[len(time.DateTime):], "."); ok {
		if len(fraction)-len(strings.TrimLeft(fraction, "0123456789")) > 9 {
			return time.Time{}, fmt.Errorf("is %q; at most nine digits of a second can be kept", shorten(text))
		}
	}
	return t.UTC(), nil
}

// asList reads an array of what item reads; an empty one is nil.
func asList[T any](item func(value) (T, error)) func(value) ([]T, error) {
	return func(v value) ([]T, error) {
		if err := v.kind(jsontext.KindBeginArray, "an array"); err != nil {
			return nil, err
		}
		d := jsontext.NewDecoder(bytes.NewReader(v.raw))
		if _, err := d.ReadToken(); err != nil {
			return nil, err
		}
		var items []T
		for d.PeekKind() != jsontext.KindEndArray {
			raw, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			x, err := item(value{raw: raw})
			if err != nil {
				return nil, &valueError{int(d.InputOffset()) - len(raw), fmt.Errorf("has an item that %w", err)}
			}
			items = append(items, x)
		}
		return items, nil
	}
}
