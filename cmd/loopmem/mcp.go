package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/loopmem/loopmem/mcpserver"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

func mcpCommand(a *app) *cobra.Command {
	var options mcpserver.Options
	var share string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve the memory to a language model, over the Model Context Protocol",
		Long: `Speak the Model Context Protocol on standard input and output, so that a client
such as an editor or an assistant can store and recall. The client starts it and
ends it; each client has a process of its own, and all may use one file.

With --tools graph it offers the tools of the official knowledge-graph server,
@modelcontextprotocol/server-memory, in its place and on the same store. The
graph in the file of --graph-file, else the one that MEMORY_FILE_PATH names as it
does for that server, is brought there once; the file itself stays as it is.

The flags fix what the client may do, whatever its model asks for. Recalls stay
within --agent, unless --share widens them; entries above --max-confidentiality
neither leave nor come in.`,
		Example: `  loopmem mcp
  loopmem mcp --db project.db --agent team:editor --share team
  loopmem mcp --read-only --max-confidentiality internal
  loopmem mcp --tools graph --graph-file memory.jsonl`,
		Args: arguments(cobra.NoArgs, "takes its settings as flags"),
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseScope(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("share") {
				if !(&memory.Scope{Namespace: share}).Contains(options.Agent, memory.Public) {
					return usage(cmd, "--share %q does not cover --agent %q, whose entries it must not lose", share, options.Agent)
				}
				options.Share = &share
			}
			if options.GraphFile != "" && !options.Graph {
				return usage(cmd, "--graph-file is for --tools graph; loopmem import brings a file to the other tools")
			}
			if options.ReadOnly && options.ConsolidateEvery > 0 {
				return usage(cmd, "a server with --read-only does not consolidate; leave out --consolidate-every")
			}
			return nil
		},
		RunE: a.action(func(cmd *cobra.Command, _ []string) error {
			source, err := a.mcpSource(cmd, options.ReadOnly)
			if err != nil {
				return err
			}
			a.uncounted = options.ReadOnly
			options.Logger = a.logger()
			options.GraphFile = expandHome(cmp.Or(options.GraphFile, a.getenv("MEMORY_FILE_PATH")), a.getenv)
			if info, ok := debug.ReadBuildInfo(); ok {
				options.Version = info.Main.Version
			}
			ctx, stop := whileParentLives(cmd.Context())
			defer stop()
			if a.terminal(a.in) > 0 {
				a.complain(errors.New("hint: this speaks with a client, not with a person; loopmem mcp install configures one"))
			}
			// A client that is killed leaves a broken pipe, which by default
			// would kill this process before the store is closed.
			signal.Ignore(syscall.SIGPIPE)
			return mcpserver.New(source, options).Serve(ctx, a.in, a.stdout)
		}),
	}
	flags := cmd.Flags()
	flags.Func("tools", "which tools to offer: `memory or graph` (default memory)", intoValue(&options.Graph, parseTools))
	flags.StringVar(&options.GraphFile, "graph-file", "", "with --tools graph: bring the graph in this `FILE` once (default $MEMORY_FILE_PATH)")
	flags.StringVar(&options.Agent, "agent", "", "the client stores as this `AGENT` and sees only its entries and those below it")
	flags.StringVar(&share, "share", "", "recalls also reach this `AGENT` and those below it; empty: everything")
	flags.Func("max-confidentiality", "entries above this `LEVEL` neither leave nor come in (default confidential)",
		into(&options.MaxConfidentiality, memory.ParseConfidentiality))
	flags.BoolVar(&options.ReadOnly, "read-only", false, "offer no tool that changes anything, and count no access")
	flags.Func("consolidate-every", "consolidate that often, such as `24h` or 7d, once for all servers on the file; 0: never (default 0)",
		intoValue(&options.ConsolidateEvery, parseAge))
	flags.Func("cache", "use up to this `SIZE` of memory to answer fast, such as 256MiB; 0: none (default 64MiB, enough for 200,000 entries)",
		intoValue(&a.mirrorBytes, parseCache))
	cmd.AddCommand(mcpInstallCommand(a))
	return cmd
}

// refuseScope points to the flags of mcp for what others do by means of the
// common ones.
func refuseScope(cmd *cobra.Command) error {
	for _, name := range []string{"namespace", "clearance"} {
		if cmd.Flags().Changed(name) {
			return usage(cmd, "--%s is for other commands; loopmem mcp has --agent and --max-confidentiality", name)
		}
	}
	return nil
}

// parseCache reads the size of a cache as [sqlitestore.Options] want it.
func parseCache(text string) (int64, error) {
	size, err := humanize.ParseBytes(text)
	if err != nil || size > math.MaxInt64 {
		return 0, fmt.Errorf("use a size such as 256MiB")
	}
	if size == 0 {
		return -1, nil
	}
	return int64(size), nil
}

// parseTools reports whether the tools named are those of a graph.
func parseTools(name string) (graph bool, err error) {
	switch name {
	case "memory", "graph":
		return name == "graph", nil
	default:
		return false, fmt.Errorf("use memory or graph")
	}
}

// mcpSource is the database as package mcpserver wants it.
type mcpSource struct {
	app       *app
	path      string
	mustExist bool
	opened    atomic.Pointer[os.FileInfo] // the file, as it was when it was opened last
}

func (a *app) mcpSource(cmd *cobra.Command, readOnly bool) (*mcpSource, error) {
	if cmd.Flags().Changed("db") && a.db == "" {
		return nil, usage(cmd, "--db is empty; name a file, or leave it out for the default one")
	}
	path, _, err := a.databasePath()
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(filepath.Ext(path), ".jsonl") {
		return nil, usage(cmd, "%s is a JSONL file, which processes cannot share; import it into a database: loopmem import %s", path, path)
	}
	return &mcpSource{app: a, path: path, mustExist: readOnly}, nil
}

// Open implements [mcpserver.Source].
func (s *mcpSource) Open(ctx context.Context) (memory.Backend, error) {
	want := creating
	if s.mustExist {
		want = reading
	}
	store, err := s.app.openPath(ctx, s.path, want, []memory.Option{memory.WithLogger(s.app.logger())})
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s.opened.Store(&info)
	return store, nil
}

// Check implements [mcpserver.Source]. The store itself looks only when it
// writes, and a server may read for days.
func (s *mcpSource) Check() error {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(info, *s.opened.Load()) {
		return fmt.Errorf("%s: %w", s.path, sqlitestore.ErrReplaced)
	}
	return nil
}

// Lost implements [mcpserver.Source].
func (s *mcpSource) Lost(err error) bool { return errors.Is(err, sqlitestore.ErrReplaced) }

// Stats implements [mcpserver.Source].
func (s *mcpSource) Stats(ctx context.Context, store memory.Backend) (mcpserver.Stats, error) {
	stats, err := database(store).Stats(ctx)
	return mcpserver.Stats{
		Entries: stats.Entries, ByCategory: stats.ByCategory, ByAgent: stats.ByAgent,
		Path: stats.Path, FileBytes: stats.FileBytes, LastConsolidated: stats.LastConsolidated,
	}, err
}

// ConsolidateIfOlder implements [mcpserver.Source].
func (s *mcpSource) ConsolidateIfOlder(ctx context.Context, store memory.Backend, age time.Duration) (bool, error) {
	_, ran, err := database(store).ConsolidateIfOlder(ctx, age)
	return ran, err
}

// database is what Open opened, or a narrower handle on it.
func database(store memory.Backend) *sqlitestore.Store {
	s, ok := store.(*sqlitestore.Store)
	if !ok {
		panic(fmt.Sprintf("%T is no database", store))
	}
	return s
}

// whileParentLives returns a context that also ends when the process that
// started this one is gone. Mostly standard input ends then; but where the
// parent had children that inherited it, it stays open. On Windows a process
// keeps the number of its parent, so there the input is all that tells.
func whileParentLives(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	parent := os.Getppid()
	go func() {
		// Seldom enough to cost nothing, and often enough that the server
		// still ends within two seconds.
		look := time.NewTicker(200 * time.Millisecond)
		defer look.Stop()
		for {
			select {
			case <-look.C:
				if os.Getppid() != parent {
					cancel()
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}
