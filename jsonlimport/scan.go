package jsonlimport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/loopmem/loopmem/memory"
)

// item is what became of one line: entries, a fault, or a torn end.
type item struct {
	line    *line
	format  Format // nil where none is known yet
	entries []memory.Entry
	ignored []string // fields that the form does not know
	fault   *LineError
	torn    bool
	rest    func(io.Writer) error // writes what is left of a line too long
}

// scanner reads the items of one source. Both passes use it, so that they
// cannot disagree.
type scanner struct {
	file   string
	info   FileInfo
	admit  func(*memory.Entry) error
	format Format // nil until a line tells
	reader Reader
	lines  *lineReader
}

// scan calls visit for each line that is not blank. It returns the format
// that the source was read in, or nil, and what its reader has to say.
func (s *source) scan(ctx context.Context, opts *Options, info FileInfo, progress func(int64), visit func(*item) error) (Format, []string, error) {
	in, closer, err := s.open(progress)
	if err != nil {
		return nil, nil, err
	}
	defer closer.Close()
	sc := scanner{file: s.Name, info: info, admit: opts.Admit, lines: newLineReader(in, opts.MaxLineBytes)}
	if opts.Format != nil {
		sc.use(opts.Format)
	}
	begun := false // a line was not blank
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		line, err := sc.lines.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, s.readError(err)
		}
		if line.blank() {
			continue
		}
		if !begun && bytes.HasPrefix(bytes.TrimLeft(line.text, " \t\r"), []byte("[")) {
			return nil, nil, fileError(s.Name, memory.ErrInvalid,
				"line %d begins a JSON array, and JSONL wants one object a line: jq -c '.[]' %s > %s", line.number, s.word(""), s.word(".jsonl"))
		}
		begun = true
		if err := visit(sc.item(line)); err != nil {
			return nil, nil, err
		}
	}
	if sc.reader == nil {
		return nil, nil, nil
	}
	return sc.format, sc.reader.End(), nil
}

func (sc *scanner) use(format Format) {
	sc.format, sc.reader = format, format.Reader(sc.info)
}

func (sc *scanner) item(l *line) *item {
	it := &item{line: l, rest: sc.lines.copyRest}
	entries, err := sc.entries(l)
	fault, _ := errors.AsType[*memory.DecodeError](err)
	switch {
	case err == nil:
		it.entries, it.ignored, it.format = entries, sc.reader.Ignored(), sc.format
	case fault != nil && fault.Incomplete && !l.terminated:
		it.torn = true
	default:
		it.fault = lineError(sc.file, l, err)
	}
	return it
}

func (sc *scanner) entries(l *line) ([]memory.Entry, error) {
	if l.tooLong {
		return nil, fmt.Errorf("is longer than %s (%s bytes); raise the limit to read it",
			humanize.IBytes(uint64(sc.lines.limit)), humanize.Comma(int64(sc.lines.limit)))
	}
	if err := precheck(l.text); err != nil {
		return nil, err
	}
	if sc.reader == nil {
		format := detect(l.text)
		if format == nil {
			return nil, unrecognized(l.text)
		}
		sc.use(format)
	}
	entries, err := sc.reader.Entries(l.text)
	if err != nil {
		return nil, err
	}
	for i := range entries {
		if err := sc.admit(&entries[i]); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// precheck names what a JSON decoder would only call an invalid character.
func precheck(text []byte) error {
	fault := func(offset int, reason string) error {
		return &memory.DecodeError{Offset: offset, Reason: reason}
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		return fault(i, fmt.Sprintf("holds %s, as a crash or a sparse copy leaves them", english.Plural(bytes.Count(text, []byte{0}), "NUL byte", "")))
	}
	for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
		if bytes.HasPrefix(text, []byte(marker)) {
			return fault(0, "is a git conflict marker; resolve the conflict first")
		}
	}
	if bytes.HasPrefix(text, []byte(utf8BOM)) {
		return fault(0, "begins with a byte order mark, as files put together carelessly do; remove it")
	}
	switch body := bytes.TrimLeft(text, " \t\r"); body[0] {
	case '{':
		return nil
	case '[':
		return fault(len(text)-len(body), "is a JSON array; expected one JSON object a line")
	default:
		return fault(len(text)-len(body), "is no JSON object; each line must be one")
	}
}

// unrecognized explains a line that belongs to no form. If it is no JSON
// object either, that is the better explanation.
func unrecognized(text []byte) error {
	o := parseObject(text)
	switch {
	case o.err != nil:
		return o.err
	case len(o.names) == 0:
		return errors.New("is an empty object; expected an entry in one of the forms " + formatNames())
	default:
		return fmt.Errorf("is of none of the forms %s; its keys are %s", formatNames(), joinNames(o.names))
	}
}

// chunk is a run of lines of one source that are stored together. Where it
// ends depends on the lines alone, so both passes cut alike, and the second
// can prove before each write that it read what the first one validated.
type chunk struct {
	opts    *Options
	entries int
	bytes   int
	hash    maphash.Hash
}

func newChunk(opts *Options, seed maphash.Seed) *chunk {
	c := &chunk{opts: opts}
	c.hash.SetSeed(seed)
	return c
}

// add adds a line and reports whether the chunk is full.
func (c *chunk) add(it *item) (full bool) {
	c.hash.Write(it.line.raw)
	c.entries += len(it.entries)
	c.bytes += len(it.line.raw)
	return c.entries >= c.opts.BatchEntries || c.bytes >= c.opts.BatchBytes
}

// cut ends the chunk, returns its fingerprint and begins the next.
func (c *chunk) cut() uint64 {
	sum := c.hash.Sum64()
	c.hash.Reset()
	c.entries, c.bytes = 0, 0
	return sum
}
