package sqlitestore

import "syscall"

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

// networkFileSystem returns the name of the network file system that the path
// is on, or "" if it is on a local disk or that cannot be told.
func networkFileSystem(path string) string {
	var stat syscall.Statfs_t
	if syscall.Statfs(path, &stat) != nil {
		return ""
	}
	return networkFileSystems[uint32(stat.Type)]
}
