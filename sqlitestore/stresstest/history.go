package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// kind is what a call does.
type kind string

const (
	storing       kind = "store"
	importing     kind = "import" // a batch that keeps what exists
	updating      kind = "update"
	counting      kind = "count" // an update of the counter, if nobody was faster
	forgetting    kind = "forget"
	linking       kind = "link"
	pruning       kind = "prune"
	restoring     kind = "restore" // from the archive
	retrieving    kind = "retrieve"
	recalling     kind = "recall"
	consolidating kind = "consolidate"
	closing       kind = "close"
)

// outcome is how a call ended.
type outcome string

const (
	done    outcome = "done"    // and it has had its effect
	partly  outcome = "partly"  // an import of which some was there already
	refused outcome = "refused" // for a reason that is in the contract; nothing changed
	busy    outcome = "busy"    // nothing changed either
	failed  outcome = "failed"  // for any other reason, which is a fault
)

// event is a line of the history: the begin of a call, or its end. All
// processes append to one file, so that the order of the lines is an order in
// time: a call that begins below the end of another began after it, whatever
// the clocks say.
type event struct {
	Process int         `json:"process"`
	Call    int         `json:"call"` // a number within the process
	Kind    kind        `json:"kind"`
	IDs     []uuid.UUID `json:"ids,omitempty"` // what it is about

	Outcome outcome     `json:"outcome,omitempty"` // of the end
	Error   string      `json:"error,omitempty"`
	Hits    []uuid.UUID `json:"hits,omitempty"`    // whose accesses are to be counted
	At      int64       `json:"at,omitempty"`      // not after the access, in nanoseconds
	Counted *int        `json:"counted,omitempty"` // what the counter said, or was made to say
	Sought  int         `json:"sought,omitempty"`  // the call of the same process that stored what was looked for
	Found   bool        `json:"found,omitempty"`   // that it was there
}

// recorder appends to the history.
type recorder struct{ file *os.File }

func newRecorder(path string) (*recorder, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	return &recorder{file}, err
}

// record appends in one write, which the system keeps apart from those of
// others. A kill may cut it; the line feed before it keeps such a rest from
// spoiling the next line.
func (r *recorder) record(e event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(append([]byte{'\n'}, line...), '\n'))
	return err
}

// call is a call as the history tells it.
type call struct {
	event          // as at its end, if that came
	begin, end int // lines; an end that never came is after all others
}

const never = math.MaxInt

// certain reports whether the call has had its effect by its end.
func (c *call) certain() bool { return c.Outcome == done }

// possible reports whether the call may have had its effect.
func (c *call) possible() bool { return c.Outcome == done || c.Outcome == partly || c.Outcome == "" }

// history is all calls of all processes.
type history struct {
	calls []*call
	byKey map[[2]int]*call
}

func readHistory(path string) (*history, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := &history{byKey: make(map[[2]int]*call)}
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		var e event
		if json.Unmarshal([]byte(line), &e) != nil {
			continue // blank, or the rest of a process that was killed
		}
		key := [2]int{e.Process, e.Call}
		c, begun := h.byKey[key]
		switch {
		case !begun:
			c = &call{event: e, begin: number, end: never}
			h.byKey[key] = c
			h.calls = append(h.calls, c)
		case c.end == never:
			ids := c.IDs
			c.event, c.end = e, number
			c.IDs = ids
		default:
			return nil, fmt.Errorf("the history tells three times of call %d of process %d", e.Call, e.Process)
		}
	}
	return h, nil
}

// closed returns the processes that have closed their store.
func (h *history) closed() map[int]bool {
	closed := make(map[int]bool)
	for _, c := range h.calls {
		if c.Kind == closing && c.certain() {
			closed[c.Process] = true
		}
	}
	return closed
}

// about returns the calls that may have changed the content of each id.
func (h *history) about() map[uuid.UUID][]*call {
	writes := make(map[uuid.UUID][]*call)
	for _, c := range h.calls {
		switch c.Kind {
		case storing, importing, updating, forgetting:
			if c.possible() {
				for _, id := range c.IDs {
					writes[id] = append(writes[id], c)
				}
			}
		}
	}
	return writes
}

// summary counts the calls by kind and outcome.
func (h *history) summary() string {
	counts := make(map[kind]map[outcome]int)
	for _, c := range h.calls {
		if counts[c.Kind] == nil {
			counts[c.Kind] = make(map[outcome]int)
		}
		counts[c.Kind][c.Outcome]++
	}
	lines := []string{fmt.Sprintf("%d calls", len(h.calls))}
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		line := fmt.Sprintf("  %-12s", k)
		for _, o := range []outcome{done, partly, refused, busy, failed} {
			if n := counts[k][o]; n > 0 {
				line += fmt.Sprintf(" %d %s", n, o)
			}
		}
		if n := counts[k][""]; n > 0 {
			line += fmt.Sprintf(" %d without an end", n)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
