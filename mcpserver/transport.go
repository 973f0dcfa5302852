package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdio is a transport with one message a line. The SDK's own ends on the
// first line that is no message, and drops the calls in flight at the end of
// the input; this one passes over such lines, and reports the end only when
// every call has been answered.
type stdio struct {
	in  io.Reader
	out io.Writer
	log *slog.Logger
	// stop ends the input as if the client had closed it.
	stop <-chan struct{}
	// grace is how long calls in flight may take after the end of the input.
	// Those that take longer are cancelled, and have graceForCancel to say so.
	grace          time.Duration
	graceForCancel time.Duration
	cancelCalls    func()
	// ended is closed when that time has begun.
	ended chan struct{}
}

// Connect implements [mcp.Transport].
func (t *stdio) Connect(context.Context) (mcp.Connection, error) {
	c := &connection{
		stdio:    t,
		lines:    make(chan []byte),
		closed:   make(chan struct{}),
		answered: make(chan struct{}),
		inUse:    make(map[jsonrpc.ID]string),
	}
	go c.readLines()
	return c, nil
}

type connection struct {
	*stdio
	lines chan []byte       // closed at the end of the input
	queue []jsonrpc.Message // the rest of a batch; used by Read alone

	writing sync.Mutex // held while a line is written

	mu       sync.Mutex            // guards what follows
	inUse    map[jsonrpc.ID]string // ids of calls, with the method; free again just before the answer is written
	inFlight int                   // calls whose answer is not written yet
	draining bool
	answered chan struct{} // closed when draining and no call is in flight

	closing sync.Once
	closed  chan struct{}
}

// SessionID implements [mcp.Connection]; there is only one session.
func (c *connection) SessionID() string { return "" }

// Close implements [mcp.Connection]. The streams belong to the caller.
func (c *connection) Close() error {
	c.closing.Do(func() { close(c.closed) })
	return nil
}

// readLines is a goroutine because a read of standard input cannot be
// interrupted. It may outlive the connection.
func (c *connection) readLines() {
	defer close(c.lines)
	in := bufio.NewReader(c.in)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			select {
			case c.lines <- line:
			case <-c.closed:
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				c.log.Warn("reading from the client", "error", err)
			}
			return
		}
	}
}

// Read implements [mcp.Connection].
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for len(c.queue) == 0 {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.drain()
				return nil, io.EOF
			}
			c.queue = c.accept(line)
		case <-c.stop:
			c.drain()
			return nil, io.EOF
		case <-c.closed:
			return nil, io.EOF
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	message := c.queue[0]
	c.queue = c.queue[1:]
	return message, nil
}

// accept returns the messages of a line. A batch, as early versions of the
// protocol have it, is taken apart; its answers come one by one.
func (c *connection) accept(line []byte) []jsonrpc.Message {
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		if err := json.Unmarshal(line, &parts); err != nil {
			c.refuse(line, jsonrpc.CodeParseError, err)
			return nil
		}
	}
	var messages []jsonrpc.Message
	for _, part := range parts {
		message, err := jsonrpc.DecodeMessage(part)
		if err == nil && !keepsID(part) {
			err = errors.New("the id of a call must be a text, or a whole number of at most 2^53")
		}
		if err != nil {
			c.refuse(part, jsonrpc.CodeInvalidRequest, err)
			continue
		}
		if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() && !c.admit(request) {
			// An answer would pass for that of the call which has the id.
			c.log.Warn("passed over a call whose id is in use", "method", request.Method)
			continue
		}
		messages = append(messages, message)
	}
	return messages
}

// keepsID reports whether the SDK would answer under the id that a message
// has: it turns the numbers into integers.
func keepsID(part []byte) bool {
	var message struct{ ID any }
	if json.Unmarshal(part, &message) != nil {
		return true // for the SDK to refuse
	}
	id, isNumber := message.ID.(float64)
	return !isNumber || isWhole(id) && math.Abs(id) <= 1<<53
}

func isWhole(n float64) bool { return n == math.Trunc(n) }

// refuse answers what is no message, if it says at least which call it was
// meant to be, under the id as it was written. An answer without an id would be
// no message either, and there are clients that end on it.
func (c *connection) refuse(part []byte, code int64, reason error) {
	c.log.Warn("passed over a line that is no message", "error", reason)
	var call struct {
		ID     json.RawMessage
		Method any
	}
	if json.Unmarshal(part, &call) != nil || call.Method == nil || !isID(call.ID) {
		return
	}
	line, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", call.ID, &jsonrpc.Error{Code: code, Message: reason.Error()}})
	if err == nil {
		err = c.writeLine(line)
	}
	if err != nil {
		c.log.Warn("answering a line that is no message", "error", err)
	}
}

// isID reports whether JSON-RPC has such ids: texts and numbers.
func isID(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9')
}

// admit takes note of a call, unless one of that id is in flight.
func (c *connection) admit(call *jsonrpc.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.inUse[call.ID]; taken {
		return false
	}
	c.inUse[call.ID] = call.Method
	c.inFlight++
	return true
}

// drain sees to it that every call is answered: by itself, if it is finished in
// time, then because it was cancelled, and in its place if it heeds not even
// that. The session, which drops what is in flight, ends only afterwards.
func (c *connection) drain() {
	c.mu.Lock()
	c.draining = true
	if c.inFlight == 0 {
		close(c.answered)
	}
	c.mu.Unlock()
	close(c.ended)
	if c.allAnswered(c.grace) {
		return
	}
	c.log.Warn("cancelled calls that were not finished in time")
	c.cancelCalls()
	if !c.allAnswered(c.graceForCancel) {
		c.answerTheRest()
	}
}

// allAnswered waits until no call is in flight, or until there is nothing to
// wait for any more.
func (c *connection) allAnswered(within time.Duration) bool {
	select {
	case <-c.answered:
		return true
	case <-c.closed:
		return true
	case <-time.After(within):
		return false
	}
}

// answerTheRest answers the calls that are still in flight, of which nobody
// knows what they have done by now.
func (c *connection) answerTheRest() {
	c.mu.Lock()
	rest := maps.Clone(c.inUse)
	c.mu.Unlock()
	for id, method := range rest {
		if err := c.Write(context.Background(), unfinished(id, method)); err != nil {
			c.log.Warn("answering a call that was not finished", "method", method, "error", err)
		}
	}
}

// unfinished is the answer to a call that the server does not see the end of.
func unfinished(id jsonrpc.ID, method string) *jsonrpc.Response {
	const reason = "the server is ending, and does not see the end of this call: " +
		"it may yet be carried out or not; look before you repeat it"
	answer := &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: reason}}
	if method == "tools/call" {
		// Of what goes wrong in a tool, the model is to read.
		result, err := json.Marshal(toolError(reason))
		if err != nil {
			panic(err) // a text, which always can be written
		}
		answer.Result, answer.Error = result, nil
	}
	return answer
}

// Write implements [mcp.Connection].
func (c *connection) Write(ctx context.Context, message jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if answer, ok := message.(*jsonrpc.Response); ok {
		if !c.release(answer.ID) {
			return nil // it was answered in its place
		}
		defer c.settle()
	}
	return c.send(message)
}

// release frees the id of a call, which the client may use again as soon as
// it has the answer. It reports whether there is still one to give.
func (c *connection) release(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.inUse[id]
	delete(c.inUse, id)
	return known
}

// settle counts a call as answered.
func (c *connection) settle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	if c.draining && c.inFlight == 0 {
		close(c.answered)
	}
}

func (c *connection) send(message jsonrpc.Message) error {
	line, err := jsonrpc.EncodeMessage(message)
	if err != nil {
		return err
	}
	return c.writeLine(line)
}

// writeLine writes a message in a single write, so that a process that is
// killed leaves whole lines.
func (c *connection) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}
