package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/loopmem/loopmem/jsonlimport"
	"github.com/loopmem/loopmem/memory"
	"github.com/loopmem/loopmem/sqlitestore"
)

// The exit statuses.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Run is the whole program: it carries out the command that args name and
// returns the exit status. getenv looks up the environment.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) int {
	return newApp(stdin, stdout, stderr, getenv).run(ctx, args)
}

// app is one run of the program: what surrounds it, and what the flags say
// that every command has.
type app struct {
	in     io.Reader
	out    *bufio.Writer // flushed when the answer is complete
	stdout io.Writer     // where out leads
	err    io.Writer
	getenv func(string) string
	// terminal returns the width of the terminal that a stream leads to, or 0.
	terminal func(stream any) int
	// running is set once a command has begun: what fails before is usage.
	running bool

	json        bool
	db          string
	wait        time.Duration
	synchronous sqlitestore.Synchronous
	mirrorBytes int64 // see sqlitestore.Options; only servers ask often
	uncounted   bool  // see sqlitestore.Options; for servers that only read
	scope       memory.Scope
}

func newApp(stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) *app {
	return &app{
		in: stdin, out: bufio.NewWriter(stdout), stdout: stdout, err: stderr,
		getenv: getenv, terminal: terminalWidth,
	}
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if failed := a.out.Flush(); err == nil {
		err = failed
	}
	if err == nil {
		return exitOK
	}
	if usage, ok := errors.AsType[*usageError](err); ok || !a.running {
		command := "loopmem"
		if ok {
			command = usage.command
		}
		a.complain(fmt.Errorf("%w\nSee: %s --help", err, command))
		return exitUsage
	}
	a.complain(advise(inWords(err)))
	return exitError
}

// inWords says of a command that a signal has ended what a person would.
func inWords(err error) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	before, after, found := strings.Cut(err.Error(), context.Canceled.Error())
	if !found {
		return fmt.Errorf("interrupted: %w", err)
	}
	return &rewordedError{err, before + "interrupted" + after}
}

// rewordedError is an error that reads differently.
type rewordedError struct {
	error
	text string
}

func (e *rewordedError) Error() string { return e.text }
func (e *rewordedError) Unwrap() error { return e.error }

// complain prints an error or a warning. One that lists faults in files begins
// each line with the position, which editors understand; it stays as it is.
func (a *app) complain(err error) {
	text := err.Error()
	if _, ok := errors.AsType[*jsonlimport.RefusedError](err); !ok {
		text = "loopmem: " + text
	}
	for line := range strings.Lines(text) {
		if command, indented := strings.CutPrefix(line, "\t"); indented { // as cobra has what may be meant
			line = "  " + command
		}
		fmt.Fprintln(a.err, visible(strings.TrimSuffix(line, "\n")))
	}
}

// advise adds what to do next to errors that leave it open.
func advise(err error) error {
	if _, ok := errors.AsType[*advisedError](err); ok {
		return err
	}
	for _, a := range []struct {
		class  error
		advice string
	}{
		{sqlitestore.ErrInUse, ""}, // waiting would not help
		{memory.ErrBusy, "--busy-timeout makes it wait longer"},
		{memory.ErrConflict, "look at it again with loopmem show, and decide anew"},
		{memory.ErrNotFound, "loopmem list shows what there is, within --namespace and --clearance if given"},
		{memory.ErrScope, "widen --namespace or --clearance, or name an --agent within them"},
		{memory.ErrFull, "forget or unpin something"},
		{memory.ErrModel, "to change the model, drop the embeddings of the old one with loopmem embed --again"},
	} {
		switch {
		case !errors.Is(err, a.class):
		case a.advice == "":
			return err
		default:
			return fmt.Errorf("%w; %s", err, a.advice)
		}
	}
	return err
}

// advisedError is an error that brings its own advice.
type advisedError struct {
	error
	advice string
}

func (e *advisedError) Error() string { return e.error.Error() + " " + e.advice }
func (e *advisedError) Unwrap() error { return e.error }

// usageError is a call of the program that makes no sense.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(cmd *cobra.Command, text string, args ...any) error {
	return &usageError{cmd.CommandPath(), fmt.Errorf(text, args...)}
}

// flagError tells of a flag that cannot be, and where words are taken, how to
// give one that only looks like a flag.
func flagError(cmd *cobra.Command, err error) error {
	_, unknown := errors.AsType[*pflag.NotExistError](err)
	if unknown && slices.Contains([]string{"add", "retrieve", "recall"}, cmd.Name()) {
		return usage(cmd, "%w; a text that begins with - stands behind --, as in: %s -- \"-x\"", err, cmd.CommandPath())
	}
	return usage(cmd, "%w", err)
}

// notBoth refuses two flags that exclude each other.
func notBoth(cmd *cobra.Command, one, other string) error {
	if cmd.Flags().Changed(one) && cmd.Flags().Changed(other) {
		return usage(cmd, "give --%s or --%s, not both", one, other)
	}
	return nil
}

// arguments makes a check of arguments explain itself.
func arguments(check cobra.PositionalArgs, want string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage(cmd, "%s %s, not %s", cmd.Name(), want, plural(len(args), "argument"))
		}
		return nil
	}
}

// action makes the function of a command from one that needs no store.
func (a *app) action(do func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		a.running = true
		return do(cmd, args)
	}
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "loopmem",
		Short: "Memory for agents, in one file that many processes share",
		Long: `loopmem keeps the memories of agents in one SQLite file. Any number of
processes may store and retrieve at the same time.

The file is the one of --db, else of the environment variable LOOPMEM_DB, else
loopmem/memory.db in the user's data directory. "loopmem stats" shows which. A
path that ends in .jsonl is a file of the JSONL store, to look at old memories
before moving them.`,
		Example: `  loopmem demo
  loopmem import memory.jsonl
  loopmem add "the staging cluster is rebuilt every Monday" --tag ops
  loopmem retrieve "when is staging rebuilt"`,
		Version:       versionOf().String(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("loopmem {{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(flagError)
	root.SetHelpCommand(helpCommand())

	a.commonFlags(root.PersistentFlags())
	root.AddCommand(
		addCommand(a), retrieveCommand(a), recallCommand(a), showCommand(a), listCommand(a),
		updateCommand(a), linkCommand(a), forgetCommand(a), pruneCommand(a), consolidateCommand(a),
		importCommand(a), exportCommand(a), verifyCommand(a), embedCommand(a),
		archiveCommand(a), backupCommand(a), restoreCommand(a), doctorCommand(a), compactCommand(a),
		mcpCommand(a), statsCommand(a), demoCommand(a), demoWorkerCommand(a), versionCommand(a),
	)
	return root
}

// commonFlags adds the flags that all commands have.
func (a *app) commonFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&a.json, "json", false, "print JSON: entries one a line, everything else as one object")
	flags.StringVar(&a.db, "db", "", "`FILE` with the memories (default $LOOPMEM_DB, else loopmem/memory.db in the data directory)")
	a.wait = 10 * time.Second
	flags.Var((*period)(&a.wait), "busy-timeout", "how long a write waits for other writers")
	flags.Func("synchronous", "what a write to a database survives once it has returned, `LEVEL`: normal (the death of any process) or full (power failure as well) (default normal)",
		intoValue(&a.synchronous, sqlitestore.ParseSynchronous))
	flags.Func("namespace", "see and change only entries of this `AGENT` and those below it (tg:1 covers tg:1:x, not tg:12)", filled(&a.scope.Namespace))
	flags.Func("clearance", "see and change only entries up to this `LEVEL` of confidentiality", into(&a.scope.MaxConfidentiality, memory.ParseConfidentiality))
}

// helpCommand is cobra's, except that an unknown command is an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Tell about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			topic, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown command %q", strings.Join(args, " "))
			}
			if err != nil {
				return &usageError{cmd.Root().CommandPath(), err}
			}
			topic.InitDefaultHelpFlag() // otherwise done when a command runs
			return topic.Help()
		},
	}
}

// terminalWidth is app.terminal outside of tests.
func terminalWidth(stream any) int {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
