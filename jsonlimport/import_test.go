package jsonlimport_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
)

// manyLines returns n lines in the loopctl form with ids of their own.
func manyLines(n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"00000000-0000-4000-8000-%012d","category":"fact","memory":"entry %[1]d","tags":[],`+
			`"created_at":{"secs_since_epoch":1760000000,"nanos_since_epoch":0},"relevance":1.0,"access_count":0,`+
			`"validated":false,"last_accessed":null,"last_decayed":null}`+"\n", i+1)
	}
	return lines
}

func TestImport_again(t *testing.T) {
	for _, tt := range []struct {
		onConflict memory.OnConflict
		existing   int
		replaced   int
	}{
		{onConflict: memory.Keep, existing: 6},
		{onConflict: memory.Replace, replaced: 6},
	} {
		lines := cleanLines(t)
		changed := mustWrite(t, "changed.jsonl", strings.ReplaceAll(strings.Join(lines, ""), "Prefer", "Avoid"))
		store := mustStore(t)
		mustImport(t, store, jsonlimport.Options{}, "testdata/clean.jsonl")
		before := mustEntries(t, store)
		options := jsonlimport.Options{OnConflict: tt.onConflict}

		dry := options
		dry.DryRun = true
		told := mustImport(t, store, dry, changed)
		mustEqual(t, "entries after a dry run", mustEntries(t, store), before)
		for range 2 {
			report := mustImport(t, store, options, changed)
			if report.Imported != 0 || report.Existing != tt.existing || report.Replaced != tt.replaced {
				t.Errorf("report %+v; want %d existing and %d replaced", report, tt.existing, tt.replaced)
			}
			if report.Existing != told.Existing || report.Replaced != told.Replaced || report.Read != told.Read {
				t.Errorf("the dry run told %+v", told)
			}
		}
		text, _ := mustExport(t, store, jsonlimport.Loopctl{})
		if kept := strings.Contains(text, "Prefer"); kept != (tt.onConflict == memory.Keep) {
			t.Errorf("on conflict %d, the former text is there: %t", tt.onConflict, kept)
		}
	}
}

func TestImport_failOnConflict(t *testing.T) {
	lines := cleanLines(t)
	entry, err := memory.DecodeJSON([]byte(lines[4]))
	if err != nil {
		t.Fatal(err)
	}
	store := mustStore(t, entry)
	// Batches of one: the conflict is in one that comes late.
	for _, dry := range []bool{true, false} {
		_, err = jsonlimport.Import(t.Context(), store, files("testdata/clean.jsonl"),
			jsonlimport.Options{OnConflict: memory.Fail, BatchEntries: 1, DryRun: dry})
		refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
		if !ok || !errors.Is(err, memory.ErrConflict) || refused.Total != 1 || refused.Lines[0].Line != 5 {
			t.Errorf("error = %v; want a conflict on line 5", err)
		}
		mustEqual(t, "entries", mustEntries(t, store), []memory.Entry{entry})
	}
	report := mustImport(t, mustStore(t), jsonlimport.Options{OnConflict: memory.Fail}, "testdata/clean.jsonl")
	if report.Imported != 6 {
		t.Errorf("%d imported into an empty store; want 6", report.Imported)
	}
}

func TestImport_dryRunCountsAndWritesNothing(t *testing.T) {
	lines := cleanLines(t)
	path := mustWrite(t, "memory.jsonl", strings.Join(lines, "")+"bad\n"+lines[0]+lines[1][:50])
	entry, err := memory.DecodeJSON([]byte(lines[2]))
	if err != nil {
		t.Fatal(err)
	}
	store := mustStore(t, entry)
	options := jsonlimport.Options{DryRun: true, SkipMalformed: true}
	nowhere := jsonlimport.Input{Name: path, Rejected: filepath.Join(t.TempDir(), "missing", "x")}
	told, err := jsonlimport.Import(t.Context(), readOnly{t, store}, []jsonlimport.Input{nowhere}, options)
	if err != nil {
		t.Fatal(err)
	}
	names, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(names) != 1 {
		t.Errorf("files = %v, %v; want the source alone", names, err)
	}
	options.DryRun = false
	done := mustImport(t, store, options, path)
	told.Seconds, told.DryRun = done.Seconds, false
	told.Files[0].Rejected = path + ".rejected.jsonl"
	mustEqual(t, "what was told and what was done", done, told)
}

// readOnly is a store that must not be written to.
type readOnly struct {
	t *testing.T
	*memory.Store
}

func (s readOnly) StoreBatch(context.Context, []memory.Entry, memory.OnConflict) (memory.BatchResult, error) {
	s.t.Error("something was written")
	return memory.BatchResult{}, nil
}

func TestImport_refusesAllFilesForOneLine(t *testing.T) {
	store := mustStore(t)
	bad := mustWrite(t, "bad.jsonl", cleanLines(t)[0]+"bad\n")
	_, err := jsonlimport.Import(t.Context(), store, files("testdata/clean.jsonl", bad, "testdata/graph.jsonl"), jsonlimport.Options{})
	if !errors.Is(err, memory.ErrInvalid) || !strings.Contains(err.Error(), bad+":2:1: ") {
		t.Errorf("error = %v; want the bad line named", err)
	}
	if n := len(mustEntries(t, store)); n != 0 {
		t.Errorf("%d entries were stored", n)
	}
}

func TestImport_severalFilesAndForms(t *testing.T) {
	store := mustStore(t)
	report := mustImport(t, store, jsonlimport.Options{}, "testdata/graph.jsonl", "testdata/clean.jsonl", "testdata/agent.jsonl", "testdata/before-access-fields.jsonl")
	if report.Read != 22 || report.Imported != 16 || report.Repeated != 6 {
		t.Errorf("report %+v; want 22 read, 16 imported, 6 repeated", report)
	}
	var forms []string
	for _, file := range report.Files {
		forms = append(forms, fmt.Sprintf("%s %d", file.Format, file.Entries))
	}
	mustEqual(t, "forms", forms, []string{"graph 7", "loopctl 6", "agent 3", "loopctl 6"})
}

func TestImport_rejectedLinesAreUnchanged(t *testing.T) {
	lines := cleanLines(t)
	bad := []string{"null\r\n", "  {\"id\": 7, } \n", "\xff\xfe\n", "<<<<<<< ours\n", "\x00\x00\n", "the last one, unterminated"}
	var content string
	for i, line := range lines {
		content += bad[i][:len(bad[i])*min(1, 5-i)] + line
	}
	path := mustWrite(t, "memory.jsonl", content+bad[5])
	store := mustStore(t)
	report := mustImport(t, store, jsonlimport.Options{SkipMalformed: true}, path)
	rejected := path + ".rejected.jsonl"
	mustEqual(t, "rejected lines", mustRead(t, rejected), strings.Join(bad, ""))
	text, _ := mustExport(t, store, jsonlimport.Loopctl{})
	mustEqual(t, "stored lines", text, strings.Join(lines, ""))
	if report.SkippedLines != 6 || len(report.Skipped) != 6 || report.Files[0].Rejected != rejected {
		t.Errorf("report %+v; want 6 skipped and where they are", report)
	}
	info, err := os.Stat(rejected)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v; want 0600", info.Mode())
	}

	// The same lines again are in that file already; importing them, as a
	// pattern may do, sets them aside once more and changes nothing.
	report = mustImport(t, store, jsonlimport.Options{SkipMalformed: true}, path, rejected)
	mustEqual(t, "rejected lines", mustRead(t, rejected), strings.Join(bad, ""))
	if report.Files[0].Rejected != rejected || report.Files[1].Rejected != rejected+".rejected.jsonl" {
		t.Errorf("report %+v; want the former file and one for it", report.Files)
	}
}

// TestImport_rejectedFilesAreNeverReplaced skips other lines each time. What
// was set aside before may be the only copy.
func TestImport_rejectedFilesAreNeverReplaced(t *testing.T) {
	path := mustWrite(t, "memory.jsonl", "")
	folder := filepath.Dir(path)
	for _, run := range []struct{ line, name string }{
		{"bad 1\n", "memory.jsonl.rejected.jsonl"},
		{"bad 2\n", "memory.jsonl.rejected-2.jsonl"},
		{"bad 3\n", "memory.jsonl.rejected-3.jsonl"},
		{"bad 2\n", "memory.jsonl.rejected-2.jsonl"},
	} {
		if err := os.WriteFile(path, []byte(run.line), 0o600); err != nil {
			t.Fatal(err)
		}
		report := mustImport(t, mustStore(t), jsonlimport.Options{SkipMalformed: true}, path)
		if want := filepath.Join(folder, run.name); report.Files[0].Rejected != want || mustRead(t, want) != run.line {
			t.Errorf("%q is in %s; want it in %s", run.line, report.Files[0].Rejected, want)
		}
	}
	if all, err := os.ReadDir(folder); err != nil || len(all) != 4 {
		t.Errorf("files = %v, %v; want the source and three", all, err)
	}
}

func TestImport_noRejectedFileWithoutNeed(t *testing.T) {
	path := mustWrite(t, "memory.jsonl", mustRead(t, "testdata/clean.jsonl"))
	mustImport(t, mustStore(t), jsonlimport.Options{SkipMalformed: true}, path)
	if _, err := os.Stat(path + ".rejected.jsonl"); !os.IsNotExist(err) {
		t.Errorf("Stat = %v; want no such file", err)
	}
}

func TestImport_rejectedFileThatCannotBeWritten(t *testing.T) {
	store := mustStore(t)
	input := jsonlimport.Input{Name: "stream", Stream: strings.NewReader(cleanLines(t)[0] + "bad\n"), Rejected: filepath.Join(t.TempDir(), "missing", "x")}
	_, err := jsonlimport.Import(t.Context(), store, []jsonlimport.Input{input}, jsonlimport.Options{SkipMalformed: true})
	if err == nil || !strings.Contains(err.Error(), input.Rejected) {
		t.Errorf("error = %v; want the path", err)
	}
	if n := len(mustEntries(t, store)); n != 0 {
		t.Errorf("%d entries were stored", n)
	}
}

func TestInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.jsonl", "b.jsonl", "c[1].jsonl", "c1.jsonl"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stdin := strings.NewReader("")
	inputs, err := jsonlimport.Inputs([]string{"c[1].jsonl", "[ab].jsonl", "-", "missing.jsonl"}, stdin)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, input := range inputs {
		names = append(names, input.Name)
	}
	mustEqual(t, "names", names, []string{"c[1].jsonl", "a.jsonl", "b.jsonl", "standard input", "missing.jsonl"})
	if inputs[3].Stream != io.Reader(stdin) || inputs[3].Rejected != "stdin.rejected.jsonl" {
		t.Errorf("standard input is %+v", inputs[3])
	}
	for _, args := range [][]string{{"x*.jsonl"}, {"-", "-"}, {"x[.jsonl"}} {
		if _, err := jsonlimport.Inputs(args, stdin); err == nil {
			t.Errorf("Inputs(%q) succeeded", args)
		}
	}
}

// TestImport_stream reads what comes in pieces, and leaves no copy behind.
func TestImport_stream(t *testing.T) {
	clean := mustRead(t, "testdata/clean.jsonl")
	for name, content := range map[string]string{"plain": clean, "packed": pack(t, clean)} {
		t.Run(name, func(t *testing.T) {
			r, w := io.Pipe()
			go func() {
				for piece := range slices.Chunk([]byte(content), 100) {
					w.Write(piece)
				}
				w.Close()
			}()
			store, temp := mustStore(t), t.TempDir()
			checkTemp := func() {
				if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
					t.Errorf("%v, %v left in the temporary directory", left, err)
				}
			}
			inputs := []jsonlimport.Input{{Name: "standard input", Stream: r}}
			options := jsonlimport.Options{TempDir: temp, Progress: func(p jsonlimport.Progress) {
				// Not even a kill at this point leaves a copy behind.
				if p.Phase == jsonlimport.Validating && runtime.GOOS != "windows" {
					checkTemp()
				}
			}}
			report, err := jsonlimport.Import(t.Context(), store, inputs, options)
			if err != nil || report.Imported != 6 {
				t.Errorf("report %+v, %v; want 6 imported", report, err)
			}
			checkTemp()
		})
	}
}

// TestImport_pipe reads a file that is none, as a shell makes for <(command).
func TestImport_pipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skipf("this system has no such files: %v", err)
	}
	if _, err := w.WriteString(mustRead(t, "testdata/clean.jsonl")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if report := mustImport(t, mustStore(t), jsonlimport.Options{}, path); report.Imported != 6 {
		t.Errorf("report %+v; want 6 imported", report)
	}
}

func TestImport_streamThatFails(t *testing.T) {
	broken := errors.New("broken")
	r, w := io.Pipe()
	go func() {
		w.Write([]byte(cleanLines(t)[0]))
		w.CloseWithError(broken)
	}()
	store := mustStore(t)
	_, err := jsonlimport.Import(t.Context(), store, []jsonlimport.Input{{Name: "pipe", Stream: r}}, jsonlimport.Options{})
	if !errors.Is(err, broken) || len(mustEntries(t, store)) != 0 {
		t.Errorf("error = %v; want %v and nothing stored", err, broken)
	}
}

func TestImport_streamThatNeverEnds(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		w.Write([]byte(cleanLines(t)[0]))
		cancel()
	}()
	store := mustStore(t)
	_, err := jsonlimport.Import(ctx, store, []jsonlimport.Input{{Name: "pipe", Stream: r}}, jsonlimport.Options{})
	if !errors.Is(err, context.Canceled) || len(mustEntries(t, store)) != 0 {
		t.Errorf("error = %v; want it cancelled and nothing stored", err)
	}
}

// TestImport_interrupted cancels an import at every step at which it reports
// progress, one after the other, until none is left to cancel.
func TestImport_interrupted(t *testing.T) {
	const n = 40
	path := mustWrite(t, "memory.jsonl", strings.Join(manyLines(n), "")+"bad\n")
	whole := mustStore(t)
	mustImport(t, whole, jsonlimport.Options{SkipMalformed: true}, path)
	want := mustEntries(t, whole)
	var before, during int
	for step := 1; ; step++ {
		if err := os.RemoveAll(path + ".rejected.jsonl"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		options := jsonlimport.Options{BatchEntries: 10, SkipMalformed: true}
		calls, validating := 0, false
		options.Progress = func(p jsonlimport.Progress) {
			if calls++; calls == step {
				validating = p.Phase == jsonlimport.Validating
				cancel()
			}
		}
		store := mustStore(t)
		_, err := jsonlimport.Import(ctx, store, files(path), options)
		cancel()
		if calls > step+2 {
			t.Errorf("step %d: the import went on for %d more", step, calls-step)
		}
		if _, err := os.Stat(path + ".rejected.jsonl"); validating && !os.IsNotExist(err) {
			t.Errorf("step %d: there is a file of rejected lines", step)
		}
		stored := len(mustEntries(t, store))
		partial, isPartial := errors.AsType[*jsonlimport.PartialError](err)
		switch {
		case err == nil:
			if calls >= step && stored != n {
				t.Errorf("step %d: cancelled, no error, %d stored", step, stored)
			}
		case !errors.Is(err, context.Canceled):
			t.Fatalf("step %d: error = %v", step, err)
		case isPartial:
			during++
			if partial.Stored != stored || partial.Total != n || stored == 0 || stored%10 != 0 {
				t.Errorf("step %d: %v, but %d stored", step, err, stored)
			}
		default:
			before++
			if stored != 0 || !strings.Contains(err.Error(), "nothing was stored") {
				t.Errorf("step %d: %v, but %d stored", step, err, stored)
			}
		}
		mustImport(t, store, jsonlimport.Options{SkipMalformed: true}, path)
		mustEqual(t, "entries after importing again", mustEntries(t, store), want)
		if calls < step {
			break
		}
	}
	if before < 5 || during < 3 {
		t.Errorf("%d interruptions before the first write and %d after; want more", before, during)
	}
}

// TestImport_sourceChanges changes the source at each step of an import. What
// was not validated must never be stored.
func TestImport_sourceChanges(t *testing.T) {
	lines := manyLines(40)
	content := strings.Join(lines, "")
	changes := map[string]string{
		"grown":           content + manyLines(41)[40],
		"cut":             strings.Join(lines[:30], ""),
		"late change":     strings.Replace(content, "entry 35", "other 35", 1),
		"no longer valid": strings.Replace(content, `"id":"00000000-0000-4000-8000-000000000025"`, `"id":"00000000-0000-4000-8000-00000000002x"`, 1),
		"emptied":         "",
	}
	for name, changed := range changes {
		t.Run(name, func(t *testing.T) {
			noticed := 0
			for step, done := 1, false; !done; step++ {
				path := mustWrite(t, "memory.jsonl", content)
				options := jsonlimport.Options{BatchEntries: 10}
				calls := 0
				options.Progress = func(p jsonlimport.Progress) {
					if calls++; calls == step {
						info, err := os.Stat(path)
						if err != nil {
							t.Fatal(err)
						}
						if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
							t.Fatal(err)
						}
						// Not even the time of the change gives it away.
						if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
							t.Fatal(err)
						}
					}
				}
				store := mustStore(t)
				_, err := jsonlimport.Import(t.Context(), store, files(path), options)
				text, _ := mustExport(t, store, jsonlimport.Loopctl{})
				switch {
				case err == nil && (text == content || text == changed):
				case errors.Is(err, jsonlimport.ErrSourceChanged), errors.Is(err, memory.ErrInvalid):
					noticed++
					if !strings.HasPrefix(content, text) {
						t.Errorf("step %d: unvalidated lines were stored", step)
					}
				default:
					t.Errorf("step %d: error = %v, %d bytes stored", step, err, len(text))
				}
				done = calls < step
			}
			if noticed == 0 {
				t.Error("no change was noticed")
			}
		})
	}
}

// TestImport_sourceGrowsWhileValidated writes to a file that is read already.
// That is noticed before the first write, though the lines seen are all good.
func TestImport_sourceGrowsWhileValidated(t *testing.T) {
	path := mustWrite(t, "memory.jsonl", strings.Join(manyLines(40), ""))
	options := jsonlimport.Options{BatchEntries: 10, Progress: func(p jsonlimport.Progress) {
		if p.Phase == jsonlimport.Validating && p.Entries == 40 {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if _, err := file.WriteString(manyLines(41)[40]); err != nil {
				t.Fatal(err)
			}
		}
	}}
	store := mustStore(t)
	_, err := jsonlimport.Import(t.Context(), store, files(path), options)
	if !errors.Is(err, jsonlimport.ErrSourceChanged) || len(mustEntries(t, store)) > 0 {
		t.Errorf("error = %v, %d entries stored; want none", err, len(mustEntries(t, store)))
	}
}

func TestImport_twoAtOnce(t *testing.T) {
	const n = 500
	path := mustWrite(t, "memory.jsonl", strings.Join(manyLines(n), ""))
	store := mustStore(t)
	reports := make([]jsonlimport.Report, 4)
	var wg sync.WaitGroup
	for i := range reports {
		wg.Go(func() {
			var err error
			reports[i], err = jsonlimport.Import(t.Context(), store, files(path), jsonlimport.Options{BatchEntries: 7})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var imported, existing int
	for _, report := range reports {
		imported += report.Imported
		existing += report.Existing
	}
	if got := len(mustEntries(t, store)); got != n || imported != n || existing != 3*n {
		t.Errorf("%d entries, %d imported, %d existing; want %d, %[4]d and %d", got, imported, existing, n, 3*n)
	}
}

// batches records what is stored with each write.
type batches struct {
	*memory.Store
	entries, bytes []int
	fail           func(batch int) error
}

func (b *batches) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	if b.fail != nil {
		if err := b.fail(len(b.entries)); err != nil {
			return memory.BatchResult{}, err
		}
	}
	size := 0
	for i := range entries {
		size += len(entries[i].AppendJSON(nil)) + 1
	}
	b.entries, b.bytes = append(b.entries, len(entries)), append(b.bytes, size)
	return b.Store.StoreBatch(ctx, entries, onConflict)
}

func TestImport_batchesAreBounded(t *testing.T) {
	lines := manyLines(100)
	content := strings.Join(lines, "")
	entity := `{"type":"entity","name":"a","entityType":"b","observations":["` + strings.Repeat(`x","`, 24) + `x"]}` + "\n"
	for _, tt := range []struct {
		name, content string
		options       jsonlimport.Options
		total         int
	}{
		{"by entries", content, jsonlimport.Options{BatchEntries: 7}, 100},
		{"by bytes", content, jsonlimport.Options{BatchBytes: 1000}, 100},
		{"many entries on a line", entity, jsonlimport.Options{BatchEntries: 7}, 25},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &batches{Store: mustStore(t)}
			mustImport(t, store, tt.options, mustWrite(t, "memory.jsonl", tt.content))
			total := 0
			for i, n := range store.entries {
				total += n
				if limit := tt.options.BatchEntries; limit > 0 && n > limit {
					t.Errorf("batch %d has %d entries", i, n)
				}
				if limit := tt.options.BatchBytes; limit > 0 && store.bytes[i] > limit+len(lines[0]) {
					t.Errorf("batch %d has %d bytes", i, store.bytes[i])
				}
			}
			if total != tt.total || len(store.entries) < 2 {
				t.Errorf("%d entries in %d batches; want %d in several", total, len(store.entries), tt.total)
			}
		})
	}
}

func TestImport_storeFailsHalfWay(t *testing.T) {
	path := mustWrite(t, "memory.jsonl", strings.Join(manyLines(30), ""))
	for failing, stored := range map[int]int{0: 0, 2: 20} {
		store := &batches{Store: mustStore(t), fail: func(batch int) error {
			if batch == failing {
				return memory.ErrBusy
			}
			return nil
		}}
		_, err := jsonlimport.Import(t.Context(), store, files(path), jsonlimport.Options{BatchEntries: 10})
		partial, isPartial := errors.AsType[*jsonlimport.PartialError](err)
		if !errors.Is(err, memory.ErrBusy) || isPartial != (stored > 0) || isPartial && (partial.Stored != stored || partial.Total != 30) {
			t.Errorf("batch %d fails: error = %v; want %d stored", failing, err, stored)
		}
		if n := len(mustEntries(t, store)); n != stored {
			t.Errorf("batch %d fails: %d stored; want %d", failing, n, stored)
		}
	}
}

func TestImport_progress(t *testing.T) {
	content := strings.Join(manyLines(30), "")
	path := mustWrite(t, "memory.jsonl", content)
	inputs := append(stream(mustRead(t, "testdata/clean.jsonl")), files(path)...)
	total := int64(len(content) + len(mustRead(t, "testdata/clean.jsonl")))
	var phases []jsonlimport.Phase
	var last jsonlimport.Progress
	options := jsonlimport.Options{BatchEntries: 10, Progress: func(p jsonlimport.Progress) {
		if p.Phase != last.Phase {
			phases = append(phases, p.Phase)
		} else if p.Done < last.Done || p.Entries < last.Entries {
			t.Errorf("progress went back from %+v to %+v", last, p)
		}
		last = p
	}}
	if _, err := jsonlimport.Import(t.Context(), mustStore(t), inputs, options); err != nil {
		t.Fatal(err)
	}
	mustEqual(t, "phases", phases, []jsonlimport.Phase{jsonlimport.Copying, jsonlimport.Validating, jsonlimport.Storing})
	mustEqual(t, "last report", last, jsonlimport.Progress{Phase: jsonlimport.Storing, Done: total, Total: total, Entries: 36})
}

func TestParseFormat(t *testing.T) {
	for _, format := range jsonlimport.Formats() {
		got, err := jsonlimport.ParseFormat(format.Name())
		if err != nil || got != format {
			t.Errorf("ParseFormat(%q) = %v, %v", format.Name(), got, err)
		}
	}
	if _, err := jsonlimport.ParseFormat("csv"); !errors.Is(err, memory.ErrInvalid) || !strings.Contains(err.Error(), "loopctl, agent, graph") {
		t.Errorf("error = %v; want the names of all", err)
	}
}

// TestImport_namedFormat reads a file in a form that it does not have.
func TestImport_namedFormat(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(mustRead(t, "testdata/agent.jsonl"))
	_, err := jsonlimport.Import(t.Context(), mustStore(t), stream(out.String()), jsonlimport.Options{Format: jsonlimport.Loopctl{}})
	refused, ok := errors.AsType[*jsonlimport.RefusedError](err)
	if !ok || refused.Total != 3 {
		t.Errorf("error = %v; want all three lines refused", err)
	}
}
