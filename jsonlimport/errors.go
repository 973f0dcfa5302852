package jsonlimport

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/loopmem/loopmem/memory"
)

// ErrSourceChanged means that a source was not the same when it was read for
// the second time. Stop what writes to it, then import again.
var ErrSourceChanged = errors.New("the source changed during the import")

// LineError tells what is wrong with one line of a source.
type LineError struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`   // from 1; 0 means the file as a whole
	Column int    `json:"column,omitempty"` // in bytes from 1; 0 means the line as a whole
	Field  string `json:"field,omitempty"`  // the field concerned, if it is one
	Reason string `json:"reason"`           // what was found and what was expected
	Near   string `json:"near,omitempty"`   // the text at the column, shortened
	// TooLong is set if the line is longer than [Options.MaxLineBytes].
	TooLong bool `json:"too_long,omitempty"`
}

// Error puts the position first, in the form that editors understand.
func (e *LineError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:", e.File, e.Line)
	if e.Column > 0 {
		fmt.Fprintf(&b, "%d:", e.Column)
	}
	if e.Field != "" {
		fmt.Fprintf(&b, " field %s:", e.Field)
	}
	fmt.Fprintf(&b, " %s", e.Reason)
	if e.Near != "" {
		fmt.Fprintf(&b, ", at %#q", e.Near)
	}
	return b.String()
}

// lineError explains why a reader refused a line.
func lineError(file string, l *line, err error) *LineError {
	out := &LineError{File: file, Line: l.number, Reason: err.Error(), TooLong: l.tooLong}
	offset := -1
	if fault, ok := errors.AsType[*memory.DecodeError](err); ok {
		out.Field, out.Reason, offset = fault.Field, fault.Reason, fault.Offset
	} else if fault, ok := errors.AsType[*memory.FieldError](err); ok {
		out.Field, out.Reason = fault.Field, fault.Reason
	}
	if o := parseObject(l.text); out.Field != "" && o.err == nil {
		// The line is good JSON, so the value is what is wrong. Decoders
		// notice that anywhere from the colon to the end of the line.
		v, ok := o.fields[out.Field]
		if !ok {
			return out // a field that is missing is nowhere
		}
		if offset < v.offset || offset >= v.offset+len(v.raw) {
			offset = v.offset
		}
	}
	if offset >= 0 {
		offset, out.Reason = explainBytes(l.text, offset, out.Reason)
		out.Column, out.Near = offset+1, excerpt(l.text, offset)
	}
	return out
}

// explainBytes says of two faults, of which the JSON library only says that
// they are there, what they are and what to do. It returns where they are too.
func explainBytes(line []byte, offset int, reason string) (int, string) {
	if at := invalidUTF8(line); at >= 0 && at >= offset {
		return at, fmt.Sprintf("holds the byte 0x%02x, which is no UTF-8; convert the file from the encoding that it has: iconv -f WINDOWS-1252 -t UTF-8", line[at])
	}
	if escape := line[min(offset, len(line)):]; surrogate.Match(escape) {
		return offset, fmt.Sprintf("holds %s, one half of a surrogate pair; both together mean a character, write \\ufffd if the other one is lost", escape[:6])
	}
	return offset, reason
}

// surrogate is the escape of one half of a pair. Where a fault is noticed at
// one, the other half is missing.
var surrogate = regexp.MustCompile(`^\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

// invalidUTF8 returns the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// excerpt returns some text around an offset, cut between characters.
func excerpt(text []byte, offset int) string {
	const before, after = 16, 40
	from, to := max(0, min(offset, len(text))-before), min(len(text), offset+after)
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	out := string(text[from:to])
	if from > 0 {
		out = "…" + out
	}
	if to < len(text) {
		out += "…"
	}
	return out
}

// RefusedError means that the input was found unfit before anything was
// written: nothing was stored. It matches [memory.ErrInvalid] if lines are
// malformed and [memory.ErrConflict] if ids exist that must not.
type RefusedError struct {
	Lines []*LineError // the first of them, see [Options.MaxErrors]
	Total int          // how many there are
	Err   error        // memory.ErrInvalid or memory.ErrConflict
}

// Error lists the lines and tells how to go on.
func (e *RefusedError) Error() string {
	var b strings.Builder
	for _, line := range e.Lines {
		fmt.Fprintln(&b, line)
	}
	if more := e.Total - len(e.Lines); more > 0 {
		fmt.Fprintf(&b, "... and %s more\n", english.Plural(more, "line", ""))
	}
	if errors.Is(e.Err, memory.ErrConflict) {
		b.WriteString("Nothing was stored. To import the others, choose to keep or to replace entries that exist.")
	} else {
		b.WriteString("Nothing was stored. Correct this and import again, or skip malformed lines: they are then set aside and the others stored.")
	}
	return b.String()
}

// Unwrap returns Err.
func (e *RefusedError) Unwrap() error { return e.Err }

// add counts a fault and keeps it while there are no more than limit.
func (e *RefusedError) add(fault *LineError, limit int) {
	e.Total++
	if len(e.Lines) < limit {
		e.Lines = append(e.Lines, fault)
	}
}

// FileError means that a source cannot be read at all. Nothing was stored.
type FileError struct {
	File   string
	Reason string
	Err    error // what the system or a library said, or memory.ErrInvalid
}

// Error returns the file and the reason.
func (e *FileError) Error() string { return e.File + ": " + e.Reason }

// Unwrap returns Err.
func (e *FileError) Unwrap() error { return e.Err }

func fileError(file string, err error, reason string, args ...any) error {
	return &FileError{File: file, Reason: fmt.Sprintf(reason, args...), Err: err}
}

// PartialError means that an import stopped after it had begun to write. What
// is stored is whole entries, and importing again completes it.
type PartialError struct {
	Stored int // entries that are in the store now, those that were before included
	Total  int // entries that would be there at the end
	Err    error
	// Exist is set where importing again needs another way to treat entries
	// that exist, as the ones now stored would be in conflict.
	Exist bool
}

// Error tells where things stand and how to go on.
func (e *PartialError) Error() string {
	hint := "import again to complete it"
	if e.Exist {
		hint += ", keeping entries that exist"
	}
	return fmt.Sprintf("stopped with %s of %s in the store: %v; %s", humanize.Comma(int64(e.Stored)), english.Plural(e.Total, "entry", ""), e.Err, hint)
}

// Unwrap returns Err.
func (e *PartialError) Unwrap() error { return e.Err }

// shorten cuts text that is quoted in an error, between characters.
func shorten(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	cut := limit
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
