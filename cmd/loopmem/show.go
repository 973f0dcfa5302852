package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/memory"
)

func showCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "show ID",
		Short: "Show an entry whole, with its forgetting curve",
		Long: `Show every field of an entry that is not at its default, and how its strength
fades unless it is used. The beginning of an id is enough, from 6 characters.`,
		Example: `  loopmem show 1f3a9c
  loopmem show 1f3a9c2e-7b21-4c0e-9d53-0f6a2b8c4d1e --json`,
		Args: arguments(cobra.ExactArgs(1), "takes one id"),
		RunE: a.withStore(reading, func(cmd *cobra.Command, store memory.Backend, args []string) error {
			id, err := store.Resolve(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			record, err := store.Get(cmd.Context(), id)
			if err != nil {
				return err
			}
			curve := forgetting(&record.Entry, time.Now())
			if a.json {
				return a.printJSON(&record.Entry, struct {
					Version         uint64  `json:"version"`
					ForgettingCurve []point `json:"forgetting_curve"`
				}{record.Version, curve})
			}
			_, err = fmt.Fprintln(a.out, describe(&record, curve))
			return err
		}),
	}
}

// point is the strength of an entry some days from now.
type point struct {
	Days     int     `json:"days"`
	Strength float64 `json:"strength"`
}

func forgetting(e *memory.Entry, now time.Time) []point {
	curve := []point{{Days: 0}, {Days: 1}, {Days: 7}, {Days: 30}}
	for i := range curve {
		curve[i].Strength = e.EffectiveStrength(now.AddDate(0, 0, curve[i].Days))
	}
	return curve
}

func describe(record *memory.Record, curve []point) string {
	e := &record.Entry
	var f fields
	f.add("id", "%s", e.ID)
	f.add("version", "%d", record.Version)
	f.add("category", "%s", label(string(e.Category)))
	if e.MemoryType != memory.Episodic {
		f.add("type", "%s", e.MemoryType)
	}
	addLabels(&f, "agent", e.Agent)
	addLabels(&f, "tags", e.Tags...)
	addLabels(&f, "keywords", e.Keywords...)
	f.add("created", "%s", stamp(&e.CreatedAt))
	f.add("used", "%d times, last: %s", e.AccessCount, stamp(e.LastAccessed))
	f.add("decayed", "%s", stamp(e.LastDecayed))
	f.add("relevance", "%s", float(float64(e.Relevance), 32))
	f.add("importance", "%d", e.Importance)
	if e.Validated {
		f.add("validated", "yes")
	}
	if e.Pinned {
		f.add("pinned", "yes")
	}
	if e.Confidentiality != memory.Public {
		f.add("confidentiality", "%s", e.Confidentiality)
	}
	addLabels(&f, "author", e.AuthorUserID)
	addLabels(&f, "tenant", e.AuthorTenantID)
	addIDs(&f, "related", e.RelatedIDs)
	addIDs(&f, "sources", e.SourceIDs)
	if n := len(e.Embedding); n > 0 {
		f.add("embedding", "%d dimensions", n)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Attributes)) {
		f.add("attribute", "%s = %s", label(key), visible(e.Attributes[key]))
	}
	if e.Summary != "" {
		f.add("summary", "%s", visible(e.Summary))
	}
	for i, p := range curve {
		name := ""
		if i == 0 {
			name = "strength"
		}
		f.add(name, "%s", p)
	}
	return f.String() + "\n" + indented(e.Memory)
}

// String draws the strength as a bar.
func (p point) String() string {
	const width = 30
	when := "now"
	if p.Days > 0 {
		when = fmt.Sprintf("in %d d", p.Days)
	}
	return fmt.Sprintf("%s  %.2f  %s", pad(when, 7), p.Strength, strings.Repeat("█", int(p.Strength*width+0.5)))
}

func addLabels(f *fields, name string, values ...string) {
	labels := make([]string, 0, len(values))
	for _, v := range values {
		if v != "" {
			labels = append(labels, label(v))
		}
	}
	if len(labels) > 0 {
		f.add(name, "%s", strings.Join(labels, " "))
	}
}

func addIDs(f *fields, name string, ids []uuid.UUID) {
	for _, id := range ids {
		f.add(name, "%s", id)
	}
}

// indented sets a text apart, line by line, so that none of its lines can be
// taken for a field.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString("\n    " + visible(strings.TrimSuffix(line, "\r")))
	}
	return b.String()
}
