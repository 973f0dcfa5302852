package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
)

// Run is the whole program: it carries out what args say and returns the exit
// status.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted")
		}
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

// settings are what the flags say.
type settings struct {
	ns        []int
	corpora   []string
	seed      uint64
	budget    time.Duration // for each workload on each backend
	patience  time.Duration // for a single operation
	workloads []string      // beginnings of names; none means all
	backends  []string      // names; none means all
	folder    string        // for the report, or ""
	json      string        // files for the figures, or ""
	goBench   string
	profile   string
	by        string // the figure that ratios and plots are about

	// program returns the path of the program loopmem, which is built when
	// it is first asked for.
	program func(ctx context.Context) (string, error)
	// progress tells how far the run has come.
	progress func(format string, args ...any)
}

func rootCommand() *cobra.Command {
	var s settings
	root := &cobra.Command{
		Use:   "bench",
		Short: "Measure loopmem and check its answers",
		Long: `Load the same memories into all kinds of stores, ask them the same questions,
check the answers against a plain scan and print how long each took.

A run with 10,000 entries takes a minute or two. Only ratios within a run say
much; absolute figures are those of the machine and of what else it does.`,
		Example: `  go run ./bench -n 10000
  go run ./bench -n 1000,10000,100000 --corpus template,zipf
  go run ./bench -n 10000 --workloads retrieve --backends sqlite,reference --budget 2s`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.validate(); err != nil {
				return err
			}
			s.progress = func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
			return s.run(cmd)
		},
	}
	flags := root.Flags()
	flags.IntSliceVarP(&s.ns, "entries", "n", []int{10_000}, "how many entries; several `NUMBERS` give curves")
	flags.StringSliceVar(&s.corpora, "corpus", []string{"template"}, "template, zipf, or the path of a JSONL `FILE`, with :again behind it to repeat that as often as needed; several are measured in turn")
	flags.Uint64Var(&s.seed, "seed", 1, "where the generated corpora begin")
	flags.DurationVar(&s.budget, "budget", 200*time.Millisecond, "how long each workload is measured on each backend, and how long its answers are checked")
	flags.DurationVar(&s.patience, "patience", time.Minute, "leave a consolidation out that would probably take longer")
	flags.StringSliceVar(&s.workloads, "workloads", nil, "only workloads whose names begin with one of these `WORDS`")
	flags.StringSliceVar(&s.backends, "backends", nil, "only these backends, by `NAME`: "+strings.Join(backendNames(), ", "))
	flags.StringVar(&s.by, "by", string(byP50), "what ratios and plots compare: p50, or `cpu` on a machine that is busy")
	flags.StringVar(&s.folder, "report", "bench-report", "`FOLDER` for the report with its plots; empty for none")
	flags.StringVar(&s.json, "json", "", "also write the figures as JSON to this `FILE`")
	flags.StringVar(&s.goBench, "bench", "", "also write the figures as Go benchmarks, for benchstat, to this `FILE`")
	flags.StringVar(&s.profile, "cpuprofile", "", "write a CPU profile of the whole run to this `FILE`")
	root.AddCommand(workerCommand(), peakCommand(), qualityCommand())
	return root
}

func backendNames() []string {
	var names []string
	for _, b := range backends {
		names = append(names, b.name)
	}
	return names
}

func (s *settings) validate() error {
	for _, n := range s.ns {
		if n < 100 {
			return fmt.Errorf("-n %d is too few to tell anything; use at least 100", n)
		}
	}
	for _, name := range s.backends {
		if !slices.Contains(backendNames(), name) {
			return fmt.Errorf("unknown backend %q; use some of %s", name, strings.Join(backendNames(), ", "))
		}
	}
	if by := cost(s.by); by != byP50 && by != byCPU {
		return fmt.Errorf("--by %s is not known; use %s or %s", s.by, byP50, byCPU)
	}
	if s.budget <= 0 {
		return errors.New("--budget must be more than nothing")
	}
	return nil
}

// wants reports whether a workload was asked for.
func (s *settings) wants(workload string) bool {
	return len(s.workloads) == 0 ||
		slices.ContainsFunc(s.workloads, func(begin string) bool { return strings.HasPrefix(workload, begin) })
}

// run measures, prints, and writes what is to be written.
func (s *settings) run(cmd *cobra.Command) (err error) {
	folder, err := os.MkdirTemp("", "loopmem-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var build sync.Once
	var program string
	var failed error
	s.program = func(ctx context.Context) (string, error) {
		build.Do(func() { program, failed = buildProgram(ctx, folder) })
		return program, failed
	}
	r := results{By: cost(s.by)}
	if r.Environment, err = newEnvironment(cmd.Context(), "bench "+strings.Join(given(cmd), " "), s.seed); err != nil {
		return err
	}
	for _, line := range r.Environment.lines() {
		s.progress("%s", line)
	}
	if err := s.profiled(func() error { return s.measure(cmd.Context(), &r) }); err != nil {
		return err
	}
	r.compare()
	return s.publish(cmd, &r)
}

// given returns the flags that were set.
func given(cmd *cobra.Command) []string {
	var out []string
	for _, name := range []string{"entries", "corpus", "budget", "workloads", "backends", "by"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Changed {
			out = append(out, "--"+name+" "+strings.Trim(f.Value.String(), "[]"))
		}
	}
	return out
}

// profiled runs do, under the profiler if that was asked for.
func (s *settings) profiled(do func() error) error {
	if s.profile == "" {
		return do()
	}
	return writeFile(s.profile, func(w io.Writer) error {
		if err := pprof.StartCPUProfile(w); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
		return do()
	})
}

// publish brings the figures to where they were asked for.
func (s *settings) publish(cmd *cobra.Command, r *results) error {
	if err := r.printTable(cmd.OutOrStdout()); err != nil {
		return err
	}
	if s.json != "" {
		if err := writeFile(s.json, r.writeJSON); err != nil {
			return err
		}
	}
	if s.goBench != "" {
		if err := writeFile(s.goBench, r.writeGoBench); err != nil {
			return err
		}
	}
	if s.folder == "" {
		return nil
	}
	if err := r.writeReport(s.folder); err != nil {
		return err
	}
	s.progress("The report is in %s.", s.folder)
	return nil
}
