package confine

import (
	"fmt"

	"github.com/jptools/jptools/host/internal/sandbox"
	"github.com/jptools/jptools/jptool"
)

// Unheld says in words what of a plan this version of the kernel interface (plan.ABI), or the
// tier, cannot hold. It says nothing of what no version holds (docs/known-differences.md).
func Unheld(plan *sandbox.Plan) []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	if plan.ABI < 1 {
		add("file access: there is no Landlock")
		return list
	}
	if plan.ABI < 2 {
		// Not a hole: without the right to be asked, the kernel refuses it always.
		add("moving and linking across directories: always refused before Landlock 2 (Linux 5.19)")
	}
	if plan.ABI < 3 && grantsLessThanUpdate(plan) {
		add("truncating files that may not be updated: not held before Landlock 3 (Linux 6.2)")
	}
	if plan.ABI < 4 && plan.Net.Open {
		add("TCP ports: not held before Landlock 4 (Linux 6.7)")
	}
	if plan.ABI < 5 {
		add("device commands (ioctl) on the granted devices: not held before Landlock 5 (Linux 6.10)")
	}
	if plan.ABI < 6 && plan.Tier == sandbox.TierLandlock {
		add("signals to other processes of the same user: not held before Landlock 6 (Linux 6.12)")
	}
	if plan.ABI < 6 && plan.NoFilter && plan.Tier == sandbox.TierLandlock {
		add("abstract local sockets: not held before Landlock 6 (Linux 6.12)")
	}
	if plan.Limits.Memory > 0 {
		add("memory: held for each process, not for all of the call together")
	}
	if plan.Limits.Processes > 0 {
		add("number of processes: looked at every 20 ms")
	}
	return list
}

// grantsLessThanUpdate reports whether some grant leaves files that are not to be written.
func grantsLessThanUpdate(plan *sandbox.Plan) bool {
	for _, g := range plan.Grants {
		if !g.Caps.Has(jptool.Update) {
			return true
		}
	}
	return len(plan.Grants) == 0
}
