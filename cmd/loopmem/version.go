package main

import (
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
			build := struct {
				Version  string `json:"version"`
				Revision string `json:"revision,omitempty"`
				Go       string `json:"go"`
			}{Version: "unknown"}
			if info, ok := debug.ReadBuildInfo(); ok {
				build.Version, build.Go = info.Main.Version, info.GoVersion
				for _, setting := range info.Settings {
					if setting.Key == "vcs.revision" {
						build.Revision = setting.Value
					}
				}
			}
			return a.answer(build, "loopmem %s (%s)", build.Version, build.Go)
		}),
	}
}
