// Package nofile knows the limit of open files that this process was started with.
//
// Package syscall raises the soft limit when a program starts and puts it back for what
// os/exec starts, but tells nobody what it was. Other ways to start a program have to do
// the same: programs that use select(2) fail with descriptors above 1023. The only way to see the
// limit is to look before package syscall does. So this package imports nothing, and its
// path sorts before "syscall": packages are initialized in the order of their paths as far as
// their imports allow. It is the one place that does work at initialization.
package nofile

var startSoft, startHard = limit()

func limit() (soft, hard uint64) {
	var l [2]uint64
	if !get(&l) {
		return 0, 0
	}
	return l[0], l[1]
}

// Limit returns the soft and hard limit that the process was started with, or zeros where
// they are not known.
func Limit() (soft, hard uint64) { return startSoft, startHard }
