// Package mcpclients knows where clients of the Model Context Protocol keep
// the list of the servers they start, and edits those lists.
package mcpclients

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Server is what a client starts.
type Server struct {
	Name    string
	Command string
	Args    []string
}

// Client is a program that starts servers.
type Client struct {
	Name   string // as a user chooses it
	Title  string
	folder func(system string, getenv func(string) string) string // "" where it cannot be known
	file   string
	format format
}

// format is the form that a file has.
type format interface {
	// edit returns the content with the server in it. One of that name gets
	// another command and keeps what else is said about it, and everything
	// else stays as it is. No content is an empty file.
	edit(content []byte, server Server) ([]byte, error)
	// has reports whether the content has a server of that name. The error
	// means that the content has another form.
	has(content []byte, name string) (bool, error)
}

var clients = []Client{
	{"claude-code", "Claude Code", home(), ".claude.json", jsonFile{"mcpServers", true}},
	{"claude-desktop", "Claude Desktop", settings("Claude"), "claude_desktop_config.json", jsonFile{"mcpServers", false}},
	{"codex", "Codex", orHome("CODEX_HOME", ".codex"), "config.toml", tomlFile{"mcp_servers"}},
	{"cursor", "Cursor", home(".cursor"), "mcp.json", jsonFile{"mcpServers", false}},
	{"vscode", "VS Code", settings("Code", "User"), "mcp.json", jsonFile{"servers", true}},
}

// All returns the clients that are known.
func All() []Client { return clients }

// Parse returns the client of that name.
func Parse(name string) (Client, error) {
	var names []string
	for _, c := range clients {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return Client{}, fmt.Errorf("use one of %s", strings.Join(names, ", "))
}

// File returns the path of the user's own list on that system, as GOOS names
// it.
func (c *Client) File(system string, getenv func(string) string) (string, error) {
	folder := c.folder(system, getenv)
	if folder == "" {
		return "", errors.New("the home directory of the user is not known")
	}
	return filepath.Join(folder, c.file), nil
}

// Add returns the content of a list with the server in it. One that has the
// name already gets the command and the arguments, and keeps what its user has
// set besides. Everything else stays as it is, comments included.
func (c *Client) Add(content []byte, server Server) ([]byte, error) {
	mark, content := cutMark(content)
	edited, err := c.format.edit(content, server)
	if err != nil {
		return nil, err
	}
	return slices.Concat(mark, edited), nil
}

// addresses are the keys under which clients have that of a server that they do
// not start but speak to over the network.
var addresses = []string{"url", "httpUrl", "serverUrl"}

// elsewhere says that the name is that of such a server: with a command beside
// its address, what a client does is up to the client.
func elsewhere(name, key string) error {
	return fmt.Errorf("it has a server of the name %s at an address (%s): remove or rename that first", name, key)
}

// Has reports whether a list names such a server. The error means that the
// list cannot be understood.
func (c *Client) Has(content []byte, name string) (bool, error) {
	_, content = cutMark(content)
	return c.format.has(content, name)
}

// cutMark parts the byte order mark, which some editors on Windows write, from
// the content.
func cutMark(content []byte) (mark, rest []byte) {
	rest = bytes.TrimPrefix(content, []byte("\ufeff"))
	return content[:len(content)-len(rest)], rest
}

// home is a folder in the home directory.
func home(names ...string) func(string, func(string) string) string {
	return func(system string, getenv func(string) string) string {
		variable := "HOME"
		if system == "windows" {
			variable = "USERPROFILE"
		}
		return below(getenv(variable), names...)
	}
}

// orHome is the folder that a variable names, else one in the home directory.
func orHome(variable, name string) func(string, func(string) string) string {
	return func(system string, getenv func(string) string) string {
		if folder := getenv(variable); folder != "" {
			return folder
		}
		return home(name)(system, getenv)
	}
}

// settings is a folder where the system keeps the settings of programs.
func settings(names ...string) func(string, func(string) string) string {
	return func(system string, getenv func(string) string) string {
		switch system {
		case "windows":
			return below(getenv("APPDATA"), names...)
		case "darwin":
			return below(getenv("HOME"), append([]string{"Library", "Application Support"}, names...)...)
		}
		if folder := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
			return below(folder, names...)
		}
		return below(getenv("HOME"), append([]string{".config"}, names...)...)
	}
}

func below(folder string, names ...string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(append([]string{folder}, names...)...)
}
