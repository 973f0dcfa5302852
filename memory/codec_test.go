package memory_test

import (
	"bytes"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// goldenLines returns the lines of a file in the JSONL form.
func goldenLines(t testing.TB) [][]byte {
	t.Helper()
	data, err := os.ReadFile("testdata/entries.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]byte
	for line := range bytes.Lines(data) {
		lines = append(lines, bytes.TrimSuffix(line, []byte("\n")))
	}
	return lines
}

func mustDecode(t testing.TB, line string) memory.Entry {
	t.Helper()
	e, err := memory.DecodeJSON([]byte(line))
	if err != nil {
		t.Fatalf("DecodeJSON(%s): %v", line, err)
	}
	return e
}

func TestAppendJSONRoundTrip(t *testing.T) {
	for i, line := range goldenLines(t) {
		e := mustDecode(t, string(line))
		if got := e.AppendJSON(nil); !bytes.Equal(got, line) {
			t.Errorf("line %d comes out as\n%s\nwant\n%s", i+1, got, line)
		}
	}
}

// The golden lines are read field by field, so that two mistakes in encoder
// and decoder cannot hide each other.
func TestDecodeJSONFields(t *testing.T) {
	id := func(last byte) uuid.UUID {
		id := uuid.MustParse("0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e00")
		id[15] = last
		return id
	}
	want := []memory.Entry{
		{
			ID: id(0x40), Category: memory.ErrorPattern, Memory: "Time-out of the gateway: try again, later each time",
			Tags: []string{"api", "retry", "api"}, CreatedAt: time.Unix(1760001954, 0).UTC(),
			Relevance: 0.42, AccessCount: 7, Validated: true,
			LastAccessed: new(time.Unix(1764000000, 5).UTC()), LastDecayed: new(time.Unix(1763000000, 999999999).UTC()),
			Importance: 5, Strength: 1,
		},
		{
			ID: id(0x41), Category: "preference",
			Memory: "\"quoted\" back\\slash /slash\ttab\nline\r\b\f \x01\x1f \x7f\u2028\u2029 <b>&amp;</b> 東京 🙂",
			Tags:   []string{"", "\x02"}, CreatedAt: time.Unix(0, 1).UTC(),
			AccessCount: math.MaxInt64, Importance: 5, Strength: 1,
		},
		{
			ID: id(0x42), Category: memory.Fact, CreatedAt: time.Unix(0, math.MaxInt64).UTC(), Relevance: 1e-7,
			Agent: "tg:123:assistant", Importance: 10, MemoryType: memory.Reflection, Keywords: []string{"a", "b"},
			Summary: "short", Strength: 1.5e16, RelatedIDs: []uuid.UUID{id(0x3f)}, SourceIDs: []uuid.UUID{id(0x40), id(0x41)},
			Embedding:       []float32{0.1, -1, math.MaxFloat32, math.SmallestNonzeroFloat32},
			Confidentiality: memory.Restricted, AuthorUserID: "u", AuthorTenantID: "t",
			Attributes: map[string]string{"": "empty", "a": "", "b\n": "ü"}, Pinned: true,
		},
	}
	for i, line := range goldenLines(t)[1:4] {
		if diff := cmp.Diff(want[i], mustDecode(t, string(line))); diff != "" {
			t.Errorf("line %d differs (-want +got):\n%s", i+2, diff)
		}
	}
}

func TestAppendJSONFloats(t *testing.T) {
	e := memory.NewEntry(memory.Fact, "")
	for x, want := range map[float32]string{
		0: "0.0", 1: "1.0", 0.42: "0.42", -7.5: "-7.5", 0.1: "0.1", 123456.7: "123456.7",
		1e-6: "0.000001", 1.5e-6: "0.0000015", 9.5e-7: "9.5e-7", 1.5e-7: "1.5e-7", 1e-7: "1e-7", 1e-45: "1e-45",
		1e12: "1000000000000.0", 1.5e12: "1500000000000.0", 1e13: "1e13", 16777216: "16777216.0",
		math.MaxFloat32: "3.4028235e38",
	} {
		e.Relevance = x
		if got := field(t, e, "relevance"); got != want {
			t.Errorf("relevance %g is written %s, want %s", x, got, want)
		}
	}
	for x, want := range map[float64]string{
		0: "0.0", 0.30000000000000004: "0.30000000000000004", -1: "-1.0", 1.0 / 3: "0.3333333333333333",
		1e-5: "0.00001", 1.25e-5: "0.0000125", 1e-6: "1e-6", 1.25e-7: "1.25e-7",
		1e15: "1000000000000000.0", 1e16: "1e16", 1.5e15: "1500000000000000.0", 1.5e16: "1.5e16", 9007199254740993: "9007199254740992.0",
		math.MaxFloat64: "1.7976931348623157e308", math.SmallestNonzeroFloat64: "5e-324",
	} {
		e.Strength = x
		if got := field(t, e, "strength"); got != want {
			t.Errorf("strength %g is written %s, want %s", x, got, want)
		}
	}
	e.Relevance, e.Strength = float32(math.Copysign(0, -1)), math.Copysign(0, -1)
	for _, name := range []string{"relevance", "strength"} {
		if got := field(t, e, name); got != "-0.0" {
			t.Errorf("negative zero as %s is written %s, want -0.0", name, got)
		}
	}
}

// field returns the raw JSON of a number in the entry's form.
func field(t *testing.T, e memory.Entry, name string) string {
	t.Helper()
	_, rest, found := strings.Cut(string(e.AppendJSON(nil)), `"`+name+`":`)
	if !found {
		t.Fatalf("there is no %s in %s", name, e.AppendJSON(nil))
	}
	return rest[:strings.IndexAny(rest, ",}")]
}

func TestAppendJSONAppends(t *testing.T) {
	e := memory.NewEntry(memory.Fact, "text")
	got := e.AppendJSON([]byte("before "))
	if want := "before " + string(e.AppendJSON(nil)); string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// plain is a line with all ten fields, to be spoilt in one place.
const plain = `{"id":"0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f","category":"fact","memory":"text","tags":["tag"],"created_at":{"secs_since_epoch":1,"nanos_since_epoch":2},"relevance":0.5,"access_count":3,"validated":true,"last_accessed":{"secs_since_epoch":3,"nanos_since_epoch":4},"last_decayed":null}`

// with returns the plain line with one part replaced, which must be in it.
func with(t testing.TB, old, replacement string) string {
	t.Helper()
	if !strings.Contains(plain, old) {
		t.Fatalf("%q is not in the plain line", old)
	}
	return strings.Replace(plain, old, replacement, 1)
}

// extended returns the plain line with more fields.
func extended(fields string) string { return strings.TrimSuffix(plain, "}") + "," + fields + "}" }

func TestDecodeJSONAccepts(t *testing.T) {
	want := mustDecode(t, plain)
	for name, line := range map[string]string{
		"space around":                   " \t" + plain + "\r\n ",
		"space inside":                   strings.ReplaceAll(plain, ",", " ,\n "),
		"another order":                  `{"last_decayed":null,` + strings.TrimSuffix(plain[1:], `,"last_decayed":null}`) + "}",
		"no last_decayed":                strings.Replace(plain, `,"last_decayed":null`, "", 1),
		"unknown fields":                 extended(`"later":{"any":[1,null,"x"]},"x":null`),
		"a known name inside an unknown": extended(`"later":{"id":7,"ID":8}`),
		"an upper-case UUID":             with(t, "0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f", "0B3F8A52-6D0E-5C11-9A44-0F6A7C1D2E3F"),
		"a UUID in braces":               with(t, "0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f", "{0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f}"),
		"a UUID as URN":                  with(t, "0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f", "urn:uuid:0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f"),
		"a UUID without hyphens":         with(t, "0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f", "0b3f8a526d0e5c119a440f6a7c1d2e3f"),
		"escapes nobody needs":           with(t, `"text"`, `"\u0074\u0065xt"`),
		"an escaped key":                 with(t, `"memory"`, `"m\u0065mory"`),
		"a float in another form":        with(t, "0.5", "5E-1"),
		"a relevance without point":      with(t, "0.5", "0.50000000000000000001"),
		"defaults written out":           extended(`"agent":"","importance":5,"memory_type":"episodic","keywords":[],"summary":"","strength":1,"related_ids":[],"source_ids":[],"embedding":[],"confidentiality":"public","author_user_id":"","author_tenant_id":"","attributes":{},"pinned":false`),
	} {
		got, err := memory.DecodeJSON([]byte(line))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if e := mustDecode(t, with(t, `"text"`, `"\ud83d\ude42"`)); e.Memory != "🙂" {
		t.Errorf("an escaped pair of surrogates is read as %q", e.Memory)
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	type fault struct {
		line  string
		about string // a word of the error that helps to find the fault
	}
	faults := map[string]fault{
		"nothing":                      {"", "ends"},
		"white space":                  {" \n", "ends"},
		"null":                         {"null", "null"},
		"an array":                     {"[" + plain + "]", "array"},
		"a number":                     {"7", "number"},
		"an empty object":              {"{}", "missing"},
		"two objects":                  {plain + plain, "second"},
		"trailing garbage":             {plain + "x", ""},
		"a trailing comma":             {strings.TrimSuffix(plain, "}") + ",}", ""},
		"a byte order mark":            {"\ufeff" + plain, ""},
		"a key twice":                  {extended(`"memory":"again"`), "twice"},
		"a key twice by its escape":    {extended(`"m\u0065mory":"again"`), "twice"},
		"an unknown key twice":         {extended(`"x":1,"x":2`), "twice"},
		"a key twice in an unknown":    {extended(`"x":{"y":1,"y":2}`), "twice"},
		"a key in another case":        {with(t, `"memory"`, `"Memory"`), "Memory"},
		"an optional key in capitals":  {extended(`"AGENT":"x"`), "AGENT"},
		"a bad UUID":                   {with(t, "0b3f8a52", "0b3f8a5"), "UUID"},
		"a UUID in wrong braces":       {with(t, "0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f", "(0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f)"), "UUID"},
		"the zero UUID":                {with(t, "0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f", "00000000-0000-0000-0000-000000000000"), "zero"},
		"an empty category":            {with(t, `"fact"`, `""`), "empty"},
		"NUL":                          {with(t, `"text"`, `"a\u0000b"`), "NUL"},
		"NUL in a tag":                 {with(t, `"tag"`, `"\u0000"`), "NUL"},
		"a control character":          {with(t, `"text"`, "\"a\x01b\""), ""},
		"bad UTF-8":                    {with(t, `"text"`, "\"caf\xe9\""), "UTF-8"},
		"bad UTF-8 in an unknown":      {extended("\"x\":\"\xff\""), "UTF-8"},
		"a lone high surrogate":        {with(t, `"text"`, `"\ud83d"`), "surrogate"},
		"a lone low surrogate":         {with(t, `"text"`, `"\ude42 x"`), "surrogate"},
		"two high surrogates":          {with(t, `"text"`, `"\ud83d\ud83d"`), "surrogate"},
		"a null tag":                   {with(t, `["tag"]`, `[null]`), "null"},
		"an object as text":            {with(t, `"text"`, `{}`), "object"},
		"an array as text":             {with(t, `"text"`, `[]`), "array"},
		"a boolean as text":            {with(t, `"text"`, `true`), "boolean"},
		"a tag that is a number":       {with(t, `["tag"]`, `[7]`), "number"},
		"a time as a number":           {with(t, `{"secs_since_epoch":1,"nanos_since_epoch":2}`, "1760000000"), "secs_since_epoch"},
		"a time as text":               {with(t, `{"secs_since_epoch":1,"nanos_since_epoch":2}`, `"2025-01-01T00:00:00Z"`), "string"},
		"a time without nanos":         {with(t, `,"nanos_since_epoch":2`, ``), "nanos_since_epoch"},
		"a time of more":               {with(t, `"nanos_since_epoch":2`, `"nanos_since_epoch":2,"zone":0`), "zone"},
		"nanos of a second":            {with(t, `"nanos_since_epoch":2`, `"nanos_since_epoch":1000000000`), "999999999"},
		"negative seconds":             {with(t, `"secs_since_epoch":1`, `"secs_since_epoch":-1`), "-1"},
		"seconds with a point":         {with(t, `"secs_since_epoch":1`, `"secs_since_epoch":1.0`), "whole"},
		"seconds with an exponent":     {with(t, `"secs_since_epoch":1`, `"secs_since_epoch":1.7e12`), "whole"},
		"milliseconds":                 {with(t, `"secs_since_epoch":1`, `"secs_since_epoch":1760000000000`), "milliseconds"},
		"seconds past 2^64":            {with(t, `"secs_since_epoch":1`, `"secs_since_epoch":18446744073709551616`), "whole"},
		"the last second, but later":   {with(t, `{"secs_since_epoch":1,"nanos_since_epoch":2}`, `{"secs_since_epoch":9223372036,"nanos_since_epoch":854775808}`), "2262"},
		"a count with a point":         {with(t, `"access_count":3`, `"access_count":7.0`), "7.0"},
		"a count with an exponent":     {with(t, `"access_count":3`, `"access_count":1e3`), "whole"},
		"a negative count":             {with(t, `"access_count":3`, `"access_count":-1`), "-1"},
		"a count of minus zero":        {with(t, `"access_count":3`, `"access_count":-0`), "whole"},
		"a count past 2^63-1":          {with(t, `"access_count":3`, `"access_count":9223372036854775808`), "9223372036854775807"},
		"a count as text":              {with(t, `"access_count":3`, `"access_count":"3"`), "string"},
		"a relevance too large":        {with(t, "0.5", "1e39"), "large"},
		"NaN":                          {with(t, "0.5", "NaN"), ""},
		"a relevance as text":          {with(t, "0.5", `"0.5"`), "string"},
		"validated as a number":        {with(t, `"validated":true`, `"validated":1`), "true or false"},
		"importance past 255":          {extended(`"importance":256`), "255"},
		"an unknown memory type":       {extended(`"memory_type":"Episodic"`), "episodic"},
		"an unknown level":             {extended(`"confidentiality":"secret"`), "restricted"},
		"a strength too large":         {extended(`"strength":1e309`), "large"},
		"a bad related id":             {extended(`"related_ids":["x"]`), "UUID"},
		"an embedding of text":         {extended(`"embedding":["x"]`), "string"},
		"an embedding too large":       {extended(`"embedding":[1e39]`), "large"},
		"an attribute of another type": {extended(`"attributes":{"k":1}`), "number"},
		"attributes as a list":         {extended(`"attributes":["k"]`), "object"},
		"an attribute twice":           {extended(`"attributes":{"k":"1","k":"2"}`), "twice"},
	}
	for _, name := range []string{"id", "category", "memory", "tags", "created_at", "relevance", "access_count", "validated"} {
		faults["no "+name] = fault{with(t, `"`+name+`"`, `"other"`), name}
	}
	for _, name := range []string{
		"agent", "importance", "memory_type", "keywords", "summary", "strength", "related_ids", "source_ids", "embedding",
		"confidentiality", "author_user_id", "author_tenant_id", "attributes", "pinned",
	} {
		faults["null as "+name] = fault{extended(`"` + name + `":null`), name}
	}
	for _, value := range []string{
		`"id":"0b3f8a52-6d0e-5c11-9a44-0f6a7c1d2e3f"`, `"category":"fact"`, `"memory":"text"`, `"tags":["tag"]`,
		`"created_at":{"secs_since_epoch":1,"nanos_since_epoch":2}`, `"relevance":0.5`, `"access_count":3`, `"validated":true`,
	} {
		name, _, _ := strings.Cut(value, ":")
		faults["null as "+name] = fault{with(t, value, name+":null"), "null"}
	}
	for name, f := range faults {
		e, err := memory.DecodeJSON([]byte(f.line))
		decode, ok := errors.AsType[*memory.DecodeError](err)
		if !ok || !errors.Is(err, memory.ErrInvalid) {
			t.Errorf("%s: got %v and %+v, want a DecodeError that is ErrInvalid", name, err, e)
			continue
		}
		if !strings.Contains(err.Error(), f.about) || decode.Offset < 0 || decode.Offset > len(f.line) {
			t.Errorf("%s: the error %q at byte %d of %d should mention %q", name, err, decode.Offset, len(f.line), f.about)
		}
		if decode.Incomplete != (strings.TrimSpace(f.line) == "") {
			t.Errorf("%s: Incomplete is %t: %v", name, decode.Incomplete, err)
		}
	}
}

func TestDecodeErrorText(t *testing.T) {
	for line, want := range map[string]string{
		with(t, "0.5", "null"):            `column 164: field "relevance" is null; expected a number`,
		with(t, `"category":"fact",`, ``): `column 266: field "category" is missing`,
		extended(`"memory":""`):           `column 284: field "memory" stands twice in the object`,
		with(t, `"access_count":3`, `"access_count":`+strings.Repeat("9", 80)): `column 264: field "access_count" is ` + strings.Repeat("9", 60) + `…; expected a whole number from 0 to 9223372036854775807`,
		extended(`"memory_type":"` + strings.Repeat("é", 80) + `"`):            `column 460: field "memory_type" is "` + strings.Repeat("é", 30) + `…"; use one of episodic, semantic, reflection`,
		plain[:100]: `column 101: the line ends in the middle of the object`,
	} {
		_, err := memory.DecodeJSON([]byte(line))
		if err == nil || err.Error() != want {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// A write that was cut short leaves a line that ends anywhere; a reader must
// be able to tell it from one that is wrong.
func TestDecodeJSONIncomplete(t *testing.T) {
	for _, line := range goldenLines(t) {
		for cut := range line {
			_, err := memory.DecodeJSON(line[:cut])
			decode, ok := errors.AsType[*memory.DecodeError](err)
			if !ok || !decode.Incomplete {
				t.Fatalf("cut after byte %d of %d: %v\n%s", cut, len(line), err, line[:cut])
			}
		}
	}
}
