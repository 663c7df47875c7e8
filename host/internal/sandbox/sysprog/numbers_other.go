//go:build !linux

package sysprog

const execve = 0
