package sqlitestore

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/loopmem/loopmem/memory"
)

// TestOpenWarnsOfNetwork has the file system at hand pass for a network one.
func TestOpenWarnsOfNetwork(t *testing.T) {
	folder := t.TempDir()
	var stat syscall.Statfs_t
	if err := syscall.Statfs(folder, &stat); err != nil {
		t.Fatal(err)
	}
	open := func() string {
		var log bytes.Buffer
		path := filepath.Join(folder, "memory.db")
		mustClose(t, mustOpen(t, path, Options{}, memory.WithLogger(slog.New(slog.NewTextHandler(&log, nil)))))
		return log.String()
	}
	if log := open(); log != "" {
		t.Skipf("the folder for temporary files gives a warning: %s", log)
	}
	networkFileSystems[uint32(stat.Type)] = "NFS"
	defer delete(networkFileSystems, uint32(stat.Type))
	if log := open(); !strings.Contains(log, "NFS") || !strings.Contains(log, folder) {
		t.Errorf("the log is %q, want a warning with the name and the path", log)
	}
}
