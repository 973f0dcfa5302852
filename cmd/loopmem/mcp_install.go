package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/loopmem/loopmem/internal/atomicfile"
	"github.com/loopmem/loopmem/internal/mcpclients"
	"github.com/loopmem/loopmem/internal/realpath"
)

// mcpServerName is what clients call this server.
const mcpServerName = "loopmem"

// backupSuffix is behind the name of what a file was before it was edited; a
// number follows where there is an earlier one.
const backupSuffix = ".before-loopmem"

func mcpInstallCommand(a *app) *cobra.Command {
	var client mcpclients.Client
	var write bool
	cmd := &cobra.Command{
		Use:   "install [--client NAME] [-- FLAGS OF mcp]",
		Short: "Tell a client to start this server",
		Long: `Print what to add to the configuration of a client, or with --write add it:
everything else in the file stays as it is, and the file as it was is kept beside
it, with ` + backupSuffix + ` behind its name. Where the client has the server
already, only its command and arguments are replaced.

What stands after -- becomes flags of loopmem mcp, as do --db, --synchronous and
--busy-timeout before it; the paths of files are made absolute. Without --client,
tell which clients have the server already.

Clients: claude-code, claude-desktop, codex, cursor, vscode.`,
		Example: `  loopmem mcp install
  loopmem mcp install --client cursor
  loopmem mcp install --client codex --write -- --agent team:codex --share team`,
		RunE: a.action(func(cmd *cobra.Command, args []string) error {
			if client.Name == "" {
				if write || len(args) > 0 {
					return usage(cmd, "name the client with --client")
				}
				clients := a.mcpClients()
				return a.answer(clients, "%s", clients)
			}
			server, err := a.mcpServer(cmd, args)
			if err != nil {
				return err
			}
			return a.installMCP(client, server, write)
		}),
	}
	cmd.Flags().Func("client", "the `CLIENT` to configure", intoValue(&client, mcpclients.Parse))
	cmd.Flags().BoolVar(&write, "write", false, "edit the file of the client")
	return cmd
}

// mcpServer is what clients are to start: this program, with the flags given,
// on the database that it would use itself.
func (a *app) mcpServer(cmd *cobra.Command, flags []string) (server mcpclients.Server, err error) {
	if err := refuseScope(cmd); err != nil {
		return server, err
	}
	own, err := a.ownFlags(cmd)
	if err != nil {
		return server, err
	}
	passed, err := a.passedFlags(cmd, flags)
	if err != nil {
		return server, err
	}
	command, err := programPath()
	return mcpclients.Server{
		Name: mcpServerName, Command: command,
		Args: slices.Concat([]string{"mcp"}, own, passed),
	}, err
}

// ownFlags are those of install that go for the server as well.
func (a *app) ownFlags(cmd *cobra.Command) (flags []string, err error) {
	path, isDefault, err := a.databasePath()
	if err != nil {
		return nil, err
	}
	if !isDefault {
		// Clients start servers in other folders and environments than this.
		if path, err = filepath.Abs(path); err != nil {
			return nil, err
		}
		flags = append(flags, "--db", path)
	}
	if cmd.Flags().Changed("synchronous") {
		flags = append(flags, "--synchronous", a.synchronous.String())
	}
	if cmd.Flags().Changed("busy-timeout") {
		flags = append(flags, "--busy-timeout", a.wait.String())
	}
	return flags, nil
}

// passedFlags are those that stand behind --, once they are found to be such
// that the server takes.
func (a *app) passedFlags(cmd *cobra.Command, flags []string) (passed []string, err error) {
	trial := newApp(a.in, a.stdout, a.err, a.getenv)
	probe := mcpCommand(trial)
	trial.commonFlags(probe.Flags())
	err = probe.Flags().ParseAll(flags, func(flag *pflag.Flag, value string) error {
		if flag.Name == "graph-file" && value != "" {
			var err error
			if value, err = filepath.Abs(expandHome(value, a.getenv)); err != nil {
				return err
			}
		}
		passed = append(passed, written(flag, value)...)
		return probe.Flags().Set(flag.Name, value)
	})
	if err != nil {
		return nil, usage(cmd, "loopmem mcp: %w", err)
	}
	if probe.Flags().Changed("db") {
		return nil, usage(cmd, "give --db before the --, so that its path is made absolute")
	}
	if rest := probe.Flags().Args(); len(rest) > 0 {
		return nil, usage(cmd, "loopmem mcp takes no argument such as %s", rest[0])
	}
	if err := probe.PreRunE(probe, nil); err != nil {
		return nil, usage(cmd, "%w", err)
	}
	return passed, nil
}

// written is a flag as it is written in a command.
func written(flag *pflag.Flag, value string) []string {
	switch flag.NoOptDefVal {
	case "":
		return []string{"--" + flag.Name, value}
	case value:
		return []string{"--" + flag.Name}
	default:
		return []string{"--" + flag.Name + "=" + value}
	}
}

// programPath returns the path of this program. The one by which it is found
// is better than the one it resolves to, which may change with an update.
func programPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if builtToRunOnce(self) {
		return "", errors.New("this program was built by go run and will be gone some day; make one that stays with go install ./cmd/loopmem, and let that one install itself")
	}
	found, err := exec.LookPath(filepath.Base(self))
	if err != nil {
		return self, nil
	}
	was, err1 := os.Stat(self)
	is, err2 := os.Stat(found)
	if err1 != nil || err2 != nil || !os.SameFile(was, is) {
		return self, nil
	}
	return filepath.Abs(found)
}

// builtToRunOnce reports whether a program lies where go run puts those it
// builds: in its cache or in a folder for temporary files. Tests lie there too.
func builtToRunOnce(path string) bool {
	if name := strings.TrimSuffix(filepath.Base(path), ".exe"); strings.HasSuffix(name, ".test") {
		return false
	}
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), func(folder string) bool {
		return strings.HasPrefix(folder, "go-build")
	})
}

// installation tells what an install did or would do.
type installation struct {
	Client  string `json:"client"`
	File    string `json:"file"`
	Add     string `json:"add"` // what the file is to have
	Written bool   `json:"written"`
	// Replaced tells that the client had the server already, with another
	// command.
	Replaced bool   `json:"replaced"`
	Backup   string `json:"backup,omitempty"`
}

func (a *app) installMCP(client mcpclients.Client, server mcpclients.Server, write bool) error {
	file, err := client.File(runtime.GOOS, a.getenv)
	if err != nil {
		return err
	}
	alone, err := client.Add(nil, server)
	if err != nil {
		return err
	}
	did := installation{Client: client.Name, File: file, Add: string(alone)}
	if !write {
		return a.answer(did, "Add this to %s, or let --write do it:\n\n%s", visible(file), bytes.TrimSpace(alone))
	}
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	edited, err := client.Add(content, server)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if bytes.Equal(content, edited) {
		return a.answer(did, "%s has it already, in %s", client.Title, visible(file))
	}
	if did.Replaced, err = client.Has(content, server.Name); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if did.Backup, err = replaceFile(file, content, edited); err != nil {
		return err
	}
	did.Written = true
	return a.answer(did, "%s will start loopmem when it starts again; %s", client.Title, did.change())
}

// change tells what has become of the file.
func (i *installation) change() string {
	text := "added to " + visible(i.File)
	if i.Replaced {
		text = "its command was replaced in " + visible(i.File)
	}
	if i.Backup != "" {
		text += "; the file as it was is " + visible(i.Backup)
	}
	return text
}

// replaceFile gives a file, or the one that a link leads to, a new content in
// one step. It returns the path of a copy of what was there, if anything was.
func replaceFile(path string, was, is []byte) (backup string, err error) {
	if path, err = realpath.Resolve(path); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", writeFile(path, is)
	}
	if backup, err = keepCopy(path, was); err != nil {
		return "", err
	}
	if err := writeFile(path, is); err != nil {
		return "", err
	}
	return backup, os.Chmod(path, info.Mode().Perm())
}

// keepCopy writes what a file holds beside it, under a name that nothing has:
// an earlier copy may be the only one of what a user wrote by hand.
func keepCopy(path string, content []byte) (name string, err error) {
	name = path + backupSuffix
	for n := 2; ; n++ {
		file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			name = fmt.Sprintf("%s%s-%d", path, backupSuffix, n)
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = file.Write(content)
		return name, errors.Join(err, file.Sync(), file.Close())
	}
}

func writeFile(path string, content []byte) error {
	file, err := atomicfile.New(path)
	if err != nil {
		return err
	}
	defer file.Cleanup()
	if _, err := file.Write(content); err != nil {
		return err
	}
	return file.CloseAtomicallyReplace()
}
