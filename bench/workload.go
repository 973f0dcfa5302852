package main

import (
	"context"
	"slices"

	"github.com/loopmem/loopmem/memory"
)

// workload is one thing that is measured.
type workload struct {
	name string
	// on tells which backends it is for; nil means all that are not for
	// questions only.
	on func(*backend) bool
	// closed is set where the store must not be open in this process.
	closed  bool
	measure func(ctx context.Context, t *trial) (sample, error)
}

// stage is a corpus that is loaded once, and the workloads that use it one
// after the other. Those that only ask come first, so that they find the
// corpus as it was loaded.
type stage struct {
	// adapt changes the corpus for this stage; nil means that it stays.
	adapt     func(ctx context.Context, c corpus, seed uint64) (corpus, error)
	workloads []workload
	// noteImport is set in the stage that reports how the corpus was loaded.
	noteImport bool
}

// importing is the workload that every stage begins with.
const importing = "import"

// names lists the workloads of the stage.
func (s *stage) names() []string {
	var names []string
	if s.noteImport {
		names = append(names, importing)
	}
	for _, w := range s.workloads {
		names = append(names, w.name)
	}
	return names
}

// stages are all measurements in the order in which they are made.
func stages() []stage {
	return []stage{
		{workloads: slices.Concat(retrieving(), recalling(), questioning(), writing(), processes(), overMCP(), together()), noteImport: true},
		{adapt: withEmbeddings, workloads: hybrid()},
		{adapt: generatedBy(mostlyDistinct), workloads: consolidating("distinct")},
		{adapt: generatedBy(mostlyDistinct), workloads: waiting()},
		{adapt: generatedBy(nearDuplicates), workloads: consolidating("near duplicates")},
	}
}

func withEmbeddings(ctx context.Context, c corpus, _ uint64) (corpus, error) {
	var err error
	c.entries, err = embedded(ctx, c.entries)
	return c, err
}

// generatedBy replaces the entries: what consolidation costs depends on how
// alike they are, so that must be known.
func generatedBy(generate func(n int, seed uint64) []memory.Entry) func(context.Context, corpus, uint64) (corpus, error) {
	return func(_ context.Context, c corpus, seed uint64) (corpus, error) {
		c.entries = generate(len(c.entries), seed)
		return c, nil
	}
}

// isOn reports whether the workload is for a backend.
func (w *workload) isOn(b *backend) bool {
	if w.on == nil {
		return !b.answersOnly
	}
	return w.on(b)
}

func onAll(*backend) bool      { return true }
func hasFile(b *backend) bool  { return b.file != "" && !b.answersOnly }
func isShared(b *backend) bool { return b.shared }

// kinds are the kinds of questions, by their names in the report.
var kinds = []struct {
	name  string
	texts func(*questions) []string
}{
	{"word in one", func(q *questions) []string { return q.one }},
	{"word in 10%", func(q *questions) []string { return q.tenth }},
	{"three words in all", func(q *questions) []string { return q.all }},
	{"word in none", func(q *questions) []string { return q.none }},
	{"substring", func(q *questions) []string { return q.substring }},
	{"empty", func(q *questions) []string { return q.empty }},
}
