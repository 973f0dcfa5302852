package mirror

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/loopmem/loopmem/memory"
)

// TestAround compares with a scan what stands around each row, while rows
// come, move in time and in order, and go.
func TestAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mirror, rows := New(), make(map[int64]State)
		agents := make(map[int64]string)
		position := int64(0)
		moved := func(t *rapid.T) State {
			position++
			return State{
				RowID: rapid.Int64Range(1, 12).Draw(t, "row"), Position: position,
				CreatedAt: rapid.Int64Range(0, 5).Draw(t, "created"), Strength: 1,
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				s := moved(t)
				rows[s.RowID], agents[s.RowID] = s, rapid.SampledFrom([]string{"c:1:a", "c:1:b", "c:2:a"}).Draw(t, "agent")
				mirror.Put(s, &Content{Agent: agents[s.RowID]})
			},
			"move": func(t *rapid.T) {
				s := moved(t)
				if _, ok := rows[s.RowID]; ok {
					rows[s.RowID] = s
				}
				mirror.SetState(s)
			},
			"remove": func(t *rapid.T) {
				rowID := rapid.Int64Range(1, 12).Draw(t, "row")
				delete(rows, rowID)
				mirror.Remove(rowID)
			},
			"": func(t *rapid.T) {
				mirror.Settle()
				hidden := rapid.SampledFrom([]string{"c:1:a", "c:1:b", "c:2:a", ""}).Draw(t, "hidden agent")
				a := asking{Mirror: mirror, query: &memory.Query{}, seen: make([]verdict, len(mirror.agents.texts)*levels), sees: func(agent string, _ memory.Confidentiality) bool { return agent != hidden }}
				n := rapid.IntRange(1, 4).Draw(t, "window")
				for rowID := range rows {
					if agents[rowID] == hidden {
						continue
					}
					var got []int64
					slots, at := a.around(mirror.slots[rowID], n)
					for _, slot := range slots {
						got = append(got, mirror.rows[slot].RowID)
					}
					var line []int64
					for other := range rows {
						if agents[other] != hidden && memory.Root(agents[other]) == memory.Root(agents[rowID]) {
							line = append(line, other)
						}
					}
					slices.SortFunc(line, func(x, y int64) int {
						return cmp.Or(cmp.Compare(rows[x].CreatedAt, rows[y].CreatedAt), cmp.Compare(rows[x].Position, rows[y].Position))
					})
					place := slices.Index(line, rowID)
					want := line[max(place-n, 0):min(place+n+1, len(line))]
					if diff := gocmp.Diff(want, got); diff != "" || got[at] != rowID {
						t.Errorf("around row %d at %d: %s", rowID, at, diff)
					}
				}
			},
		})
	})
}
