package jsonlimport

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loopmem/loopmem/memory"
)

// Format is a form that memories have in lines of JSON.
type Format interface {
	// Name is the word by which a user chooses the form.
	Name() string
	// Detect reports whether an object with these keys is of this form. It
	// may be asked about objects of any form, and of none.
	Detect(keys []string) bool
	// Reader begins to read one file.
	Reader(info FileInfo) Reader
	// Write writes entries in this form and ends with the first error that
	// they yield. It ranges over them once: another time may be another
	// snapshot of the store.
	Write(w io.Writer, entries iter.Seq2[memory.Entry, error]) error
	// Project returns what the form can hold of an entry: the same entry, but
	// with the default in each field that would not come back from Write and
	// Reader. An entry that would come back as another one gets the zero
	// UUID. [Verify] compares projections, and [Export] reports what they
	// lack.
	Project(entry memory.Entry) memory.Entry
}

// Reader reads the lines of one file.
type Reader interface {
	// Entries returns what the next line holds, mostly one entry. The line
	// is never blank and ends before its line break. An error that is a
	// [memory.DecodeError] tells where in the line the fault lies.
	Entries(line []byte) ([]memory.Entry, error)
	// Ignored returns the fields of the line that Entries has read last which
	// the form does not know, so that they do not get lost in silence.
	Ignored() []string
	// End returns what the user should know about the file as a whole.
	End() []string
}

// owned is what a [Format] implements if two owners may, not knowing of each
// other, have given one id to different entries.
type owned interface {
	// owner returns whose entry it is and by which id it is known, or nothing
	// if its id is unique everywhere.
	owner(e *memory.Entry) (owner, id string)
	// ownIDs returns the form for files in which each owner has ids of its
	// own.
	ownIDs() Format
}

// FileInfo is what a [Reader] may want to know about its file.
type FileInfo struct {
	// ModTime is when the file was changed last, for forms without times. It
	// is the time of the import where the input is no file.
	ModTime time.Time
}

// The formats, in the order in which Detect is asked.
var formats = []Format{Loopctl{}, Agent{}, Graph{}, Agent{OwnIDs: true}}

// Formats returns the forms that can be read and written.
func Formats() []Format { return slices.Clone(formats) }

// ParseFormat returns the format of that name. An unknown name is a
// [memory.ErrInvalid].
func ParseFormat(name string) (Format, error) {
	for _, f := range formats {
		if f.Name() == name {
			return f, nil
		}
	}
	return nil, &memory.FieldError{Field: "format", Reason: fmt.Sprintf("is %q; use one of %s", name, formatNames())}
}

func formatNames() string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.Name()
	}
	return joinNames(names)
}

func joinNames(names []string) string { return shorten(strings.Join(names, ", ")) }

// detect returns the format of a line, or nil. A line cut short or malformed
// further on is recognized by the keys before that.
func detect(line []byte) Format {
	keys := topLevelKeys(line)
	for _, f := range formats {
		if f.Detect(keys) {
			return f
		}
	}
	return nil
}

func topLevelKeys(line []byte) []string {
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if token, err := d.ReadToken(); err != nil || token.Kind() != jsontext.KindBeginObject {
		return nil
	}
	var keys []string
	for d.PeekKind() == jsontext.KindString {
		key, err := d.ReadToken()
		if err != nil {
			break
		}
		keys = append(keys, key.String())
		if d.SkipValue() != nil {
			break
		}
	}
	return keys
}

// hasKey ignores case, so that a line with a wrongly cased key is recognized
// and then refused with the reason.
func hasKey(keys []string, name string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return strings.EqualFold(key, name) })
}
