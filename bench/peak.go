package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// peakCommand runs a program and prints the most memory that it had, in
// bytes. It must be a small process that does so: the system also counts what
// the parent had when it split off the child.
func peakCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "peak PROGRAM ARGUMENTS",
		Short:  "Tell how much memory a program takes",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			command := exec.CommandContext(cmd.Context(), args[0], args[1:]...)
			command.Stderr = cmd.ErrOrStderr()
			if err := command.Run(); err != nil {
				return err
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), peakMemory(command.ProcessState))
			return err
		},
	}
}

// peak runs a program for the sake of the memory that it takes.
func peak(ctx context.Context, program string, args ...string) (int64, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	out, _, err := run(ctx, self, append([]string{"peak", "--", program}, args...)...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
}
