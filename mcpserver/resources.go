package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

const (
	entryURI  = "loopmem://entry/"
	recentURI = "loopmem://recent"

	// recentCount is how many entries the list of recent ones has.
	recentCount = 20
)

// addResources offers entries to clients that let a person attach them. They
// come in the readable form of the tools, as they end in a prompt.
func (s *Server) addResources() {
	template := &mcp.ResourceTemplate{
		Name: "entry", Title: "A memory", URITemplate: entryURI + "{id}", MIMEType: "text/plain",
		Description: "One entry, whole.",
	}
	s.mcp.AddResourceTemplate(template, s.resource(template.MIMEType, func(ctx context.Context, store memory.Backend, uri string) (string, error) {
		return named(ctx, store, strings.TrimPrefix(uri, entryURI), func(id uuid.UUID) (string, error) {
			record, err := store.Get(ctx, id)
			return fullOf(record, time.Now()).text(), err
		})
	}))
	s.addResource(&mcp.Resource{
		Name: "recent", Title: "Recent memories", URI: recentURI, MIMEType: "text/plain",
		Description: "The entries stored last, the latest first, long texts shortened.",
	}, recent)
}

// reader returns the text of a resource.
type reader func(ctx context.Context, store memory.Backend, uri string) (string, error)

func (s *Server) addResource(r *mcp.Resource, read reader) {
	s.mcp.AddResource(r, s.resource(r.MIMEType, read))
}

func (s *Server) resource(mimeType string, read reader) mcp.ResourceHandler {
	return func(ctx context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		uri := request.Params.URI
		var text string
		err := s.keeper.use(ctx, func(store memory.Backend) (err error) {
			text, err = read(ctx, store.In(s.read), uri)
			return err
		})
		if errors.Is(err, memory.ErrNotFound) || errors.Is(err, memory.ErrInvalid) {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		if err != nil {
			return nil, s.advise(ctx, err)
		}
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mimeType, Text: text}}}, nil
	}
}

// recent lists the entries at the end of insertion order.
func recent(ctx context.Context, store memory.Backend, _ string) (string, error) {
	var b strings.Builder
	b.WriteString(notice + "\n\n")
	now := time.Now()
	n := 0
	for entry, err := range store.Entries(ctx, memory.Selection{Backward: true}) {
		if err != nil {
			return "", err
		}
		n++
		line := briefOf(&entry, now)
		fmt.Fprintf(&b, "%d. ", n)
		line.write(&b)
		if n == recentCount {
			break
		}
	}
	if n == 0 {
		return "Nothing is stored yet.", nil
	}
	return b.String(), nil
}
