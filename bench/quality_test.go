package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

func TestFigure(t *testing.T) {
	var ids []uuid.UUID
	for n := range 20 {
		ids = append(ids, uuid.UUID{byte(n + 1)})
	}
	var f figure
	f.add(ids, []uuid.UUID{ids[3], ids[7], ids[15], {99}})
	f.add(ids, []uuid.UUID{ids[11]})
	f.add(nil, []uuid.UUID{ids[0]})
	f.average()
	want := figure{Questions: 3, Recall5: 0.25 / 3, Recall10: 0.5 / 3, Recall20: 1.75 / 3, Hit10: 1.0 / 3, MRR: (1.0/4 + 1.0/12) / 3}
	if f != want {
		t.Errorf("the figure is %+v, want %+v", f, want)
	}
}

// TestQuality asks one question, which every store can answer, in every way.
func TestQuality(t *testing.T) {
	folder := t.TempDir()
	var lines []byte
	answer := memory.NewEntry(memory.Fact, "the guitar is from Lisbon")
	for _, e := range []memory.Entry{memory.NewEntry(memory.Fact, "it rained"), answer} {
		lines = append(e.AppendJSON(lines), '\n')
	}
	question := `{"category": 2, "question": "guitar", "evidence": ["` + answer.ID.String() + `"]}` + "\n"
	for name, content := range map[string][]byte{"1.memories.jsonl": lines, "1.questions.jsonl": []byte(question)} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plot := filepath.Join(folder, "plots", "quality.svg")
	q := measuredQuality(t, folder, "--stores", "memory,file,sqlite", "--plot", plot)
	if want := 3 * len(approaches) * 2; len(q.Results) != want {
		t.Errorf("%d figures, want %d", len(q.Results), want)
	}
	for _, f := range q.Results {
		if f.MRR != 1 || f.Recall5 != 1 || f.Category != "overall" && f.Category != "temporal" {
			t.Errorf("%+v", f)
		}
	}
	if _, err := os.Stat(plot); err != nil {
		t.Error(err)
	}
}

// TestQuality_scripts asks about memories in Chinese, Japanese, Korean, Thai,
// languages with accents in both forms of Unicode, and others, a question for
// each: its answer must stand first nearly every time.
func TestQuality_scripts(t *testing.T) {
	q := measuredQuality(t, filepath.Join("testdata", "scripts"), "--rankings", "question", "--plot", "")
	if q.Questions != 49 || len(q.Results) == 0 {
		t.Fatalf("%d questions and %d figures", q.Questions, len(q.Results))
	}
	for _, f := range q.Results {
		if f.MRR < 0.95 {
			t.Errorf("%+v", f)
		}
	}
}

func measuredQuality(t *testing.T, folder string, flags ...string) (q quality) {
	t.Helper()
	var out, errs bytes.Buffer
	args := append([]string{"quality", folder, "--json"}, flags...)
	if status := Run(t.Context(), args, strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("exit status %d: %s", status, &errs)
	}
	if err := json.Unmarshal(out.Bytes(), &q); err != nil {
		t.Fatal(err)
	}
	return q
}
