package memory

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// AppendJSON appends the entry's JSONL form to dst, without a line end, and
// returns the extended slice.
//
// The form is byte for byte what the Rust LoopMemory file store writes: ten
// fields always, the others only where they differ from their default. The
// entry must be valid; see [Entry.Validate].
func (e *Entry) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"id":"`...)
	dst = appendUUID(dst, e.ID)
	dst = append(dst, `","category":`...)
	dst = appendString(dst, string(e.Category))
	dst = append(dst, `,"memory":`...)
	dst = appendString(dst, e.Memory)
	dst = append(dst, `,"tags":`...)
	dst = appendStrings(dst, e.Tags)
	dst = append(dst, `,"created_at":`...)
	dst = appendTime(dst, &e.CreatedAt)
	dst = append(dst, `,"relevance":`...)
	dst = appendFloat32(dst, e.Relevance)
	dst = append(dst, `,"access_count":`...)
	dst = strconv.AppendUint(dst, e.AccessCount, 10)
	dst = append(dst, `,"validated":`...)
	dst = strconv.AppendBool(dst, e.Validated)
	dst = append(dst, `,"last_accessed":`...)
	dst = appendTime(dst, e.LastAccessed)
	dst = append(dst, `,"last_decayed":`...)
	dst = appendTime(dst, e.LastDecayed)
	dst = e.appendExtensions(dst)
	return append(dst, '}')
}

// appendExtensions appends the fields that the Rust form does not have, each
// only where it differs from its default.
func (e *Entry) appendExtensions(dst []byte) []byte {
	if e.Agent != "" {
		dst = appendString(append(dst, `,"agent":`...), e.Agent)
	}
	if e.Importance != DefaultImportance {
		dst = strconv.AppendUint(append(dst, `,"importance":`...), uint64(e.Importance), 10)
	}
	if e.MemoryType != Episodic {
		dst = appendString(append(dst, `,"memory_type":`...), e.MemoryType.String())
	}
	if len(e.Keywords) > 0 {
		dst = appendStrings(append(dst, `,"keywords":`...), e.Keywords)
	}
	if e.Summary != "" {
		dst = appendString(append(dst, `,"summary":`...), e.Summary)
	}
	if e.Strength != DefaultStrength {
		dst = appendFloat64(append(dst, `,"strength":`...), e.Strength)
	}
	if len(e.RelatedIDs) > 0 {
		dst = appendUUIDs(append(dst, `,"related_ids":`...), e.RelatedIDs)
	}
	if len(e.SourceIDs) > 0 {
		dst = appendUUIDs(append(dst, `,"source_ids":`...), e.SourceIDs)
	}
	if len(e.Embedding) > 0 {
		dst = appendList(append(dst, `,"embedding":`...), e.Embedding, appendFloat32)
	}
	if e.Confidentiality != Public {
		dst = appendString(append(dst, `,"confidentiality":`...), e.Confidentiality.String())
	}
	if e.AuthorUserID != "" {
		dst = appendString(append(dst, `,"author_user_id":`...), e.AuthorUserID)
	}
	if e.AuthorTenantID != "" {
		dst = appendString(append(dst, `,"author_tenant_id":`...), e.AuthorTenantID)
	}
	if len(e.Attributes) > 0 {
		dst = append(dst, `,"attributes":{`...)
		for i, key := range slices.Sorted(maps.Keys(e.Attributes)) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(appendString(dst, key), ':')
			dst = appendString(dst, e.Attributes[key])
		}
		dst = append(dst, '}')
	}
	if e.Pinned {
		dst = append(dst, `,"pinned":true`...)
	}
	return dst
}

func appendList[T any](dst []byte, list []T, appendItem func([]byte, T) []byte) []byte {
	dst = append(dst, '[')
	for i, item := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendItem(dst, item)
	}
	return append(dst, ']')
}

func appendStrings(dst []byte, list []string) []byte { return appendList(dst, list, appendString) }

func appendUUIDs(dst []byte, list []uuid.UUID) []byte {
	return appendList(dst, list, func(dst []byte, id uuid.UUID) []byte {
		return append(appendUUID(append(dst, '"'), id), '"')
	})
}

func appendUUID(dst []byte, id uuid.UUID) []byte {
	text, _ := id.MarshalText() // never fails
	return append(dst, text...)
}

func appendTime(dst []byte, t *time.Time) []byte {
	if t == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"secs_since_epoch":`...)
	dst = strconv.AppendInt(dst, t.Unix(), 10)
	dst = append(dst, `,"nanos_since_epoch":`...)
	dst = strconv.AppendInt(dst, int64(t.Nanosecond()), 10)
	return append(dst, '}')
}

// appendString escapes what serde_json escapes and nothing else: Go's own
// encoder also escapes U+2028, U+2029 and, by default, < > &.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// serde_json writes a float in plain form while its decimal exponent lies in
// a range that differs between the two widths, and in exponent form beyond.
func appendFloat32(dst []byte, x float32) []byte { return appendFloat(dst, float64(x), 32, -6, 13) }
func appendFloat64(dst []byte, x float64) []byte { return appendFloat(dst, x, 64, -5, 16) }

// appendFloat appends the shortest text that reads back as x at the given bit
// size: in plain form where low < point <= high, point being the position of
// the decimal point relative to the first digit.
func appendFloat(dst []byte, x float64, bits, low, high int) []byte {
	var buf [32]byte
	text := strconv.AppendFloat(buf[:0], math.Abs(x), 'e', -1, bits) // d.ddde±xx
	mantissa, exponent, _ := bytes.Cut(text, []byte{'e'})
	exp, _ := strconv.Atoi(string(exponent)) // AppendFloat wrote it
	point := exp + 1
	if math.Signbit(x) {
		dst = append(dst, '-')
	}
	if x != 0 && (point <= low || point > high) {
		dst = append(append(dst, mantissa...), 'e')
		return strconv.AppendInt(dst, int64(exp), 10)
	}
	mark := len(dst)
	dst = strconv.AppendFloat(dst, math.Abs(x), 'f', -1, bits)
	if bytes.IndexByte(dst[mark:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// DecodeError tells why a line is no entry. It matches [ErrInvalid].
type DecodeError struct {
	Offset int    // byte offset in the line where the fault was noticed
	Field  string // the top-level field concerned, or ""
	Reason string // what was expected and what was found
	// Incomplete is set when the text ends in the middle of the object, as a
	// line does whose write was cut short.
	Incomplete bool
}

// Error returns the field, the reason and the column, counted in bytes from 1.
func (e *DecodeError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("column %d: %s", e.Offset+1, e.Reason)
	}
	return fmt.Sprintf("column %d: field %q %s", e.Offset+1, e.Field, e.Reason)
}

// Unwrap returns [ErrInvalid].
func (e *DecodeError) Unwrap() error { return ErrInvalid }

// DecodeJSON reads an entry from its JSONL form: exactly one JSON object,
// with white space around it and nothing else. Keys may come in any order and
// unknown ones are ignored, but nothing is guessed or repaired: a missing
// field, a null, a key twice or in another case, a value of the wrong type or
// out of range, bad UTF-8, a lone surrogate and a NUL are each a
// [DecodeError].
func DecodeJSON(line []byte) (Entry, error) {
	entry, _, err := DecodeJSONUnknown(line)
	return entry, err
}

// DecodeJSONUnknown is [DecodeJSON] for those who must not lose anything in
// silence: it also returns the keys that were ignored, in their order.
func DecodeJSONUnknown(line []byte) (entry Entry, unknown []string, err error) {
	d := decoder{json: jsontext.NewDecoder(bytes.NewReader(line))}
	entry = Entry{
		Relevance:  DefaultRelevance,
		Importance: DefaultImportance,
		Strength:   DefaultStrength,
	}
	if err := d.decode(&entry); err != nil {
		return Entry{}, nil, d.explain(err)
	}
	return entry, d.unknown, nil
}

// decoder walks one object token by token. It uses the token level of the
// JSON library because that level already refuses duplicate keys, bad UTF-8
// and lone surrogates, while nothing is hidden from the checks made here.
type decoder struct {
	json    *jsontext.Decoder
	field   string
	seen    uint64   // bit i: entryFields[i] was read
	unknown []string // keys that no field has
}

// entryFields are the known keys in their order; the first requiredFields
// must be there.
var entryFields = [...]struct {
	name string
	read func(*decoder, *Entry) error
}{
	{"id", func(d *decoder, e *Entry) (err error) { e.ID, err = d.uuid(); return }},
	{"category", func(d *decoder, e *Entry) error {
		name, err := d.text()
		e.Category = Category(name)
		return err
	}},
	{"memory", func(d *decoder, e *Entry) (err error) { e.Memory, err = d.text(); return }},
	{"tags", func(d *decoder, e *Entry) (err error) { e.Tags, err = list(d, (*decoder).text); return }},
	{"created_at", func(d *decoder, e *Entry) (err error) { e.CreatedAt, err = d.time(); return }},
	{"relevance", func(d *decoder, e *Entry) (err error) { e.Relevance, err = d.float32(); return }},
	{"access_count", func(d *decoder, e *Entry) (err error) { e.AccessCount, err = d.uint(math.MaxInt64); return }},
	{"validated", func(d *decoder, e *Entry) (err error) { e.Validated, err = d.bool(); return }},
	{"last_accessed", func(d *decoder, e *Entry) (err error) { e.LastAccessed, err = d.optionalTime(); return }},
	{"last_decayed", func(d *decoder, e *Entry) (err error) { e.LastDecayed, err = d.optionalTime(); return }},
	{"agent", func(d *decoder, e *Entry) (err error) { e.Agent, err = d.text(); return }},
	{"importance", func(d *decoder, e *Entry) error {
		n, err := d.uint(math.MaxUint8)
		e.Importance = uint8(n)
		return err
	}},
	{"memory_type", func(d *decoder, e *Entry) error {
		name, err := d.text()
		if err != nil {
			return err
		}
		e.MemoryType, err = ParseMemoryType(name)
		return err
	}},
	{"keywords", func(d *decoder, e *Entry) (err error) { e.Keywords, err = list(d, (*decoder).text); return }},
	{"summary", func(d *decoder, e *Entry) (err error) { e.Summary, err = d.text(); return }},
	{"strength", func(d *decoder, e *Entry) (err error) { e.Strength, err = d.float64(); return }},
	{"related_ids", func(d *decoder, e *Entry) (err error) { e.RelatedIDs, err = list(d, (*decoder).uuid); return }},
	{"source_ids", func(d *decoder, e *Entry) (err error) { e.SourceIDs, err = list(d, (*decoder).uuid); return }},
	{"embedding", func(d *decoder, e *Entry) (err error) { e.Embedding, err = list(d, (*decoder).float32); return }},
	{"confidentiality", func(d *decoder, e *Entry) error {
		name, err := d.text()
		if err != nil {
			return err
		}
		e.Confidentiality, err = ParseConfidentiality(name)
		return err
	}},
	{"author_user_id", func(d *decoder, e *Entry) (err error) { e.AuthorUserID, err = d.text(); return }},
	{"author_tenant_id", func(d *decoder, e *Entry) (err error) { e.AuthorTenantID, err = d.text(); return }},
	{"attributes", func(d *decoder, e *Entry) (err error) { e.Attributes, err = d.texts(); return }},
	{"pinned", func(d *decoder, e *Entry) (err error) { e.Pinned, err = d.bool(); return }},
}

const requiredFields = 8

func (d *decoder) decode(e *Entry) error {
	if err := d.begin(jsontext.KindBeginObject, "one JSON object"); err != nil {
		return err
	}
	for d.json.PeekKind() != jsontext.KindEndObject {
		if err := d.member(e); err != nil {
			return err
		}
	}
	if _, err := d.json.ReadToken(); err != nil {
		return err
	}
	d.field = ""
	for i, f := range entryFields[:requiredFields] {
		if d.seen&(1<<i) == 0 {
			return invalid(f.name, "is missing")
		}
	}
	if token, err := d.json.ReadToken(); err == nil {
		return fmt.Errorf("a second JSON value, %s, follows the object; put each on a line of its own", describe(token.Kind()))
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return e.Validate()
}

func (d *decoder) member(e *Entry) error {
	d.field = ""
	token, err := d.json.ReadToken()
	if err != nil {
		return err
	}
	name := token.String()
	for i := range entryFields {
		f := &entryFields[i]
		if f.name == name {
			d.field = name
			d.seen |= 1 << i
			return f.read(d, e)
		}
		if strings.EqualFold(f.name, name) {
			return fmt.Errorf("key %q is spelled in another case than %q", name, f.name)
		}
	}
	d.unknown = append(d.unknown, name)
	return d.json.SkipValue()
}

// begin reads the opening token of the kind wanted.
func (d *decoder) begin(kind jsontext.Kind, want string) error {
	_, err := d.token(kind, want)
	return err
}

// token reads one token and checks its kind, without consuming one of another
// kind: a mistyped value is then reported where it begins.
func (d *decoder) token(kind jsontext.Kind, want string) (jsontext.Token, error) {
	if got := d.json.PeekKind(); got != kind && got != jsontext.KindInvalid {
		return jsontext.Token{}, fmt.Errorf("is %s; expected %s", describe(got), want)
	}
	return d.json.ReadToken()
}

func describe(kind jsontext.Kind) string {
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
	case jsontext.KindBeginArray:
		return "an array"
	default:
		return "the end of an array or object"
	}
}

func (d *decoder) text() (string, error) {
	token, err := d.token(jsontext.KindString, "a string")
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

func (d *decoder) bool() (bool, error) {
	switch kind := d.json.PeekKind(); kind {
	case jsontext.KindTrue, jsontext.KindFalse, jsontext.KindInvalid:
		token, err := d.json.ReadToken()
		return err == nil && token.Bool(), err
	default:
		return false, fmt.Errorf("is %s; expected true or false", describe(kind))
	}
}

func (d *decoder) number() (string, error) {
	token, err := d.token(jsontext.KindNumber, "a number")
	if err != nil {
		return "", err
	}
	return token.String(), nil
}

func (d *decoder) float(bits int) (float64, error) {
	text, err := d.number()
	if err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(text, bits)
	if err != nil {
		return 0, fmt.Errorf("is %s, which is too large to store", shorten(text))
	}
	return x, nil
}

func (d *decoder) float64() (float64, error) { return d.float(64) }

func (d *decoder) float32() (float32, error) {
	x, err := d.float(32)
	return float32(x), err
}

// uint reads an unsigned integer up to limit. Forms such as 7.0 and 1e3 are
// refused: serde refuses them too, and what wrote them was no counter.
func (d *decoder) uint(limit uint64) (uint64, error) {
	text, err := d.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > limit {
		return 0, fmt.Errorf("is %s; expected a whole number from 0 to %d", shorten(text), limit)
	}
	return n, nil
}

func (d *decoder) uuid() (uuid.UUID, error) {
	text, err := d.text()
	if err != nil {
		return uuid.Nil, err
	}
	return ParseID(text)
}

// ParseID reads a UUID in every usual spelling: with or without hyphens, in
// either case, in braces, with urn:uuid: before it.
func ParseID(text string) (uuid.UUID, error) {
	id, err := uuid.Parse(text)
	braced := strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}")
	if err != nil || len(text) == len("{}")+36 && !braced { // uuid.Parse takes any two characters for braces
		return uuid.Nil, invalid("id", "is %q, which is no UUID", shorten(text))
	}
	return id, nil
}

func (d *decoder) optionalTime() (*time.Time, error) {
	if d.json.PeekKind() == jsontext.KindNull {
		_, err := d.json.ReadToken()
		return nil, err
	}
	t, err := d.time()
	return &t, err
}

// maxSeconds is the last whole second that int64 nanoseconds can hold.
const maxSeconds = math.MaxInt64 / int64(time.Second)

func (d *decoder) time() (time.Time, error) {
	if err := d.begin(jsontext.KindBeginObject, "a time: an object of secs_since_epoch and nanos_since_epoch"); err != nil {
		return time.Time{}, err
	}
	var seconds, nanos uint64
	var haveSeconds, haveNanos bool
	for d.json.PeekKind() != jsontext.KindEndObject {
		key, err := d.json.ReadToken()
		if err != nil {
			return time.Time{}, err
		}
		switch name := key.String(); name {
		case "secs_since_epoch":
			seconds, err = d.uint(math.MaxUint64)
			haveSeconds = true
		case "nanos_since_epoch":
			nanos, err = d.uint(uint64(time.Second) - 1)
			haveNanos = true
		default:
			return time.Time{}, fmt.Errorf("has the unknown key %q; a time has secs_since_epoch and nanos_since_epoch", shorten(name))
		}
		if err != nil {
			return time.Time{}, err
		}
	}
	if _, err := d.json.ReadToken(); err != nil {
		return time.Time{}, err
	}
	if !haveSeconds || !haveNanos {
		return time.Time{}, errors.New("lacks secs_since_epoch or nanos_since_epoch")
	}
	if seconds > uint64(maxSeconds) {
		return time.Time{}, fmt.Errorf("is %d seconds after 1970; times past 2262 cannot be stored (are these milliseconds?)", seconds)
	}
	return time.Unix(int64(seconds), int64(nanos)).UTC(), nil
}

// list reads an array; an empty one is nil.
func list[T any](d *decoder, item func(*decoder) (T, error)) ([]T, error) {
	if err := d.begin(jsontext.KindBeginArray, "an array"); err != nil {
		return nil, err
	}
	var items []T
	for d.json.PeekKind() != jsontext.KindEndArray {
		x, err := item(d)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	_, err := d.json.ReadToken()
	return items, err
}

// texts reads an object of strings; an empty one is nil.
func (d *decoder) texts() (map[string]string, error) {
	if err := d.begin(jsontext.KindBeginObject, "an object of strings"); err != nil {
		return nil, err
	}
	var m map[string]string
	for d.json.PeekKind() != jsontext.KindEndObject {
		key, err := d.json.ReadToken()
		if err != nil {
			return nil, err
		}
		name := key.String()
		if m == nil {
			m = make(map[string]string)
		}
		if m[name], err = d.text(); err != nil {
			return nil, err
		}
	}
	_, err := d.json.ReadToken()
	return m, err
}

// explain turns whatever stopped the walk into a DecodeError that says where.
func (d *decoder) explain(err error) error {
	out := ExplainSyntax(err, int(d.json.InputOffset()))
	if field, ok := errors.AsType[*FieldError](err); ok {
		out.Field, out.Reason = field.Field, field.Reason
	}
	if d.field != "" {
		out.Field = d.field
	}
	return out
}

// ExplainSyntax turns what the JSON library said about a line into a
// [DecodeError], for readers of other forms to fail as [DecodeJSON] does. The
// offset is where reading stopped, for errors that do not tell.
func ExplainSyntax(err error, offset int) *DecodeError {
	out := &DecodeError{Offset: offset, Reason: err.Error()}
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		out.Offset, out.Reason = int(syntax.ByteOffset), syntax.Err.Error()
		if errors.Is(err, jsontext.ErrDuplicateName) {
			out.Field, out.Reason = duplicate(syntax.JSONPointer)
		}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		out.Incomplete, out.Reason = true, "the line ends in the middle of the object"
	}
	return out
}

// duplicate tells about a key that stands twice, at the top or further in.
func duplicate(key jsontext.Pointer) (field, reason string) {
	name := shorten(key.LastToken())
	if key.Parent() == "" {
		return name, "stands twice in the object"
	}
	for field = range key.Tokens() {
		break // the first one is at the top
	}
	return field, fmt.Sprintf("has the key %q twice", name)
}

// shorten cuts text that is quoted in an error, on a character boundary.
func shorten(text string) string {
	const limit = 60
	if len(text) <= limit {
		return text
	}
	cut := 0
	for i := range text {
		if i > limit {
			break
		}
		cut = i
	}
	return text[:cut] + "…"
}
