package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// Source is the store that a server stands on, as far as it is more than a
// [memory.Backend].
type Source interface {
	// Open opens the store, all of it. It may be called again after it
	// failed, and after the store was lost.
	Open(ctx context.Context) (memory.Backend, error)
	// Check reports what would go unnoticed by a call that only reads: that
	// the store opened last is no longer the one that others would open. It
	// precedes every call.
	Check() error
	// Lost reports whether the error of a call or of Check means that the
	// store has to be opened again.
	Lost(err error) bool
	// Stats describes what the handle sees.
	Stats(ctx context.Context, store memory.Backend) (Stats, error)
	// ConsolidateIfOlder runs a pass over the store, unless any process ran
	// one less than an age ago, and reports whether it did.
	ConsolidateIfOlder(ctx context.Context, store memory.Backend, age time.Duration) (bool, error)
}

// Options say what the client of a server may do. The zero value is one
// client that sees and changes everything that is not restricted.
type Options struct {
	// Version is what the server says its version is.
	Version string
	// Agent is the namespace that the client works in, as
	// [memory.Scope.Namespace] has it; empty means the whole store.
	Agent string
	// Share is the namespace that recalls reach, where that is more than
	// Agent: its entries are found and read, and cannot be changed. Nil means
	// Agent, and a pointer to "" the whole store.
	Share *string
	// MaxConfidentiality is the highest level that the client sees and
	// stores; nil means [memory.Confidential].
	MaxConfidentiality *memory.Confidentiality
	// ReadOnly leaves out every tool that changes something, and what is
	// recalled becomes no stronger. That it was accessed may still be counted;
	// that is up to the store that the source opens.
	ReadOnly bool
	// Graph offers the tools of the official knowledge-graph server, in place
	// of those named memory_...
	Graph bool
	// GraphFile is the file of that server, whose graph is brought into the
	// store once, unless ReadOnly is set. It may be missing.
	GraphFile string
	// ConsolidateEvery lets the server see to it that a consolidation of the
	// whole store takes place that often, together with all other servers on
	// it; 0 means never.
	ConsolidateEvery time.Duration
	// Logger is told what no client hears of; nil discards it.
	Logger *slog.Logger
}

// Server offers one store to one client.
type Server struct {
	options Options
	source  Source
	log     *slog.Logger
	keeper  *keeper
	pages   pages
	mcp     *mcp.Server
	// ending ends, with errEnding as its cause, the calls that are in flight
	// when the server has no time left for them.
	ending      context.Context
	cancelCalls context.CancelCauseFunc
	// arguments of each tool, for advice about those it does not take.
	arguments map[string]*jsonschema.Schema

	read  memory.Scope // what recalls reach
	write memory.Scope // what may be changed
}

// The time between the end of the input and that of Serve: for calls in
// flight, for them to answer that they were cancelled, for the session to end,
// and for the store to write what it has put off. Clients begin to kill a
// server after two seconds; what is left of them is for noticing the end and
// for the process to go.
const (
	graceForCalls   = 1000 * time.Millisecond
	graceForCancel  = 200 * time.Millisecond
	graceForSession = 100 * time.Millisecond
	graceForStore   = 200 * time.Millisecond
)

// errEnding is why a call is cancelled that the end of the input left no time.
var errEnding = errors.New("the server is ending, as the client asked by closing its input, and the call was not finished in time")

// New makes a server. It opens the store with the first need.
func New(source Source, options Options) *Server {
	s := &Server{
		options: options, source: source, log: options.Logger,
		arguments: make(map[string]*jsonschema.Schema),
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	level := memory.Confidential
	if options.MaxConfidentiality != nil {
		level = *options.MaxConfidentiality
	}
	s.write = memory.Scope{Namespace: options.Agent, MaxConfidentiality: &level}
	s.read = s.write
	if options.Share != nil {
		s.read.Namespace = *options.Share
	}
	s.ending, s.cancelCalls = context.WithCancelCause(context.Background())
	s.keeper = newKeeper(source, s.log)
	if options.Graph && options.GraphFile != "" && !options.ReadOnly {
		s.keeper.open = s.openGraph
	}
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "loopmem", Title: "Loopmem: memory for agents", Version: options.Version},
		&mcp.ServerOptions{
			Instructions: s.instructions(),
			Logger:       s.log,
			// What a server offers never changes while it runs.
			Capabilities: &mcp.ServerCapabilities{
				Tools: &mcp.ToolCapabilities{}, Prompts: &mcp.PromptCapabilities{}, Resources: &mcp.ResourceCapabilities{},
			},
		})
	s.mcp.AddReceivingMiddleware(s.endInTime, adviseOnDamage, s.adviseOnArguments)
	if options.Graph {
		s.addGraphTools()
		s.addGraphResource()
		return s
	}
	s.addMemoryTools()
	s.addResources()
	s.addPrompt()
	return s
}

func (s *Server) addMemoryTools() {
	s.addStore()
	s.addRecall()
	s.addGet()
	s.addUpdate()
	s.addForget()
	s.addLink()
	s.addConsolidate()
	s.addPrune()
	s.addStats()
}

// Serve speaks with the client until the input ends or the context does,
// which the client notices in the same way, and closes the store. A server
// serves once.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer s.cancelCalls(nil)
	var maintenance sync.WaitGroup
	maintenance.Go(func() { s.keepConsolidated(running) })

	transport := &stdio{
		in: in, out: out, log: s.log,
		stop: ctx.Done(), ended: make(chan struct{}),
		grace: graceForCalls, graceForCancel: graceForCancel,
		cancelCalls: func() { s.cancelCalls(errEnding) },
	}
	done := make(chan error, 1)
	// Not the context itself: its end would drop the calls in flight.
	go func() { done <- s.mcp.Run(context.WithoutCancel(ctx), transport) }()

	err := s.await(done, transport.ended)
	stop()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		maintenance.Wait()
		s.keeper.Close()
	}()
	select {
	case <-closed:
	case <-time.After(graceForStore):
		s.log.Warn("the store was busy to the end; the latest accesses may not be counted")
	}
	return err
}

// endInTime lets the end of the server cancel a call. The context that the SDK
// gives it is left alone: with that, the answer would be dropped too.
func (s *Server) endInTime(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		stop := context.AfterFunc(s.ending, func() { cancel(context.Cause(s.ending)) })
		defer stop()
		return next(ctx, method, request)
	}
}

// await waits for the session to end. A client that has gone without closing
// the output can block an answer for ever, and so can a call that heeds no
// cancellation block the session; that is given up.
func (s *Server) await(done <-chan error, ended <-chan struct{}) error {
	select {
	case err := <-done:
		return err
	case <-ended:
	}
	select {
	case err := <-done:
		return err
	case <-time.After(graceForCalls + graceForCancel + graceForSession):
		return errors.New("the client does not take its answers, or a call does not end")
	}
}

// keepConsolidated opens the store, so that the first call need not, and runs
// the passes that the options ask for.
func (s *Server) keepConsolidated(ctx context.Context) {
	every := s.options.ConsolidateEvery
	err := s.keeper.use(ctx, func(memory.Backend) error { return nil })
	if err != nil && ctx.Err() == nil {
		s.log.Warn("the store cannot be opened yet", "error", err)
	}
	if every <= 0 {
		return
	}
	// Another server may run a pass just before ours is due; looking more
	// often than that keeps the time between two passes near what was asked.
	look := time.NewTicker(max(every/4, time.Second))
	defer look.Stop()
	for {
		err := s.keeper.use(ctx, func(store memory.Backend) error {
			ran, err := s.source.ConsolidateIfOlder(ctx, store, every)
			if ran {
				s.log.Info("consolidated")
			}
			return err
		})
		if err != nil && ctx.Err() == nil {
			s.log.Warn("consolidation failed and will be tried again", "error", err)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}
