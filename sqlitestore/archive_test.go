package sqlitestore

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// openArchiving opens a store of three entries of which consolidation merges
// two and prunes one, by a clock that the test moves.
func openArchiving(t *testing.T) (s *Store, clock *time.Time) {
	t.Helper()
	clock = new(fixtureTime)
	s = mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{}, memory.WithClock(func() time.Time { return *clock }))
	kept, twin, faded := fixture(2), fixture(3), fixture(6)
	kept.Validated = true
	twin.Agent, kept.Agent = "team", "team"
	faded.Relevance = 0.01
	if _, err := s.StoreBatch(t.Context(), []memory.Entry{kept, twin, faded}, memory.Fail); err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(time.Hour)
	if stats, err := s.Consolidate(t.Context()); err != nil || stats.Merged != 1 || stats.Pruned != 1 {
		t.Fatalf("Consolidate gave %+v and %v, want one merged, one pruned", stats, err)
	}
	return s, clock
}

func mustArchive(t *testing.T, s *Store, want ...uuid.UUID) []Archived {
	t.Helper()
	archived, err := s.Archive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []uuid.UUID
	for _, a := range archived {
		got = append(got, a.Entry.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the archive holds %v, want %v", got, want)
	}
	return archived
}

func TestArchive(t *testing.T) {
	s, clock := openArchiving(t)
	kept, twin, faded := fixture(2).ID, fixture(3).ID, fixture(6).ID
	archived := mustArchive(t, s, faded, twin)
	if a := archived[0]; a.Reason != ReasonPruned || a.MergedInto != uuid.Nil || !a.ArchivedAt.Equal(*clock) {
		t.Errorf("the pruned entry is archived as %+v", a)
	}
	if a := archived[1]; a.Reason != ReasonMerged || a.MergedInto != kept {
		t.Errorf("the merged entry is archived as %+v", a)
	}

	before, err := s.Len(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), twin); err != nil {
		t.Fatal(err)
	}
	mustLen(t, s, before+1)
	record, err := s.Get(t.Context(), twin)
	if want := fixture(3); err != nil || record.Entry.Memory != want.Memory || record.Entry.Relevance != want.Relevance {
		t.Errorf("restored as %+v (%v)", record.Entry, err)
	}
	if at := record.Entry.LastAccessed; at == nil || !at.Equal(*clock) {
		t.Errorf("restored as last accessed at %v, want now", at)
	}
	mustArchive(t, s, faded)
	if _, err := s.Restore(t.Context(), twin); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("restored twice: %v", err)
	}
}

func TestArchiveConflict(t *testing.T) {
	s, _ := openArchiving(t)
	if err := s.Store(t.Context(), fixture(6)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), fixture(6).ID); !errors.Is(err, memory.ErrConflict) {
		t.Errorf("restored over a newer entry: %v", err)
	}
	mustArchive(t, s, fixture(6).ID, fixture(3).ID)
}

// TestArchiveForgets makes sure that Forget reaches what was archived, even
// where the entry itself has long gone.
func TestArchiveForgets(t *testing.T) {
	s, _ := openArchiving(t)
	if _, err := s.Forget(t.Context(), fixture(6).ID); err != nil {
		t.Fatal(err)
	}
	mustArchive(t, s, fixture(3).ID)
}

func TestArchiveScope(t *testing.T) {
	s, _ := openArchiving(t)
	team := s.In(memory.Scope{Namespace: "team"}).(*Store)
	mustArchive(t, team, fixture(3).ID)
	if _, err := team.Restore(t.Context(), fixture(6).ID); !errors.Is(err, memory.ErrNotFound) {
		t.Errorf("restored from outside the scope: %v", err)
	}
	if n, err := team.PurgeArchive(t.Context(), 0); n != 1 || err != nil {
		t.Errorf("PurgeArchive gave %d and %v, want 1", n, err)
	}
	mustArchive(t, s, fixture(6).ID)
}

// TestArchiveAges has the archive drop what is too old, by hand and by the
// next consolidation.
func TestArchiveAges(t *testing.T) {
	s, clock := openArchiving(t)
	*clock = clock.Add(29 * 24 * time.Hour)
	if n, err := s.PurgeArchive(t.Context(), 30*24*time.Hour); n != 0 || err != nil {
		t.Errorf("after 29 days PurgeArchive gave %d and %v, want 0", n, err)
	}
	if _, err := s.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustArchive(t, s, fixture(6).ID, fixture(3).ID)
	*clock = clock.Add(2 * 24 * time.Hour)
	if _, err := s.Consolidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustArchive(t, s)
}

// TestArchiveEvicted fills a store beyond its capacity.
func TestArchiveEvicted(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{}, memory.WithCapacity(2),
		memory.WithClock(func() time.Time { return fixtureTime.Add(time.Hour) }),
		memory.WithEntries(fixture(5), fixture(4), fixture(6)))
	mustLen(t, s, 2)
	if archived := mustArchive(t, s, fixture(4).ID); archived[0].Reason != ReasonEvicted {
		t.Errorf("archived as %+v", archived[0])
	}
}

func TestConsolidateIfOlder(t *testing.T) {
	s, clock := openArchiving(t)
	for _, step := range []struct {
		wait time.Duration
		want bool
	}{{23 * time.Hour, false}, {time.Hour, true}, {0, false}, {-time.Hour, false}} {
		*clock = clock.Add(step.wait)
		if _, ran, err := s.ConsolidateIfOlder(t.Context(), 24*time.Hour); ran != step.want || err != nil {
			t.Errorf("after another %s it ran: %v (%v), want %v", step.wait, ran, err, step.want)
		}
	}
	if _, err := s.Consolidate(t.Context()); err != nil { // under a clock that went back
		t.Error(err)
	}
	if _, ran, err := s.In(memory.Scope{Namespace: "team"}).(*Store).ConsolidateIfOlder(t.Context(), 0); !ran || err != nil {
		t.Errorf("a pass over a part ran: %v (%v)", ran, err)
	}
}

// TestArchiveEmbeddings changes the model while entries are in the archive: what
// comes back must not bring a vector of the old one along.
func TestArchiveEmbeddings(t *testing.T) {
	s, _ := openArchiving(t)
	twin, faded := fixture(3).ID, fixture(6).ID
	if err := s.BindEmbeddingModel(t.Context(), fixtureModel); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Restore(t.Context(), faded); err != nil || len(e.Embedding) != fixtureModel.Dimensions {
		t.Errorf("Restore gave the embedding %v (%v), of the model that is bound", e.Embedding, err)
	}
	if err := s.DropEmbeddings(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := mustArchive(t, s, twin)[0].Entry; len(e.Embedding) > 0 {
		t.Errorf("the archive keeps the embedding %v", e.Embedding)
	}
	if e, err := s.Restore(t.Context(), twin); err != nil || len(e.Embedding) > 0 {
		t.Errorf("Restore gave the embedding %v (%v), of a model that was dropped", e.Embedding, err)
	}
}

// TestArchiveMisfit archives before a model is bound that has other dimensions.
func TestArchiveMisfit(t *testing.T) {
	s, _ := openArchiving(t)
	if _, err := s.Forget(t.Context(), fixture(2).ID); err != nil {
		t.Fatal(err)
	}
	if err := s.BindEmbeddingModel(t.Context(), memory.Model{Name: "wide", Dimensions: 3}); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Restore(t.Context(), fixture(6).ID); err != nil || len(e.Embedding) > 0 {
		t.Errorf("Restore gave the embedding %v (%v), which the model cannot have made", e.Embedding, err)
	}
}

// TestForgetMerged forgets an entry that others were merged into, one of them
// after another had been merged into that: nothing of the three is left.
func TestForgetMerged(t *testing.T) {
	s, clock := openArchiving(t)
	kept, faded := fixture(2).ID, fixture(6).ID
	better := fixture(3)
	better.ID, better.Agent, better.Validated, better.Relevance = fixture(9).ID, "team", true, 1
	if err := s.Store(t.Context(), better); err != nil {
		t.Fatal(err)
	}
	*clock = clock.Add(time.Hour)
	if stats, err := s.Consolidate(t.Context()); err != nil || stats.Merged != 1 {
		t.Fatalf("Consolidate gave %+v and %v, want one merged", stats, err)
	}
	archived, err := s.Archive(t.Context())
	if err != nil || len(archived) != 3 {
		t.Fatalf("the archive holds %v, %v; want three", archived, err)
	}
	last := archived[0].MergedInto
	if found, err := s.Forget(t.Context(), last); !found || err != nil {
		t.Fatalf("Forget gave %v, %v", found, err)
	}
	mustArchive(t, s, faded)
	if found, err := s.Forget(t.Context(), kept); found || err != nil {
		t.Errorf("Forget of what was merged gave %v, %v", found, err)
	}
	forgotten, err := s.ForgetAll(t.Context(), []uuid.UUID{faded})
	if err != nil || !slices.Equal(forgotten, []uuid.UUID{faded}) {
		t.Errorf("ForgetAll of an archived entry gave %v, %v", forgotten, err)
	}
	mustArchive(t, s)
}

// TestForgetLeavesOthers forgets an entry into which one of other words was
// merged: that is a memory of its own, and can still be restored.
func TestForgetLeavesOthers(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "memory.db"), Options{},
		memory.WithClock(func() time.Time { return fixtureTime.Add(time.Hour) }))
	for n, text := range []string{"the deploy of the service needs the vault on monday", "the deploy of the service needs the vault on friday"} {
		e := fixture(n)
		e.Memory, e.Agent = text, "team"
		if err := s.Store(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	s.settings.Consolidation.MergeThreshold = 0.5
	if stats, err := s.Consolidate(t.Context()); err != nil || stats.Merged != 1 {
		t.Fatalf("Consolidate gave %+v and %v, want one merged", stats, err)
	}
	archived, err := s.Archive(t.Context())
	if err != nil || len(archived) != 1 {
		t.Fatalf("the archive holds %v, %v; want one", archived, err)
	}
	if found, err := s.Forget(t.Context(), archived[0].MergedInto); !found || err != nil {
		t.Fatalf("Forget gave %v, %v", found, err)
	}
	mustArchive(t, s, archived[0].Entry.ID)
}
