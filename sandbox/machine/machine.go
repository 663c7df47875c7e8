// Package machine finds out what this computer can hold of a policy: the Landlock interface,
// system call filters, namespaces. For what is missing it says why, and what to change.
//
// It looks; it promises nothing. A start that fails must still be refused, since what was
// true a moment ago (a system control, a profile) may have been changed. It does not notice
// kernel bugs, nor a Landlock domain that jphost itself was started in.
package machine

import (
	"fmt"
	"maps"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/jptools/jptools/sandbox/fit"
)

// The keys of fit.Machine.Why.
const (
	Landlock   = "landlock"
	Seccomp    = "seccomp"
	Namespaces = "namespaces"
	Notify     = "notify"
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
func Look() Info { return kernel.look() }

// LookAlone is Look without namespaces: it neither looks for them nor reports on them, so there is no Doubt.
func LookAlone() Info { return kernel.alone() }

// Attempt is how a real attempt to make namespaces ended.
type Attempt struct {
	// Step is what was refused, one of the Step constants; empty when all worked.
	Step string `json:"step,omitempty"`
	// Errno is the number of the error of that step.
	Errno int `json:"errno,omitempty"`
}

// The steps of an attempt, in order.
const (
	StepClone = "making a process in namespaces of its own"
	StepMap   = "mapping the user into the namespace"
	StepMount = "mounting a tmpfs in the namespace"
	StepProc  = "mounting /proc in the namespace"
	// StepChild: the child ended without a word, or hung.
	StepChild = "waiting for a process in namespaces of its own"
)

// OK: everything worked.
func (a Attempt) OK() bool { return a.Step == "" }

// String says what failed, for people.
func (a Attempt) String() string {
	if a.OK() {
		return "works"
	}
	return fmt.Sprintf("%s: %v", a.Step, syscall.Errno(a.Errno))
}

// Settle is the machine after an attempt.
func (i Info) Settle(a Attempt) fit.Machine {
	if !i.Machine.Namespaces || a.OK() {
		return clone(i.Machine)
	}
	return WithoutNamespaces(i.Machine, kernel.whyAttempt(a, os.Getenv))
}

// WithoutNamespaces returns a machine that has none, and why.
func WithoutNamespaces(m fit.Machine, why string) fit.Machine {
	m = clone(m)
	m.Namespaces, m.Why[Namespaces] = false, why
	return m
}

// WithoutNotify is the machine if no calls can be announced to another process, as why says.
func WithoutNotify(m fit.Machine, why string) fit.Machine {
	m = clone(m)
	m.Notify, m.Why[Notify] = false, why
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
func Describe(getenv func(string) string) Details { return kernel.describe(getenv) }

func clone(m fit.Machine) fit.Machine {
	why := map[string]string{}
	maps.Copy(why, m.Why)
	m.Why = why
	return m
}

// LimitVariable makes jphost behave as on a lesser machine, for tests and for trying out what
// a policy becomes elsewhere: `abi=N`, `namespaces=no`, `seccomp=no`, `notify=no`, separated by commas.
// It can take away only. That somebody sets it who should not does not matter: whoever
// decides over the environment of jphost decides over its command line too.
const LimitVariable = "JPHOST_SANDBOX_LIMIT"

// Lesser is a lesser machine. Its zero value is no limit.
type Lesser struct {
	// ABI is the highest Landlock interface if HasABI; 0 is none at all.
	ABI                     int
	HasABI                  bool
	NoNamespaces, NoSeccomp bool
	NoNotify                bool
}

// ParseLimit reads the value of LimitVariable; empty is no limit. What it does not know is
// an error: a test that thinks it has taken something away must not go on without.
func ParseLimit(text string) (Lesser, error) {
	var l Lesser
	if strings.TrimSpace(text) == "" {
		return l, nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		wrong := ""
		switch {
		case seen[key]:
			wrong = key + " is there twice"
		case key == "abi":
			var err error
			l.ABI, err = strconv.Atoi(value)
			if l.HasABI = true; err != nil || l.ABI < 0 || l.ABI > math.MaxInt16 || value != strconv.Itoa(l.ABI) {
				wrong = fmt.Sprintf("abi must be a number, not %q", value)
			}
		case key == "namespaces" && value == "no":
			l.NoNamespaces = true
		case key == "seccomp" && value == "no":
			l.NoSeccomp = true
		case key == "notify" && value == "no":
			l.NoNotify = true
		default:
			wrong = fmt.Sprintf("%q is not understood", part)
		}
		if wrong != "" {
			return Lesser{}, fmt.Errorf("%s=%s: %s\nwrite %s=abi=N,namespaces=no,seccomp=no,notify=no, or some of these; it can only take away", LimitVariable, text, wrong, LimitVariable)
		}
		seen[key] = true
	}
	return l, nil
}

// Apply is m without what the lesser machine does not have. It never adds anything.
func (l Lesser) Apply(m fit.Machine) fit.Machine {
	m = clone(m)
	simulated := "taken away by " + LimitVariable + "\nunset it"
	if abi := max(l.ABI, 0); l.HasABI && abi < m.Landlock {
		if m.Landlock = abi; abi == 0 {
			m.Why[Landlock] = simulated
		}
	}
	if m.Namespaces && l.NoNamespaces {
		m = WithoutNamespaces(m, simulated)
	}
	if m.Notify && l.NoNotify {
		m.Notify, m.Why[Notify] = false, simulated
	}
	if m.Seccomp && l.NoSeccomp {
		m.Seccomp, m.Why[Seccomp], m.Notify = false, simulated, false
	}
	return m
}

// Simulated says what was taken away, for reports: `abi=2, namespaces=no`; empty without a
// limit.
func (l Lesser) Simulated() string {
	var parts []string
	if l.HasABI {
		parts = append(parts, "abi="+strconv.Itoa(l.ABI))
	}
	if l.NoNamespaces {
		parts = append(parts, "namespaces=no")
	}
	if l.NoSeccomp {
		parts = append(parts, "seccomp=no")
	}
	if l.NoNotify {
		parts = append(parts, "notify=no")
	}
	return strings.Join(parts, ", ")
}
