package sqlitestore_test
import ("testing"; "github.com/loopmem/loopmem/memory"; "github.com/loopmem/loopmem/memory/memorytest")
func TestTryDiff(t *testing.T) { memorytest.Differential(t, func(t testing.TB, o ...memory.Option) memory.Backend { s,_ := memory.NewStore(o...); return s }, openFile) }
