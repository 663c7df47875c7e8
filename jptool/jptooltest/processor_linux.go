package jptooltest

import (
	"os"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

// OneProcessor holds this process, and what it starts, on one processor until the end of the test:
// what two kinds of start cost can be compared then, without what it costs to wake a processor that
// sleeps. It takes the last one, since the first do most of the machine's own work.
func OneProcessor(tb testing.TB) {
	tb.Helper()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		tb.Fatal(err)
	}
	for cpu := range 1024 {
		if before.IsSet(cpu) {
			one.Zero()
			one.Set(cpu)
		}
	}
	each := func(set *unix.CPUSet) {
		threads, err := os.ReadDir("/proc/self/task")
		if err != nil {
			tb.Fatal(err)
		}
		for _, t := range threads { // those that come later are where their parents are
			if id, err := strconv.Atoi(t.Name()); err == nil {
				_ = unix.SchedSetaffinity(id, set)
			}
		}
	}
	each(&one)
	tb.Cleanup(func() { each(&before) })
}
