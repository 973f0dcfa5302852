package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: `  loopmem version --json`,
		Args:    arguments(cobra.NoArgs, "takes no arguments"),
		RunE: a.action(func(*cobra.Command, []string) error {
			build := versionOf()
			return a.answer(build, "loopmem %s", build)
		}),
	}
}

// build is what this program was made of.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

func versionOf() build {
	b := build{Version: "unknown"}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version, b.Go = info.Main.Version, info.GoVersion
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				b.Revision = setting.Value
			}
		}
	}
	return b
}

func (b build) String() string { return fmt.Sprintf("%s (%s)", b.Version, b.Go) }
