package sqlitestore

import (
	"strings"
	"syscall"
)

// mntLocal is MNT_LOCAL of <sys/mount.h>.
const mntLocal = 0x1000

// networkFileSystem returns the name of the network file system that the path
// is on, or "" if it is on a local disk or that cannot be told.
func networkFileSystem(path string) string {
	var stat syscall.Statfs_t
	if syscall.Statfs(path, &stat) != nil || stat.Flags&mntLocal != 0 {
		return ""
	}
	var name strings.Builder
	for _, c := range stat.Fstypename {
		if c == 0 {
			break
		}
		name.WriteByte(byte(c))
	}
	return name.String()
}
