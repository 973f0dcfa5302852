package sqlitestore

import (
	"bytes"
	"log/slog"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/sys/mountinfo"

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

// TestNetworkMount looks for paths in a table of mounts as Linux gives it.
func TestNetworkMount(t *testing.T) {
	const table = `22 1 8:2 / / rw,relatime shared:1 - ext4 /dev/sda2 rw
71 22 8:17 / /media/stick rw,nosuid shared:40 - fuseblk /dev/sdb1 rw,user_id=0
72 22 0:51 / /home/ann/far\040away rw,nosuid shared:41 - fuse.sshfs host:/srv rw,user_id=1000
73 72 8:18 / /home/ann/far\040away/disk rw shared:42 - ext4 /dev/sdc1 rw
74 22 0:52 / /media/stick/secret rw shared:43 - fuse.gocryptfs /home/ann/cipher rw
75 22 0:53 / /workspaces rw shared:44 - virtiofs share rw
`
	mounts, err := mountinfo.GetMountsFromReader(strings.NewReader(table), nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/home/ann":                     "",
		"/home/ann/far away":            "SSHFS",
		"/home/ann/far away/notes":      "SSHFS",
		"/home/ann/far away/disk/notes": "",
		"/home/ann/far away from it":    "",
		"/media/stick":                  "",
		"/media/stick/secret/notes":     "",
		"/workspaces/project/.loopmem":  "virtiofs",
	} {
		if got := networkMount(mounts, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
