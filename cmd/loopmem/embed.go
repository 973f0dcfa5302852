package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/memory/openaiembed"
)

func embedCommand(a *app) *cobra.Command {
	var e embedding
	var again, quiet bool
	cmd := &cobra.Command{
		Use:   "embed",
		Short: "Give an embedding to every entry that has none",
		Long: `Give an embedding to every entry that has none, from an endpoint that speaks the
interface of OpenAI: Ollama (the default, on this machine), llama.cpp, vLLM,
OpenAI and others. "loopmem recall --embed" then also finds what is said in
other words. The texts are sent to the endpoint.

The database remembers the model and refuses embeddings of another; --again
drops all of them, to change the model. An interrupted run goes on where it
stopped when it is started again.

The key, where the endpoint wants one, is read from LOOPMEM_EMBED_KEY.`,
		Example: `  loopmem embed
  loopmem embed --embed-model mxbai-embed-large --again
  LOOPMEM_EMBED_KEY=... loopmem embed --embed-url https://api.openai.com/v1 --embed-model text-embedding-3-small`,
		Args: arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.withStore(changing, func(cmd *cobra.Command, store memory.Backend, _ []string) error {
			embedder, err := e.embedder(a)
			if err != nil {
				return err
			}
			if again {
				if err := store.DropEmbeddings(cmd.Context()); err != nil {
					return err
				}
			}
			n, err := memory.EmbedMissing(cmd.Context(), store, embedder, a.embedProgress(quiet))
			if err != nil {
				err = fmt.Errorf("%s got embeddings, then: %w", plural(n, "entry"), err)
				if mayPass(err) {
					err = fmt.Errorf("%w; run it again to go on", err)
				}
				return err
			}
			return a.answer(struct {
				Embedded int    `json:"embedded"`
				Model    string `json:"model"`
			}{n, embedder.Model().Name}, "%s got embeddings of %s", plural(n, "entry"), visible(embedder.Model().Name))
		}),
	}
	e.flags(cmd.Flags())
	cmd.Flags().BoolVar(&again, "again", false, "drop all embeddings first, those of another model included")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "show no progress")
	return cmd
}

// mayPass reports whether what kept a run from going on may be over when it is
// run again.
func mayPass(err error) bool {
	if status, ok := errors.AsType[*openaiembed.StatusError](err); ok {
		return !wantsKey(status) && status.Code != http.StatusNotFound
	}
	return !errors.Is(err, memory.ErrModel)
}

func wantsKey(status *openaiembed.StatusError) bool {
	return status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden
}

// keyed tells, of an endpoint that wants another key, where keys come from.
type keyed struct{ memory.Embedder }

// Embed implements [memory.Embedder].
func (k keyed) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := k.Embedder.Embed(ctx, texts)
	if status, ok := errors.AsType[*openaiembed.StatusError](err); ok && wantsKey(status) {
		err = fmt.Errorf("%w; LOOPMEM_EMBED_KEY is to hold the key of the endpoint", err)
	}
	return vectors, err
}

// embedProgress shows on a terminal how far EmbedMissing has come.
func (a *app) embedProgress(quiet bool) func(done, total int) {
	if quiet || a.terminal(a.err) == 0 {
		return nil
	}
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		if bar == nil {
			bar = progressbar.NewOptions(total,
				progressbar.OptionSetWriter(a.err),
				progressbar.OptionSetDescription("embedding"),
				progressbar.OptionShowCount(),
				progressbar.OptionClearOnFinish(),
				progressbar.OptionFullWidth(),
			)
		}
		_ = bar.Set(done) // a bar that cannot be drawn is no reason to stop
	}
}

// embedding is what the flags say of the endpoint.
type embedding struct {
	use     bool // of a command that can do without
	options openaiembed.Options
}

// flags adds the flags that name the endpoint.
func (e *embedding) flags(flags *pflag.FlagSet) {
	flags.StringVar(&e.options.BaseURL, "embed-url", "", "`URL` of the endpoint (default $LOOPMEM_EMBED_URL, else "+openaiembed.DefaultBaseURL+")")
	flags.StringVar(&e.options.Model, "embed-model", "", "`NAME` of the model (default $LOOPMEM_EMBED_MODEL, else, at the default URL, "+openaiembed.DefaultModel+")")
	amountFlag(flags, &e.options.Dimensions, "embed-dimensions", "", math.MaxInt, "`NUMBER` of dimensions to ask for, of models that have a choice")
	e.options.Timeout = openaiembed.DefaultTimeout
	flags.Var((*period)(&e.options.Timeout), "embed-timeout", "how long to wait for an answer of the endpoint, all attempts together")
}

// optionalFlags adds --embed besides, which switches it on.
func (e *embedding) optionalFlags(flags *pflag.FlagSet, does string) {
	flags.BoolVar(&e.use, "embed", false, does+`; see "loopmem embed --help"`)
	e.flags(flags)
}

func (e *embedding) embedder(a *app) (memory.Embedder, error) {
	options := e.options
	if options.BaseURL == "" {
		options.BaseURL = a.getenv("LOOPMEM_EMBED_URL")
	}
	if options.Model == "" {
		options.Model = a.getenv("LOOPMEM_EMBED_MODEL")
	}
	options.APIKey = a.getenv("LOOPMEM_EMBED_KEY")
	if options.BaseURL != "" && options.Model == "" {
		return nil, fmt.Errorf("the endpoint %s needs the name of a model: give --embed-model, or set LOOPMEM_EMBED_MODEL", options.BaseURL)
	}
	embedder, err := openaiembed.New(options)
	if err != nil {
		return nil, err // not embedder: it would be a nil pointer that is no nil Embedder
	}
	return keyed{embedder}, nil
}

// before puts the endpoint before a store, if that is asked for.
func (e *embedding) before(ctx context.Context, a *app, store memory.Backend) (memory.Backend, error) {
	if !e.use {
		return store, nil
	}
	embedder, err := e.embedder(a)
	if err != nil {
		return nil, err
	}
	return memory.NewEmbeddingMemory(ctx, store, embedder, a.logger())
}
