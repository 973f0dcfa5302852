package sqlitestore

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// secret is a text that no other entry has, in no part of it.
func secret(n int) string { return fmt.Sprintf("geheim%dx", n) }

// secretive is an entry with a secret in every field that holds text.
func secretive(r *rand.Rand, n int) memory.Entry {
	e := memory.NewEntry(memory.Fact, fmt.Sprintf("%s and %0*d", secret(n), 1+r.IntN(900), n))
	e.Tags = []string{"tag-" + secret(n)}
	e.Keywords = []string{"key-" + secret(n)}
	e.Summary = "sum-" + secret(n)
	e.Attributes = map[string]string{"a": "attribute-" + secret(n)}
	return e
}

// filesWith names the files of a folder that hold a text.
func filesWith(t testing.TB, folder, text string) (names []string) {
	t.Helper()
	for name, content := range files(t, folder) {
		if bytes.Contains(bytes.ToLower(content), []byte(text)) {
			names = append(names, name)
		}
	}
	return names
}

// TestForgetLeavesNoByte reads the bytes of all files after entries were
// forgotten: at once, the log must not have them; after Compact, no file may.
func TestForgetLeavesNoByte(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	folder := t.TempDir()
	path := filepath.Join(folder, "memory.db")
	s := mustOpen(t, path, Options{})
	var ids []uuid.UUID
	for n := range 150 { // enough for SQLite to move rows among pages
		e := secretive(r, n)
		e.Strength = float64(n % 2)
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, e.ID)
	}
	s.settings.Now = func() time.Time { return time.Now().Add(time.Minute) }
	if n, err := s.Prune(t.Context(), 0.5, 0, ""); n != 75 || err != nil {
		t.Fatalf("Prune gave %d and %v", n, err)
	}
	forgotten := make(map[int]bool)
	for _, n := range r.Perm(len(ids))[:40] { // half of them in the archive
		if len(filesWith(t, folder, secret(n))) == 0 {
			t.Fatalf("%s was not there to begin with", secret(n))
		}
		if _, err := s.Forget(t.Context(), ids[n]); err != nil {
			t.Fatal(err)
		}
		forgotten[n] = true
		if size, err := sizeOf(path + "-wal"); size != 0 || err != nil {
			t.Errorf("the log has %d bytes (%v)", size, err)
		}
	}
	before, err := sizeOf(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after, err := sizeOf(path); after >= before || err != nil {
		t.Errorf("Compact made %d bytes of %d (%v)", after, before, err)
	}
	for n := range ids {
		if names := filesWith(t, folder, secret(n)); (len(names) == 0) != forgotten[n] {
			t.Errorf("entry %d, forgotten: %v, is in %v", n, forgotten[n], names)
		}
	}
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("after Compact: %v %v", problems, err)
	}
}

// TestForgetWhileClosing closes the store in the middle of a Forget, which must
// be done with all of it nonetheless.
func TestForgetWhileClosing(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "memory.db")
	var log bytes.Buffer
	s := mustOpen(t, path, Options{}, memory.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	e := secretive(rand.New(rand.NewPCG(1, 1)), 1)
	if err := s.Store(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	mustLen(t, mustOpen(t, path, Options{}), 1) // and keeps the log from going with the last Close
	closed := make(chan error, 1)
	s.fault.set(func(query string) error {
		if query == "COMMIT" {
			go func() { closed <- s.Close() }()
			for s.enter() == nil {
				s.leave() // until Close has begun
			}
		}
		return nil
	})
	if found, err := s.Forget(t.Context(), e.ID); !found || err != nil {
		t.Errorf("Forget gave %v and %v", found, err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close gave %v", err)
	}
	if names := filesWith(t, folder, secret(1)); len(names) > 0 || log.Len() > 0 {
		t.Errorf("the text is left in %v; the log: %s", names, &log)
	}
}

// TestForgetDespiteReader forgets while a reader keeps the log from being
// emptied. The next write after that makes up for it.
func TestForgetDespiteReader(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "memory.db"), Options{})
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 3 {
		if err := s.Store(t.Context(), secretive(r, n)); err != nil {
			t.Fatal(err)
		}
	}
	for e, err := range s.Entries(t.Context(), memory.Selection{}) {
		if err != nil {
			t.Fatal(err)
		}
		if found, err := s.Forget(t.Context(), e.ID); !found || err != nil {
			t.Errorf("Forget gave %v and %v", found, err)
		}
	}
	if len(filesWith(t, folder, secret(1))) == 0 {
		t.Error("the reader was not in the way; this test shows nothing")
	}
	if err := s.Store(t.Context(), fixture(1)); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		if names := filesWith(t, folder, secret(n)); len(names) > 0 {
			t.Errorf("%s is still in %v", secret(n), names)
		}
	}
}

// TestReplaceDropsWords replaces an entry several times within one transaction
// and looks which words the vocabulary has after it: those of the last text,
// also where an entry between had lost them, and no others.
func TestReplaceDropsWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpen(t, path, Options{})
	e := memory.NewEntry(memory.Fact, "alpha beta")
	var batch []memory.Entry
	for _, text := range []string{"alpha beta", "beta gamma", "alpha gamma", "gamma delta"} {
		e.Memory = text
		batch = append(batch, e)
	}
	for _, writes := range [][]memory.Entry{batch[:1], batch} {
		if _, err := s.StoreBatch(t.Context(), writes, memory.Replace); err != nil {
			t.Fatal(err)
		}
	}
	var pieces []string
	err := s.view(t.Context(), func(tx *tx) error { return tx.collect(&pieces, `SELECT piece FROM piece ORDER BY piece`) })
	if want := []string{"delta", "gamma"}; err != nil || !slices.Equal(pieces, want) {
		t.Errorf("the vocabulary is %q (%v), want %q", pieces, err, want)
	}
}

// TestForgetDropsTrigrams looks for parts of forgotten words in the index of
// the vocabulary, also of those that were gone before the entry was forgotten.
func TestForgetDropsTrigrams(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s := mustOpen(t, path, Options{}, memory.WithEntries(fixture(1)))
	e := memory.NewEntry(memory.Fact, "xqzj")
	if err := s.Store(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(t.Context(), e.ID, memory.Change{Memory: new("another")}); err != nil {
		t.Fatal(err)
	}
	mustTrigrams(t, path, 1)
	if _, err := s.Forget(t.Context(), e.ID); err != nil {
		t.Fatal(err)
	}
	mustTrigrams(t, path, 0)
}

// mustTrigrams wants so many blocks of the index to hold a trigram of the word
// xqzj. The vocabulary of the index would not tell: it leaves out what is marked.
func mustTrigrams(t *testing.T, path string, want int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var got int
	err = db.QueryRow(`SELECT count(*) FROM piece_trigram_data WHERE instr(block, CAST('xqz' AS BLOB)) > 0`).Scan(&got)
	if got != want || err != nil {
		t.Errorf("there are %d blocks with a trigram (%v), want %d", got, err, want)
	}
}

// TestForgetLeavesNoParts looks for parts of a word that only the forgotten entry
// had: the index of parts has them one by one.
func TestForgetLeavesNoParts(t *testing.T) {
	folder := t.TempDir()
	s := mustOpen(t, filepath.Join(folder, "memory.db"), Options{})
	gone := memory.NewEntry(memory.Fact, "qzjxkv secret")
	for _, e := range []memory.Entry{memory.NewEntry(memory.Fact, "plain words"), gone} {
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Forget(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"qzj", "zjx", "jxk", "xkv"} {
		if found := filesWith(t, folder, part); len(found) > 0 {
			t.Errorf("%s is in %v", part, found)
		}
	}
}
