package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpProcess returns "loopmem mcp" as a process of its own, on the database of
// the world. What it writes to standard error is shown if the test fails.
func (w *world) mcpProcess(args ...string) *exec.Cmd {
	w.t.Helper()
	program, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	cmd := exec.Command(program, append([]string{"mcp", "--db", w.env["LOOPMEM_DB"]}, args...)...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	w.t.Cleanup(func() {
		if w.t.Failed() && complaints.Len() > 0 {
			w.t.Logf("the server says:\n%s", complaints.String())
		}
	})
	return cmd
}

// mcpClient is a real client with a server process of its own.
type mcpClient struct {
	*mcp.ClientSession
	t testing.TB
}

func (w *world) mcpClient(args ...string) *mcpClient {
	w.t.Helper()
	c, err := startMCP(w.t, w.mcpProcess(args...))
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// startMCP starts a server process and greets it.
func startMCP(t testing.TB, cmd *exec.Cmd) (*mcpClient, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() { session.Close() })
	return &mcpClient{session, t}, nil
}

// storeText stores a text and returns what the tool says if it fails.
func storeText(ctx context.Context, session *mcp.ClientSession, text string) error {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "memory_store", Arguments: map[string]any{"memory": text}})
	if err == nil && result.IsError {
		err = fmt.Errorf("%s", result.Content[0].(*mcp.TextContent).Text)
	}
	return err
}

func (c *mcpClient) store(ctx context.Context, text string) error {
	return storeText(ctx, c.ClientSession, text)
}

func (c *mcpClient) mustStore(text string) {
	c.t.Helper()
	if err := c.store(c.t.Context(), text); err != nil {
		c.t.Fatal(err)
	}
}

// end closes the session and waits for the server process.
func (c *mcpClient) end() {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Errorf("the server ended with: %v", err)
	}
}

// lockDatabase takes the write lock of the database, as another process would,
// and returns the function that lets it go.
func (w *world) lockDatabase() (unlock func()) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.env["LOOPMEM_DB"]+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { db.Close() })
	tx, err := db.BeginTx(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			w.t.Error(err)
		}
	}
}

func TestMCP_serversShareAFile(t *testing.T) {
	rounds := 5
	if testing.Short() {
		rounds = 1
	}
	for _, servers := range []int{2, 4, 8} {
		for _, awaited := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d servers, awaited %t", servers, awaited), func(t *testing.T) {
				for range rounds {
					shareAFile(t, servers, awaited)
				}
			})
		}
	}
}

// shareAFile lets servers store at once in a file that does not exist yet, so
// that they also make it at once.
func shareAFile(t *testing.T, servers int, awaited bool) {
	const storesEach = 20
	w := newWorld(t)
	var want []string
	var all sync.WaitGroup
	for s := range servers {
		var texts []string
		for i := range storesEach {
			texts = append(texts, fmt.Sprintf("note %d of server %d", i, s))
		}
		want = append(want, texts...)
		cmd := w.mcpProcess()
		all.Go(func() { storeAll(t, cmd, texts, awaited) })
	}
	all.Wait()
	got := w.texts("list", "--limit", "0")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d entries, want the %d that were stored", len(got), len(want))
	}
}

// storeAll is the life of a client.
func storeAll(t testing.TB, cmd *exec.Cmd, texts []string, awaited bool) {
	c, err := startMCP(t, cmd)
	if err != nil {
		t.Error(err)
		return
	}
	var calls sync.WaitGroup
	for _, text := range texts {
		call := func() {
			if err := c.store(t.Context(), text); err != nil {
				t.Error(err)
			}
		}
		if awaited {
			call()
		} else {
			calls.Go(call)
		}
	}
	calls.Wait()
	c.end()
}

// The official server loses most of what is created in this way.
func TestMCP_serversShareAGraph(t *testing.T) {
	const servers, each = 4, 20
	w := newWorld(t)
	// All servers bring the same file at once, whichever way they know of it.
	file := w.write("memory.jsonl", `{"type":"entity","name":"old","entityType":"test","observations":["was there"]}`)
	t.Setenv("MEMORY_FILE_PATH", file)
	clients := []*mcpClient{w.mcpClient("--tools", "graph", "--graph-file", file)}
	for range servers - 1 {
		clients = append(clients, w.mcpClient("--tools", "graph"))
	}
	var all sync.WaitGroup
	for s, c := range clients {
		for i := range each {
			all.Go(func() {
				entity := map[string]any{"name": fmt.Sprintf("%d of %d", i, s), "entityType": "test", "observations": []string{"is there"}}
				result, err := c.CallTool(t.Context(), &mcp.CallToolParams{
					Name: "create_entities", Arguments: map[string]any{"entities": []any{entity}},
				})
				if err != nil || result.IsError {
					t.Errorf("%v, %+v", err, result)
				}
			})
		}
	}
	all.Wait()
	result, err := clients[0].CallTool(t.Context(), &mcp.CallToolParams{Name: "read_graph", Arguments: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(result.StructuredContent.(map[string]any)["entities"].([]any)); n != servers*each+1 {
		t.Errorf("%d entities, want %d and the one of the file", n, servers*each)
	}
}

// The official server makes its file on the first write, so that one may be
// missing; but who has misspelt it should be told.
func TestMCP_tellsWhatBecomesOfTheGraphFile(t *testing.T) {
	const whole = `{"type":"entity","name":"old","entityType":"test","observations":["was there"]}` + "\n"
	for content, want := range map[string]string{
		"":                           "does not exist",
		whole + `{"type":"entity","`: "torn last line",
	} {
		w := newWorld(t)
		t.Setenv("HOME", w.folder)
		if content != "" {
			w.write("memory.jsonl", content)
		}
		cmd := w.mcpProcess("--tools", "graph", "--graph-file=~/memory.jsonl")
		var errs strings.Builder
		cmd.Stderr = &errs
		c, err := startMCP(t, cmd)
		if err != nil {
			t.Fatal(err)
		}
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "read_graph", Arguments: map[string]any{}})
		if err != nil || result.IsError {
			t.Errorf("%v, %+v", err, result)
		}
		c.end()
		if !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), w.path("memory.jsonl")) {
			t.Errorf("after %q it says %q, want %q", content, errs.String(), want)
		}
	}
}

func TestMCP_startsWhileTheFileIsBusy(t *testing.T) {
	w := newWorld(t)
	w.add("there")
	unlock := w.lockDatabase()
	c := w.mcpClient()
	if tools, err := c.ListTools(t.Context(), nil); err != nil || len(tools.Tools) != 9 {
		t.Errorf("listing the tools of a server on a busy file: %v", err)
	}
	unlock()
	c.mustStore("stored")
}

func TestMCP_cancelledCallStoresNothing(t *testing.T) {
	w := newWorld(t)
	c := w.mcpClient()
	c.mustStore("before")
	unlock := w.lockDatabase()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() { failed <- c.store(ctx, "cancelled") }()
	cancel()
	if err := <-failed; err == nil {
		t.Error("a cancelled call succeeded")
	}
	// Other calls of the server get their answer, and other servers the lock.
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_stats"}); err != nil {
		t.Error(err)
	}
	unlock()
	w.mcpClient().mustStore("other")
	c.mustStore("after")
	if got := w.texts("list"); !slices.Equal(got, []string{"before", "other", "after"}) {
		t.Errorf("stored %q", got)
	}
}

func TestMCP_fileIsDeleted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be deleted there")
	}
	w := newWorld(t)
	c := w.mcpClient()
	c.mustStore("lost")
	files, err := filepath.Glob(w.env["LOOPMEM_DB"] + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.store(t.Context(), "refused"); err == nil || !strings.Contains(err.Error(), "repeat") {
		t.Errorf("storing into a deleted file says %v; it should say what to do", err)
	}
	c.mustStore("kept")
	if got := w.texts("list"); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("the new file has %q", got)
	}
}

func TestMCP_readsOfADeletedFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be deleted there")
	}
	for _, tool := range []string{"memory_recall", "memory_stats"} {
		w := newWorld(t)
		c := w.mcpClient()
		c.mustStore("lost")
		if err := os.Remove(w.env["LOOPMEM_DB"]); err != nil {
			t.Fatal(err)
		}
		for _, failed := range []bool{true, false} {
			result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool})
			if err != nil {
				t.Fatal(err)
			}
			if text := result.Content[0].(*mcp.TextContent).Text; result.IsError != failed || strings.Contains(text, "lost") {
				t.Errorf("%s, an error %t, want %t: %s", tool, result.IsError, failed, text)
			}
		}
	}
}

// No JSON has the number, so it would end the call as an error of the protocol,
// which no model reads.
func TestMCP_entryIsDamaged(t *testing.T) {
	w := newWorld(t)
	w.add("damaged")
	id := w.object("list", "--json")["id"].(string)
	w.sqlite(`UPDATE entry_state SET relevance = 9e999, strength = 9e999`)
	c := w.mcpClient()
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_get", Arguments: map[string]any{"id": id}})
	if err != nil {
		t.Fatal(err)
	}
	if text := result.Content[0].(*mcp.TextContent).Text; !result.IsError || !strings.Contains(text, "damaged") || !strings.Contains(text, "loopmem doctor") {
		t.Errorf("an error %t: %s", result.IsError, text)
	}
	// A recall says nothing that comes from the number alone.
	if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_recall", Arguments: map[string]any{"explain": true}}); err != nil {
		t.Error(err)
	}
}

func TestMCP_readOnlyWritesNothing(t *testing.T) {
	for _, readOnly := range []bool{false, true} {
		w := newWorld(t)
		w.add("asked for")
		c := w.mcpClient(fmt.Sprintf("--read-only=%t", readOnly))
		if _, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_recall"}); err != nil {
			t.Fatal(err)
		}
		c.end()
		if counted := w.number(`SELECT access_count FROM entry_state`) > 0; counted == readOnly {
			t.Errorf("with --read-only=%t, a recall is counted: %t", readOnly, counted)
		}
	}
}

func TestMCP_consolidatesOnceForAllServers(t *testing.T) {
	const servers = 4
	w := newWorld(t)
	w.add("the staging cluster is rebuilt every Monday")
	w.add("the staging cluster is rebuilt every Monday")
	w.sqlite(`CREATE TABLE pass (at INTEGER)`)
	w.sqlite(`CREATE TRIGGER count_passes AFTER UPDATE OF last_consolidated ON store BEGIN INSERT INTO pass VALUES (new.last_consolidated); END`)
	var all sync.WaitGroup
	for range servers {
		c := w.mcpClient("--consolidate-every", "1h")
		all.Go(func() {
			for entries := 2; entries > 1; {
				result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "memory_stats"})
				if err != nil {
					t.Error(err)
					return
				}
				stats := result.StructuredContent.(map[string]any)
				if entries = int(stats["entries"].(float64)); entries == 1 && stats["last_consolidated"] == nil {
					t.Error("the near duplicates are merged, but no consolidation is noted")
				}
			}
			c.end()
		})
	}
	all.Wait()
	if err := w.mcpClient("--consolidate-every", "1h").store(t.Context(), "by a server that comes later"); err != nil {
		t.Error(err)
	}
	if passes := w.number(`SELECT count(*) FROM pass`); passes != 1 {
		t.Errorf("%d passes by %d servers that want one an hour", passes, servers+1)
	}
}

// number reads one from the database.
func (w *world) number(query string) (n int) {
	w.t.Helper()
	db, err := sql.Open("sqlite", "file:"+w.env["LOOPMEM_DB"])
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(w.t.Context(), query).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}

func TestMCP_usage(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{
		{"mcp", "extra"},
		{"mcp", "--db", ""},
		{"mcp", "--db", "memory.jsonl"},
		{"mcp", "--namespace", "a"},
		{"mcp", "--clearance", "public"},
		{"mcp", "--agent", "team:a", "--share", "other"},
		{"mcp", "--max-confidentiality", "secret"},
		{"mcp", "--tools", "all"},
		{"mcp", "--cache", "plenty"},
		{"mcp", "--cache", "-1MiB"},
		{"mcp", "--graph-file", "memory.jsonl"},
		{"mcp", "--consolidate-every", "-1h"},
		{"mcp", "--read-only", "--consolidate-every", "1s"},
	} {
		if o := w.run(args...); o.status == exitOK || o.out != "" || o.errors == "" {
			t.Errorf("%q: status %d, output %q, errors %q; want an error", args, o.status, o.out, o.errors)
		}
	}
}

func TestParseCache(t *testing.T) {
	for text, want := range map[string]int64{"256MiB": 256 << 20, "1GB": 1e9, "0": -1} {
		if got, err := parseCache(text); got != want || err != nil {
			t.Errorf("%s is read as %d, %v; want %d", text, got, err, want)
		}
	}
}
