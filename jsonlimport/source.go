package jsonlimport

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/loopmem/loopmem/memory"
)

// Input is one thing to read: a file, or a stream that can be read only once.
type Input struct {
	// Name is the path of a file, or what a stream is called in reports.
	Name string
	// Stream, if set, is read in place of a file. It is copied to a temporary
	// file first, because an import reads everything twice.
	Stream io.Reader
	// Rejected is where lines that are skipped go; by default the name with
	// ".rejected.jsonl" after it.
	Rejected string
}

// Inputs makes inputs of the arguments of a command: paths, patterns as
// [filepath.Glob] takes them for systems whose shell does not expand them,
// and "-" for stdin. A path that exists is never taken for a pattern.
func Inputs(args []string, stdin io.Reader) ([]Input, error) {
	var inputs []Input
	var haveStdin bool
	for _, arg := range args {
		if arg == "-" {
			if haveStdin {
				return nil, &memory.FieldError{Field: "-", Reason: "is given twice; standard input can be read only once"}
			}
			haveStdin = true
			inputs = append(inputs, Input{Name: "standard input", Stream: stdin, Rejected: "stdin" + rejectedSuffix})
			continue
		}
		paths := []string{arg}
		if _, err := os.Lstat(arg); errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(arg, "*?[") {
			if paths, err = filepath.Glob(arg); err != nil {
				return nil, fileError(arg, err, "is no file and no pattern: %v", err)
			}
			if len(paths) == 0 {
				return nil, fileError(arg, fs.ErrNotExist, "no file matches this pattern")
			}
		}
		for _, path := range paths {
			inputs = append(inputs, Input{Name: path})
		}
	}
	return inputs, nil
}

const rejectedSuffix = ".rejected.jsonl"

func (i *Input) rejected() string {
	if i.Rejected != "" {
		return i.Rejected
	}
	return i.Name + rejectedSuffix
}

// source is an input that can be read more than once.
type source struct {
	Input
	spool *os.File    // the copy of a stream
	info  fs.FileInfo // of the file or the spool when the import began
	// sums are the fingerprints of its chunks; see [chunk].
	sums []uint64
}

// newSource checks that the input can be read and copies it if it is a
// stream. The caller must close the source.
func newSource(ctx context.Context, input Input, tempDir string, progress func(done int64)) (*source, error) {
	s := &source{Input: input}
	if input.Stream != nil {
		return s, s.copy(ctx, input.Stream, tempDir, progress)
	}
	info, err := os.Stat(s.Name)
	switch {
	case s.Name == "":
		return nil, fileError(`""`, fs.ErrNotExist, "the name of the file is empty")
	case err != nil:
		return nil, fileError(s.Name, err, "cannot be read: %v", cause(err))
	case info.IsDir():
		return nil, fileError(s.Name, memory.ErrInvalid, "is a directory; name the files in it")
	}
	file, err := os.Open(s.Name)
	if err != nil {
		return nil, fileError(s.Name, err, "cannot be read: %v", cause(err))
	}
	defer file.Close()
	if !info.Mode().IsRegular() { // a pipe, as the shell makes for <(command)
		return s, s.copy(ctx, file, tempDir, progress)
	}
	s.info = info
	return s, nil
}

// cause drops the operation and path of a system error, which are known.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// copy spools a stream. The read itself cannot be interrupted, so it is left
// behind when the context ends; it fails once the spool is closed.
func (s *source) copy(ctx context.Context, stream io.Reader, tempDir string, progress func(int64)) error {
	spool, err := newTemporary(tempDir, "loopmem-import-*.jsonl")
	if err != nil {
		return fileError(s.Name, err, "cannot be copied to a temporary file: %v", err)
	}
	s.spool = spool
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(spool, &meter{in: stream, report: func(n int64) {
			if ctx.Err() == nil {
				progress(n)
			}
		}})
		done <- err
	}()
	select {
	case <-ctx.Done():
		s.close()
		return fmt.Errorf("%s: %w", s.Name, ctx.Err())
	case err = <-done:
	}
	if err == nil {
		s.info, err = spool.Stat()
	}
	if err != nil {
		s.close()
		return fileError(s.Name, err, "cannot be copied to a temporary file: %v", err)
	}
	return nil
}

func (s *source) close() {
	if s.spool != nil {
		closeTemporary(s.spool)
	}
}

// newTemporary makes a file for as long as it is open. Where the system lets an
// open file be removed, nothing stays behind even if the process is killed.
// Elsewhere closeTemporary removes it.
func newTemporary(folder, pattern string) (*os.File, error) {
	file, err := os.CreateTemp(folder, pattern)
	if err == nil {
		os.Remove(file.Name())
	}
	return file, err
}

func closeTemporary(file *os.File) {
	file.Close()
	os.Remove(file.Name())
}

// unchanged fails with [ErrSourceChanged] if the file was written to, or
// another put in its place, since the import began.
func (s *source) unchanged() error {
	if s.spool != nil {
		return nil
	}
	info, err := os.Stat(s.Name)
	if err != nil {
		return fileError(s.Name, err, "cannot be read again: %v", cause(err))
	}
	if !os.SameFile(info, s.info) || info.Size() != s.info.Size() || !info.ModTime().Equal(s.info.ModTime()) {
		return s.changed()
	}
	return nil
}

func (s *source) changed() error {
	return fmt.Errorf("%s: %w", s.Name, ErrSourceChanged)
}

// word returns the name with a suffix, quoted for a shell, for commands that
// a user may copy.
func (s *source) word(suffix string) string {
	if s.spool != nil {
		return "FILE" + suffix
	}
	name := s.Name + suffix
	if strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:@%,", r)
	}) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// modTime is when the content dates from, as far as that can be stored.
func (s *source) modTime(started time.Time) time.Time {
	if t := s.info.ModTime(); s.spool == nil && t.Unix() >= 0 {
		return t.UTC()
	}
	return started.UTC().Round(0)
}

// open begins to read the source and returns its text, unpacked and without
// a byte order mark.
func (s *source) open(progress func(done int64)) (*bufio.Reader, io.Closer, error) {
	var raw io.ReadCloser
	if s.spool != nil {
		raw = io.NopCloser(io.NewSectionReader(s.spool, 0, s.info.Size()))
	} else {
		file, err := os.Open(s.Name)
		if err != nil {
			return nil, nil, fileError(s.Name, err, "cannot be read: %v", cause(err))
		}
		raw = file
	}
	text, err := s.decode(&meter{in: raw, report: progress})
	if err != nil {
		raw.Close()
		return nil, nil, err
	}
	return text, raw, nil
}

const bufferSize = 64 << 10

func (s *source) decode(raw io.Reader) (*bufio.Reader, error) {
	text := bufio.NewReaderSize(raw, bufferSize)
	if start, _ := text.Peek(len(gzipMagic)); string(start) == gzipMagic {
		unpacked, err := newGzipReader(text)
		if err != nil {
			return nil, s.readError(err)
		}
		text = bufio.NewReaderSize(unpacked, bufferSize)
	}
	start, err := text.Peek(16)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.readError(err)
	}
	if bytes.HasPrefix(start, []byte(utf8BOM)) {
		_, err := text.Discard(len(utf8BOM))
		return text, err
	}
	if reason := s.foreign(start); reason != "" {
		return nil, fileError(s.Name, memory.ErrInvalid, "%s", reason)
	}
	return text, nil
}

const utf8BOM = "\xef\xbb\xbf"

// foreign tells what a file is that begins like no text we can read.
func (s *source) foreign(start []byte) string {
	for _, encoding := range []struct{ start, name string }{
		{"\xff\xfe\x00\x00", "UTF-32"},
		{"\x00\x00\xfe\xff", "UTF-32"},
		{"\xff\xfe", "UTF-16"},
		{"\xfe\xff", "UTF-16"},
		{"{\x00", "UTF-16LE"},
		{"\x00{", "UTF-16BE"},
	} {
		if bytes.HasPrefix(start, []byte(encoding.start)) {
			return fmt.Sprintf("is %s text; JSONL is UTF-8: iconv -f %[1]s -t UTF-8 %[2]s > %[3]s", encoding.name, s.word(""), s.word(".utf8"))
		}
	}
	for _, other := range []struct{ start, what string }{
		{"SQLite format 3\x00", "an SQLite database, no JSONL. If it is one of loopmem, export it first: loopmem --db " + s.word("") + " export " + s.word(".jsonl")},
		{"PK\x03\x04", "a zip archive; unpack it first"},
		{"\x28\xb5\x2f\xfd", "packed with zstd; unpack it first, or pipe it in: zstd -dc"},
		{"\xfd7zXZ\x00", "packed with xz; unpack it first, or pipe it in: xz -dc"},
		{"BZh", "packed with bzip2; unpack it first, or pipe it in: bzip2 -dc"},
	} {
		if bytes.HasPrefix(start, []byte(other.start)) {
			return "is " + other.what
		}
	}
	return ""
}

// readError names what kept a source from being read to its end.
func (s *source) readError(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fileError(s.Name, err, "is cut short: the gzip data ends early. Get a whole copy, or take what is there: gzip -dc %s", s.word(""))
	case errors.Is(err, errTrailing):
		return fileError(s.Name, err, "has something after the gzip data that is none. Unpack it and look: gzip -dc %s > %s", s.word(""), s.word(".jsonl"))
	case corrupt, errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader):
		return fileError(s.Name, err, "is damaged: the gzip data contradicts itself. Get another copy, or take what is readable: gzip -dc %s", s.word(""))
	default:
		return fileError(s.Name, err, "cannot be read: %v", cause(err))
	}
}

// meter reports how many bytes were read through it.
type meter struct {
	in     io.Reader
	done   int64
	report func(done int64)
}

func (m *meter) Read(p []byte) (int, error) {
	n, err := m.in.Read(p)
	m.done += int64(n)
	m.report(m.done)
	return n, err
}
