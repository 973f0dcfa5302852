package main

import (
	"errors"
	"io/fs"
	"os"
	"runtime"

	"github.com/loopmem/loopmem/internal/mcpclients"
)

// clientStates tell which clients start this server.
type clientStates struct {
	Clients []clientState `json:"clients"`
}

type clientState struct {
	Client     string `json:"client"`
	File       string `json:"file"` // of its configuration, whether it exists or not
	Configured bool   `json:"configured"`
	// Error says why that cannot be told, such as a file that cannot be read.
	Error string `json:"error,omitempty"`
}

// mcpClients looks at the configuration of every client that is known. One
// that is broken is the client's affair, and keeps nothing from being told
// about the others.
func (a *app) mcpClients() clientStates {
	var states clientStates
	for _, client := range mcpclients.All() {
		state := clientState{Client: client.Name}
		if err := state.look(&client, a.getenv); err != nil {
			state.Error = err.Error()
		}
		states.Clients = append(states.Clients, state)
	}
	return states
}

func (s *clientState) look(client *mcpclients.Client, getenv func(string) string) (err error) {
	if s.File, err = client.File(runtime.GOOS, getenv); err != nil {
		return err
	}
	content, err := os.ReadFile(s.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s.Configured, err = client.Has(content, mcpServerName)
	return err
}

func (s clientStates) String() string {
	var f fields
	for _, c := range s.Clients {
		state := "not configured"
		if c.Configured {
			state = "configured"
		}
		if c.Error != "" {
			state = "unknown: " + visible(c.Error)
		}
		f.add(c.Client, "%s %s", pad(state+",", 15), visible(c.File))
	}
	return f.String()
}
