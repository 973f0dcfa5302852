package main

import (
	"os"
	"syscall"
)

// peakMemory returns the most memory that a process had that has ended.
func peakMemory(state *os.ProcessState) int64 {
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss * 1024 // in KiB; other systems count otherwise
	}
	return 0
}
