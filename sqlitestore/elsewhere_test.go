package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/memorytest"
)

// TestDifferentialElsewhere runs random histories on a file while another handle
// of it, as another process may have it, keeps a mirror. After every write that
// is asked, and must answer as a handle does that has no mirror.
func TestDifferentialElsewhere(t *testing.T) {
	reference := func(t testing.TB, options ...memory.Option) memory.Backend {
		s, err := memory.NewStore(options...)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	caughtUp := 0
	memorytest.Differential(t, reference, func(t testing.TB, options ...memory.Option) memory.Backend {
		path := filepath.Join(t.TempDir(), "memory.db")
		writer := mustOpen(t, path, Options{MirrorBytes: -1}, options...)
		t.Cleanup(func() {
			problems, err := writer.Check(context.Background())
			if err != nil || len(problems) > 0 {
				t.Errorf("the database is not sound: %v %v", problems, err)
			}
		})
		mirrored := mustOpen(t, path, Options{Uncounted: true, MirrorAfter: 1}, options...)
		mirrored.fault.set(func(query string) error {
			if strings.Contains(query, "FROM change WHERE version >") {
				caughtUp++
			}
			return nil
		})
		return &elsewhere{
			Backend: writer, t: t, mirrored: mirrored,
			plain: mustOpen(t, path, Options{Uncounted: true, MirrorBytes: -1}, options...),
		}
	})
	if caughtUp < 100 {
		t.Errorf("the mirror has caught up %d times, which says little", caughtUp)
	}
}

// elsewhere is a store that compares two other handles after every write.
type elsewhere struct {
	memory.Backend
	t               testing.TB
	mirrored, plain *Store
}

// compare panics with what differs, which rapid takes for a failure like others.
func (s *elsewhere) compare() {
	ctx := s.t.Context()
	for _, query := range []memory.Query{
		{},
		{Filter: memory.Filter{MinStrength: new(0.5)}},
		{Text: "alpha beta", Limit: 3, Embedding: []float32{1, 0}},
		{Text: "alpha", ExactWords: true},
		{Text: "alpha", Ranking: memory.RankingQuestion, Window: 1},
	} {
		got, err := s.mirrored.Recall(ctx, query)
		want, wantErr := s.plain.Recall(ctx, query)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || wantErr != nil {
			panic(fmt.Sprintf("recall %+v: %v, %v (-without a mirror +with one):\n%s", query, wantErr, err, diff))
		}
	}
	for _, query := range []string{"", "alpha", "bet"} {
		got, err := s.mirrored.Retrieve(ctx, query, 5)
		want, wantErr := s.plain.Retrieve(ctx, query, 5)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || wantErr != nil {
			panic(fmt.Sprintf("retrieve %q: %v, %v (-without a mirror +with one):\n%s", query, wantErr, err, diff))
		}
	}
}

func (s *elsewhere) In(scope memory.Scope) memory.Backend {
	return &elsewhere{s.Backend.In(scope), s.t, s.mirrored, s.plain}
}

func (s *elsewhere) Store(ctx context.Context, e memory.Entry) error {
	defer s.compare()
	return s.Backend.Store(ctx, e)
}

func (s *elsewhere) StoreBatch(ctx context.Context, entries []memory.Entry, onConflict memory.OnConflict) (memory.BatchResult, error) {
	defer s.compare()
	return s.Backend.StoreBatch(ctx, entries, onConflict)
}

func (s *elsewhere) Recall(ctx context.Context, query memory.Query) (memory.Recollection, error) {
	defer s.compare()
	return s.Backend.Recall(ctx, query)
}

func (s *elsewhere) Update(ctx context.Context, id uuid.UUID, change memory.Change) (memory.Record, error) {
	defer s.compare()
	return s.Backend.Update(ctx, id, change)
}

func (s *elsewhere) Forget(ctx context.Context, id uuid.UUID) (bool, error) {
	defer s.compare()
	return s.Backend.Forget(ctx, id)
}

func (s *elsewhere) Link(ctx context.Context, a, b uuid.UUID) error {
	defer s.compare()
	return s.Backend.Link(ctx, a, b)
}

func (s *elsewhere) Prune(ctx context.Context, minStrength float64, minAge time.Duration, agentPrefix string) (int, error) {
	defer s.compare()
	return s.Backend.Prune(ctx, minStrength, minAge, agentPrefix)
}

func (s *elsewhere) Consolidate(ctx context.Context) (memory.ConsolidationStats, error) {
	defer s.compare()
	return s.Backend.Consolidate(ctx)
}
