package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/loopmem/loopmem/memory"
)

// questionKinds are the categories of LoCoMo's questions (Maharana et al.,
// "Evaluating Very Long-Term Conversational Memory of LLM Agents", 2024) by
// their numbers; 0 stands for all of them.
var questionKinds = []string{"overall", "multi-hop", "temporal", "open domain", "single hop", "adversarial"}

// conversation is a file of entries with questions about them.
type conversation struct {
	name      string
	entries   []memory.Entry
	questions []labelled
	clock     memory.Option // of the stores
}

// labelled is a question with the entries that answer it.
type labelled struct {
	Category int         `json:"category"`
	Question string      `json:"question"`
	Evidence []uuid.UUID `json:"evidence"`
}

// readConversations reads every conversation in the folder.
func readConversations(folder string) ([]conversation, error) {
	const suffix = ".memories.jsonl"
	files, err := filepath.Glob(filepath.Join(folder, "*"+suffix))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s holds no *%s", folder, suffix)
	}
	conversations := make([]conversation, len(files))
	for i, file := range files {
		c := &conversations[i]
		c.name = strings.TrimSuffix(filepath.Base(file), suffix)
		err := eachLine(file, func(line []byte) error {
			entry, err := memory.DecodeJSON(line)
			c.entries = append(c.entries, entry)
			return err
		})
		if err != nil {
			return nil, err
		}
		err = eachLine(filepath.Join(folder, c.name+".questions.jsonl"), func(line []byte) error {
			var q labelled
			if err := json.Unmarshal(line, &q); err != nil {
				return err
			}
			if q.Category < 1 || q.Category >= len(questionKinds) {
				return fmt.Errorf("category %d is unknown", q.Category)
			}
			if len(q.Evidence) > 0 {
				c.questions = append(c.questions, q)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return conversations, nil
}

func eachLine(file string, visit func([]byte) error) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if err := visit(line); err != nil {
			return fmt.Errorf("%s, line %d: %w", file, number, err)
		}
	}
	return nil
}

// shuffle puts the entries in an order that the seed decides, and gives the
// first of them the first time, and so on.
func (c *conversation) shuffle(seed uint64) {
	times := make([]time.Time, len(c.entries))
	for i := range c.entries {
		times[i] = c.entries[i].CreatedAt
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(c.entries), func(i, j int) { c.entries[i], c.entries[j] = c.entries[j], c.entries[i] })
	for i := range c.entries {
		c.entries[i].CreatedAt = times[i]
	}
}

// askAt sets the time of asking: so long after the last entry, or now where
// that is nothing.
func (c *conversation) askAt(after time.Duration) {
	now := time.Now()
	if after > 0 {
		now = slices.MaxFunc(c.entries, func(x, y memory.Entry) int { return x.CreatedAt.Compare(y.CreatedAt) }).CreatedAt.Add(after)
	}
	c.clock = memory.WithClock(func() time.Time { return now })
}

// askAll asks every question. Since recalling changes what is recalled, each
// is asked of a fresh copy of the store.
func (c *conversation) askAll(ctx context.Context, a *approach, b *backend, answered func(*labelled, []uuid.UUID)) (err error) {
	folder, err := os.MkdirTemp("", "loopmem-quality-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()

	full, err := b.open(ctx, folder, c.clock)
	if err != nil {
		return err
	}
	store, err := a.over(ctx, full)
	if err != nil {
		return err
	}
	if _, err := store.StoreBatch(ctx, c.entries, memory.Fail); err != nil {
		return err
	}
	if b.file != "" {
		if err := full.Close(); err != nil {
			return err
		}
	}
	for i := range c.questions {
		q := &c.questions[i]
		copied, err := c.copy(ctx, full, b, folder)
		if err != nil {
			return err
		}
		ids, err := a.answer(ctx, copied, q.Question)
		if err := errors.Join(err, copied.Close()); err != nil {
			return fmt.Errorf("question %q: %w", q.Question, err)
		}
		answered(q, ids)
	}
	return nil
}

func (a *approach) answer(ctx context.Context, s subject, text string) ([]uuid.UUID, error) {
	store, err := a.over(ctx, s)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, store, text)
}

// over puts an embedder before the store where the approach needs it.
func (a *approach) over(ctx context.Context, s subject) (subject, error) {
	if !a.embedded {
		return s, nil
	}
	store, embedder := s.(memory.Backend), memory.HashEmbedder{}
	// A file does not say of which model its embeddings are.
	if err := store.BindEmbeddingModel(ctx, embedder.Model()); err != nil {
		return nil, err
	}
	return opened(memory.NewEmbeddingMemory(ctx, store, embedder, nil))
}

// copy returns a copy of the store, which is in the folder if it is in a file.
func (c *conversation) copy(ctx context.Context, full subject, b *backend, folder string) (subject, error) {
	if b.file == "" {
		return full.(*memory.Store).Fork(), nil
	}
	place := filepath.Join(folder, "copy")
	if err := os.RemoveAll(place); err != nil {
		return nil, err
	}
	if err := os.Mkdir(place, 0o700); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(filepath.Join(folder, b.file))
	if err != nil {
		return nil, err
	}
	err = writeFile(filepath.Join(place, b.file), func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b.open(ctx, place, c.clock)
}
