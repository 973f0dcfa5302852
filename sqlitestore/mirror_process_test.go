package sqlitestore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// vectorOf makes an embedding, so long that a mirror may have no room for it.
func vectorOf(random *rand.Rand) []float32 {
	vector := make([]float32, 256)
	for i := range vector {
		vector[i] = random.Float32() - 0.5
	}
	return vector
}

// change is what an obeying child does to the store for each line it reads. The
// line is a number that everything about it depends on.
func change(ctx context.Context, s *sqlitestore.Store, number uint64) error {
	random := rand.New(rand.NewPCG(number, 0))
	words := []string{"alpha", "beta", "Gamma,", "delta", "running", "ran", "tokio", "部署"}
	text := func() string {
		some := make([]string, 1+random.IntN(4))
		for i := range some {
			some[i] = words[random.IntN(len(words))]
		}
		return strings.Join(some, " ")
	}
	existing := func() (id uuid.UUID) {
		n := random.IntN(20)
		for e, err := range s.Entries(ctx, memory.Selection{}) {
			if id = e.ID; n == 0 || err != nil {
				break
			}
			n--
		}
		return id
	}
	embed := func() error {
		r, err := s.Get(ctx, existing())
		if err != nil {
			return err
		}
		vector := vectorOf(random)
		_, err = s.SetEmbeddings(ctx, memory.Model{Name: "random", Dimensions: len(vector)},
			[]memory.Embedded{{ID: r.Entry.ID, Version: r.Version, Vector: vector}})
		return err
	}
	switch random.IntN(16) {
	default:
		e := memory.NewEntry(memory.Fact, text())
		e.Relevance = float32(random.IntN(5)) / 4
		e.Tags, e.Keywords = []string{text()}, []string{text()}
		e.Agent = []string{"", "team:one", "team:two"}[random.IntN(3)]
		return s.Store(ctx, e)
	case 0, 1:
		_, err := s.Update(ctx, existing(), memory.Change{Memory: new(text())})
		return unlessImpossible(err)
	case 2:
		_, err := s.Forget(ctx, existing())
		return err
	case 3:
		_, err := s.Recall(ctx, memory.Query{Text: text(), Limit: 3})
		return err
	case 4:
		_, err := s.Consolidate(ctx)
		return err
	case 5, 6, 7, 8:
		return unlessImpossible(embed())
	case 9:
		if random.IntN(5) > 0 {
			return nil
		}
		return s.DropEmbeddings(ctx)
	case 10:
		return unlessImpossible(s.Link(ctx, existing(), existing()))
	}
}

// unlessImpossible forgives a change of an entry that is not there, or a link
// of one to itself.
func unlessImpossible(err error) error {
	if errors.Is(err, memory.ErrNotFound) || errors.Is(err, memory.ErrInvalid) {
		return nil
	}
	return err
}

// obey changes the store by each number it is told, and says so.
func (c *childProcess) obey() error {
	fmt.Println("ready")
	ctx := context.Background()
	s, err := sqlitestore.Open(ctx, c.path, sqlitestore.Options{})
	if err != nil {
		return err
	}
	var number uint64
	for lines := bufio.NewReader(os.Stdin); ; fmt.Println("done") {
		if _, err := fmt.Fscanln(lines, &number); err == io.EOF {
			return s.Close()
		} else if err != nil {
			return err
		}
		if err := change(ctx, s, number); err != nil {
			return err
		}
	}
}

// TestMirrorAgainstOtherProcesses has other processes change the store in all
// ways there are, and asks after every change: the mirror must answer as the
// specification does with the entries that are in the file at that moment.
func TestMirrorAgainstOtherProcesses(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	now := time.Now().Add(time.Hour).UTC()
	clock := memory.WithClock(func() time.Time { return now })
	path := filepath.Join(t.TempDir(), "memory.db")
	var stores []*sqlitestore.Store
	// In the second, there is not always room for the embeddings.
	for _, size := range []int64{0, 14_000} {
		s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{MirrorAfter: 1, MirrorBytes: size}, clock)
		if err != nil {
			t.Fatal(err)
		}
		defer closeStore(t, s)
		stores = append(stores, s)
	}
	vectors := 0 // how often an embedding was compared with others
	children := startChildren(t, 3, "obey", path)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	for range rounds {
		c := children[random.IntN(len(children))]
		fmt.Fprintln(c.input, random.Uint64())
		if !c.output.Scan() {
			t.Fatalf("a child is gone: %s", c.errors)
		}
		text := []string{"alpha", "beta gamma", "ta", "run", "部署", "", "nothing", "delta tokio running"}[random.IntN(8)]
		mirrored := stores[random.IntN(len(stores))]
		var entries []memory.Entry
		for e, err := range mirrored.Entries(t.Context(), memory.Selection{}) {
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		want, err := memory.NewStore(memory.WithEntries(entries...), clock)
		if err != nil {
			t.Fatal(err)
		}
		scope := []memory.Scope{{}, {Namespace: "team"}, {Namespace: "team:two"}}[random.IntN(3)]
		if random.IntN(2) == 0 {
			compare(t, "retrieve "+text, mirrored.In(scope), want.In(scope), func(s memory.Backend) (any, error) {
				return s.Retrieve(t.Context(), text, 4)
			})
			continue
		}
		query := memory.Query{Text: text, Limit: 4, ExactWords: random.IntN(2) == 0, Ranking: memory.Ranking(random.IntN(2))}
		if random.IntN(3) == 0 {
			query.Embedding = vectorOf(random)
			if slices.ContainsFunc(entries, func(e memory.Entry) bool { return len(e.Embedding) > 0 }) {
				vectors++
			}
		}
		compare(t, fmt.Sprintf("recall %+v", query), mirrored.In(scope), want.In(scope), func(s memory.Backend) (any, error) {
			result, err := s.Recall(t.Context(), query)
			return result.Hits, err
		})
	}
	if vectors == 0 {
		t.Error("no question met an embedding")
	}
	for _, c := range children {
		c.input.Close()
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, c.errors)
		}
	}
}

// compare asks both stores and holds the answers against each other.
func compare(t *testing.T, what string, got, want memory.Backend, ask func(memory.Backend) (any, error)) {
	t.Helper()
	a, err := ask(got)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	b, err := ask(want)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	if diff := cmp.Diff(b, a, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestMirrorSeesWhatWasAcknowledged has processes store without pause while
// several goroutines ask for what they have just been told is stored.
func TestMirrorSeesWhatWasAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "memory.db")
	s, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{MirrorAfter: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer closeStore(t, s)
	var wait sync.WaitGroup
	for _, c := range startChildren(t, 3, "store", path) {
		c.tell()
		wait.Go(func() {
			for c.output.Scan() {
				id := uuid.MustParse(c.output.Text())
				result, err := s.Recall(t.Context(), memory.Query{Text: "note"})
				if err != nil || !slices.ContainsFunc(result.Hits, func(h memory.Hit) bool { return h.Entry.ID == id }) {
					t.Errorf("recall finds %d entries, not %s, which was acknowledged: %v", len(result.Hits), id, err)
				}
				matches, err := s.Retrieve(t.Context(), "note", 3*storesEach)
				if err != nil || !slices.ContainsFunc(matches, func(m memory.Match) bool { return m.Entry.ID == id && m.Matched }) {
					t.Errorf("retrieve finds %d entries, not %s, which was acknowledged: %v", len(matches), id, err)
				}
			}
			if err := c.cmd.Wait(); err != nil {
				t.Errorf("%v: %s", err, c.errors)
			}
		})
	}
	wait.Wait()
}
