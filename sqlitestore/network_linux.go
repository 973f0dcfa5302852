package sqlitestore

import (
	"path/filepath"
	"strings"
	"syscall"

	"github.com/moby/sys/mountinfo"
)

// networkFileSystems are those of statfs(2) on which the shared memory beside
// a write-ahead log is not shared among machines.
var networkFileSystems = map[uint32]string{
	0x6969:     "NFS",
	0x517b:     "SMB",
	0xff534d42: "CIFS",
	0xfe534d42: "SMB2",
	0x5346414f: "AFS",
	0x01021997: "9P",
	0x00c36400: "Ceph",
	0x0bd00bd0: "Lustre",
	0x47504653: "GPFS",
	0x73757245: "Coda",
	0x19830326: "BeeGFS",
	0x01161970: "GFS2",
	0x7461636f: "OCFS2",
}

// fuse is what statfs(2) says of every file system that a process serves, be it
// of this machine or not.
const fuse = 0x65735546

// networkMounts are those of them that lead to another machine, or from a
// virtual machine to its host, by the names in the table of mounts.
var networkMounts = map[string]string{
	"fuse.sshfs":     "SSHFS",
	"fuse.rclone":    "rclone",
	"fuse.s3fs":      "S3",
	"fuse.gcsfuse":   "Cloud Storage FUSE",
	"fuse.glusterfs": "GlusterFS",
	"fuse.ceph":      "Ceph",
	"fuse.ceph-fuse": "Ceph",
	"fuse.juicefs":   "JuiceFS",
	"fuse.grpcfuse":  "gRPC FUSE",
	"virtiofs":       "virtiofs",
}

// networkFileSystem returns the name of the network file system that the path
// is on, or "" if it is on a local disk or that cannot be told.
func networkFileSystem(path string) string {
	var stat syscall.Statfs_t
	if syscall.Statfs(path, &stat) != nil {
		return ""
	}
	if stat.Type != fuse {
		return networkFileSystems[uint32(stat.Type)]
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return ""
	}
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return ""
	}
	return networkMount(mounts, real)
}

// networkMount returns the name of the network file system that a path is on,
// if it is one.
func networkMount(mounts []*mountinfo.Info, path string) string {
	nearest := new(mountinfo.Info)
	for _, mount := range mounts {
		below := path == mount.Mountpoint || strings.HasPrefix(path, strings.TrimSuffix(mount.Mountpoint, "/")+"/")
		// Of two at the same place, the later covers the other.
		if below && len(mount.Mountpoint) >= len(nearest.Mountpoint) {
			nearest = mount
		}
	}
	return networkMounts[nearest.FSType]
}
