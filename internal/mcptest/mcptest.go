// Package mcptest plays a client of a server of the Model Context Protocol, in
// tests of what no client of the SDK would do: to wait for nothing, to write
// nonsense, or to go away.
package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Hello is the line that a client begins with. Its id is "hello".
const Hello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"

// Call is the line that calls a tool, with its arguments as JSON. The id is a
// string or a number.
func Call(id any, tool, arguments string) string {
	name, err := json.Marshal(id)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`+"\n", name, tool, arguments)
}

// Store is the line that stores a text.
func Store(id any, text string) string {
	arguments, err := json.Marshal(map[string]string{"memory": text})
	if err != nil {
		panic(err)
	}
	return Call(id, "memory_store", string(arguments))
}

// Ping is the line that a server answers at once, having read the ones before.
func Ping(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"ping"}`+"\n", id)
}

// Message is a line of a server.
type Message struct {
	ID     any
	Result *mcp.CallToolResult
	Error  *struct{ Message string }
}

// Answers reads what a server writes until it ends, by id; numbers are
// float64. Anything but messages fails the test, and so does an id that comes
// twice.
func Answers(t testing.TB, out io.Reader) map[any]Message {
	t.Helper()
	got := make(map[any]Message)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var m Message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Errorf("the server writes what is no message: %s", lines.Text())
		}
		if _, twice := got[m.ID]; twice {
			t.Errorf("%v is answered twice", m.ID)
		}
		got[m.ID] = m
	}
	if err := lines.Err(); err != nil {
		t.Errorf("reading what the server writes: %v", err)
	}
	return got
}
