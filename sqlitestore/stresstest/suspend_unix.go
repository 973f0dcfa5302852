//go:build !windows

package main

import (
	"os"
	"syscall"
)

// suspend stops a process where it is, as the shell does on control-Z.
func suspend(p *os.Process) error { return p.Signal(syscall.SIGSTOP) }

func resume(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
