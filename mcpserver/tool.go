package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loopmem/loopmem/memory"
)

// result is what a tool answers: the struct becomes structured content, and
// text says the same to a reader.
type result interface{ text() string }

// addTool offers a tool. Tools annotated as reading get a handle on what the
// client may read, all others one on what it may change; with
// [Options.ReadOnly] there are no others.
func addTool[In any, Out result](s *Server, tool *mcp.Tool, do func(context.Context, memory.Backend, In) (Out, error)) {
	scope := s.read
	if !tool.Annotations.ReadOnlyHint {
		if s.options.ReadOnly {
			return
		}
		scope = s.write
	}
	tool.Annotations.OpenWorldHint = new(false)
	schema := argumentsSchema[In]()
	tool.InputSchema, tool.OutputSchema = schema, schemaOf[Out]()
	s.arguments[tool.Name] = schema
	mcp.AddTool(s.mcp, tool, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		var out Out
		err := s.keeper.use(ctx, func(store memory.Backend) (err error) {
			out, err = do(ctx, store.In(scope), in)
			return err
		})
		if err != nil {
			return nil, out, s.advise(ctx, err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: out.text()}}}, out, nil
	})
}

// idArgument is the argument of tools that are about one entry.
type idArgument struct {
	ID string `json:"id" jsonschema:"The id of the entry, as memory_recall returns it. The first 6 or more characters are enough."`
}

// named runs do on the entry that an argument names.
func named[Out any](ctx context.Context, store memory.Backend, name string, do func(uuid.UUID) (Out, error)) (Out, error) {
	id, err := store.Resolve(ctx, name)
	if err != nil {
		return *new(Out), err
	}
	return do(id)
}

// The annotations of tools, from which clients tell what needs to be asked
// for.
func reading() *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(false), IdempotentHint: true}
}

func adding(idempotent bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(false), IdempotentHint: idempotent}
}

func destroying(idempotent bool) *mcp.ToolAnnotations {
	return &mcp.ToolAnnotations{DestructiveHint: new(true), IdempotentHint: idempotent}
}

// partialError means that a call has done a part of its work.
type partialError struct {
	done, of int // steps
	err      error
}

func (e *partialError) Error() string { return fmt.Sprintf("%d of %d done: %v", e.done, e.of, e.err) }
func (e *partialError) Unwrap() error { return e.err }

// advise adds to the error of a call what the model can do about it.
func (s *Server) advise(ctx context.Context, err error) error {
	if partial, ok := errors.AsType[*partialError](err); ok && partial.done > 0 {
		return fmt.Errorf("%w; repeat the call for the rest", err)
	}
	if errors.Is(err, context.Canceled) && errors.Is(context.Cause(ctx), errEnding) {
		err = errEnding // which says more than that something was cancelled
	}
	for _, a := range []struct {
		class  error
		advice string
	}{
		{memory.ErrNotFound, "memory_recall finds the ids of what there is; entries of other agents may be read at most, and those above the confidentiality allowed here can not be named"},
		{memory.ErrConflict, "read the entry again with memory_get and decide anew"},
		{memory.ErrBusy, "nothing was changed; repeat the call in a moment"},
		{memory.ErrScope, "leave out agent and confidentiality: " + s.bounds()},
		{memory.ErrFull, "forget or unpin something first"},
		{errEnding, "nothing was changed; repeat the call when there is a server again"},
		{context.Canceled, "nothing was changed"},
	} {
		if errors.Is(err, a.class) {
			return fmt.Errorf("%w; %s", err, a.advice)
		}
	}
	if _, ok := errors.AsType[*openError](err); ok {
		if s.options.ReadOnly && errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; nothing is remembered yet, and this client may only read: another one has to store first", err)
		}
		return fmt.Errorf("%w; nothing was done: tell the user, who can mend that, and then repeat the call", err)
	}
	if s.source.Lost(err) {
		return fmt.Errorf("%w; nothing of this call is stored there: repeat it, the file is opened anew", err)
	}
	return err
}

// bounds says where this client may write.
func (s *Server) bounds() string {
	bounds := fmt.Sprintf("this server keeps to entries up to the level %s", *s.write.MaxConfidentiality)
	if s.write.Namespace != "" {
		bounds += fmt.Sprintf(" of the agent %s and those below it", quoted(s.write.Namespace))
	}
	return bounds
}

// adviseOnArguments tells a model that called a tool with arguments it does
// not have what is wrong with them and which ones it has; the SDK finds the
// fault, before the tool runs.
// An argument that is null counts as left out: some models name them all.
func (s *Server) adviseOnArguments(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		call, ok := request.(*mcp.CallToolRequest)
		if !ok {
			return next(ctx, method, request)
		}
		if err := unambiguous(call.Params.Arguments); err != nil {
			return toolError(fmt.Sprintf("arguments: %v; nothing was done", err)), nil
		}
		call.Params.Arguments = withoutNulls(call.Params.Arguments)
		res, err := next(ctx, method, request)
		answer, ok := res.(*mcp.CallToolResult)
		if !ok || answer == nil || !answer.IsError || len(answer.Content) != 1 {
			return res, err
		}
		content, ok := answer.Content[0].(*mcp.TextContent)
		if ok && strings.HasPrefix(content.Text, `validating "arguments"`) {
			reason := content.Text
			if faults := faultsOf(s.arguments[call.Params.Name], call.Params.Arguments); len(faults) > 0 {
				reason = strings.Join(faults, "; ")
			}
			content.Text = middleCut(reason) + "; nothing was done. " + s.usage(call.Params.Name)
		}
		return res, err
	}
}

// adviseOnDamage makes of the protocol's error one of the tool, where an entry
// holds a number that JSON does not have. No store takes such an entry, so it
// was damaged afterwards.
func adviseOnDamage(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, request)
		if unsayable, ok := errors.AsType[*json.UnsupportedValueError](err); ok {
			return toolError(fmt.Sprintf("an entry of the answer is damaged: a number in it is %s; "+
				"tell the user, for whom loopmem doctor says which entry it is, and how to mend it", unsayable.Str)), nil
		}
		return res, err
	}
}

// usage tells which arguments a tool has.
func (s *Server) usage(tool string) string {
	names := s.arguments[tool].PropertyOrder
	if len(names) == 0 {
		return fmt.Sprintf("Call %s again without arguments", tool)
	}
	return fmt.Sprintf("Call %s again with arguments as its schema has them: %s", tool, strings.Join(names, ", "))
}

// toolError is the answer of a tool that failed.
func toolError(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// unambiguous refuses what would be read as something else than was written:
// a name that comes twice, and what is no Unicode, such as the half of a
// character. A memory is kept as it is, or not at all.
func unambiguous(arguments json.RawMessage) error {
	if len(arguments) == 0 {
		return nil
	}
	_, err := jsontext.AppendFormat(nil, arguments)
	return err
}

// middleCut shortens a message that quotes a long argument. Begin and end say
// what is wrong with it.
func middleCut(text string) string {
	const kept = 300
	characters := []rune(text)
	if len(characters) <= 2*kept {
		return text
	}
	return string(characters[:kept]) + " … " + string(characters[len(characters)-kept:])
}

// withoutNulls leaves out the arguments that are null.
func withoutNulls(arguments json.RawMessage) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(arguments, &object) != nil {
		return arguments // for the validation to refuse
	}
	if object == nil {
		return nil // the SDK does not survive arguments that are null themselves
	}
	maps.DeleteFunc(object, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	clean, err := json.Marshal(object)
	if err != nil {
		return arguments
	}
	return clean
}
