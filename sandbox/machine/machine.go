// Package machine finds out what this computer can hold of a policy: the Landlock interface,
// system call filters, namespaces. For what is missing it says why, and what to change.
//
// It looks; it promises nothing. A start that fails must still be refused, since what was
// true a moment ago (a system control, a profile) may have been changed. It does not notice
// kernel bugs, nor a Landlock domain that jphost itself was started in.
package machine

import (
	"fmt"
	"syscall"

	"github.com/jptools/jptools/sandbox/fit"
)

// The keys of fit.Machine.Why.
const (
	Landlock   = "landlock"
	Seccomp    = "seccomp"
	Namespaces = "namespaces"
)

// Info is a quick look: what the kernel says when asked, without starting anything.
type Info struct {
	// Machine has Namespaces set unless something is known to forbid them.
	Machine fit.Machine
	// Doubt says why namespaces may be refused all the same; then only an attempt tells. It is
	// empty when nothing speaks against them, and when they are known to be missing.
	Doubt string
	// Key is the same as long as the answer of an attempt will be: it changes with a restart of
	// the computer, the user, and whatever else decides. It is set only with Doubt.
	Key string
}

// Look takes microseconds. Where it leaves a Doubt, an attempt takes some milliseconds: a caller that is
// started again and again keeps the Attempt under the Key.
func Look() Info { return look() }

// LookAlone is Look without namespaces: it neither looks for them nor reports on them, so there is no Doubt.
func LookAlone() Info { return lookAlone() }

// Attempt is how a real attempt to make namespaces ended.
type Attempt struct {
	// Step is what was refused, one of the Step constants; empty when all worked.
	Step string `json:"step,omitempty"`
	// Errno is the number of the error of that step.
	Errno int `json:"errno,omitempty"`
}

// The steps of an attempt, in order.
const (
	// StepClone makes a process in new user, mount, pid, ipc and net namespaces.
	StepClone = "clone"
	// StepMap maps the user into it.
	StepMap = "map"
	// StepMount makes a tmpfs mount, StepProc one of the new process space.
	StepMount = "mount"
	StepProc  = "proc"
	// StepChild: the child ended without a word, or hung.
	StepChild = "child"
)

func stepText(step string) string {
	switch step {
	case StepClone:
		return "making a process in namespaces of its own"
	case StepMap:
		return "mapping the user into the namespace"
	case StepMount:
		return "mounting a tmpfs in the namespace"
	case StepProc:
		return "mounting /proc in the namespace"
	case StepChild:
		return "waiting for a process in namespaces of its own"
	}
	return ""
}

// OK: everything worked.
func (a Attempt) OK() bool { return a.Step == "" }

// String says what failed, for people.
func (a Attempt) String() string {
	if a.OK() {
		return "works"
	}
	return fmt.Sprintf("%s: %v", stepText(a.Step), syscall.Errno(a.Errno))
}

// Settle is the machine after an attempt.
func (i Info) Settle(a Attempt) fit.Machine {
	m := clone(i.Machine)
	if i.Machine.Namespaces && !a.OK() {
		m.Namespaces = false
		m.Why[Namespaces] = whyAttempt(a)
	}
	return m
}

// Details are what a person wants to know of a machine; nothing is decided by them.
type Details struct {
	// OS is the system (`linux`), Kernel its release, Arch the architecture as Go names it.
	OS     string `json:"os"`
	Kernel string `json:"kernel,omitempty"`
	Arch   string `json:"arch"`
	// Distribution is the system's name for itself.
	Distribution string `json:"distribution,omitempty"`
	// Container is what jphost runs in, if that can be told: `docker`, `podman`, `kubernetes`,
	// `lxc`, `wsl2`, …, or `jphost` for a sandbox of its own. ContainerBy is what it was told by.
	Container   string `json:"container,omitempty"`
	ContainerBy string `json:"container_by,omitempty"`
	// AppArmor is the profile that jphost runs under, if there is AppArmor.
	AppArmor string `json:"apparmor,omitempty"`
	// Errata are the numbers of Landlock's errata that this kernel has mended.
	Errata []int `json:"landlock_errata,omitempty"`
	// Filtered: a system call filter was in place before jphost.
	Filtered bool `json:"filtered,omitempty"`
}

// Describe looks up the details.
func Describe(getenv func(string) string) Details { return describe(getenv) }

func clone(m fit.Machine) fit.Machine {
	why := make(map[string]string, len(m.Why)+1)
	for k, v := range m.Why {
		why[k] = v
	}
	m.Why = why
	return m
}
