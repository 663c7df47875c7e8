//go:build unix

package cli

import "golang.org/x/sys/unix"

// openFiles returns the limit of open files up to which this process may raise its own; 0 if that is not known.
func openFiles() uint64 {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Max) //nolint:unconvert // signed on some systems
}
