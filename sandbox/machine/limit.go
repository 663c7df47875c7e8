package machine

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jptools/jptools/sandbox/fit"
)

// LimitVariable makes jphost behave as on a lesser machine, for tests and for trying out what
// a policy becomes elsewhere: `abi=N`, `namespaces=no`, `seccomp=no`, separated by commas.
// It can take away only. That somebody sets it who should not does not matter: whoever
// decides over the environment of jphost decides over its command line too.
const LimitVariable = "JPHOST_SANDBOX_LIMIT"

// Lesser is a lesser machine. Its zero value is no limit.
type Lesser struct {
	// ABI is the highest Landlock interface if HasABI; 0 is none at all.
	ABI                     int
	HasABI                  bool
	NoNamespaces, NoSeccomp bool
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
		if seen[key] {
			return Lesser{}, limitError(text, key+" is there twice")
		}
		seen[key] = true
		switch {
		case key == "abi":
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 || n > math.MaxInt16 || value != strconv.Itoa(n) {
				return Lesser{}, limitError(text, fmt.Sprintf("abi must be a number, not %q", value))
			}
			l.ABI, l.HasABI = n, true
		case key == "namespaces" && value == "no":
			l.NoNamespaces = true
		case key == "seccomp" && value == "no":
			l.NoSeccomp = true
		default:
			return Lesser{}, limitError(text, fmt.Sprintf("%q is not understood", part))
		}
	}
	return l, nil
}

func limitError(text, what string) error {
	return fmt.Errorf("%s=%s: %s\nwrite %s=abi=N,namespaces=no,seccomp=no, or some of these; it can only take away", LimitVariable, text, what, LimitVariable)
}

// Limit is m without what a lesser machine does not have: Landlock up to abi, and namespaces
// and seccomp only if they are true. It never adds anything.
func Limit(m fit.Machine, abi int, namespaces, seccomp bool) fit.Machine {
	m = clone(m)
	simulated := "taken away by " + LimitVariable + "\nunset it"
	if abi = max(abi, 0); abi < m.Landlock {
		if m.Landlock = abi; abi == 0 {
			m.Why[Landlock] = simulated
		}
	}
	if m.Namespaces && !namespaces {
		m.Namespaces, m.Why[Namespaces] = false, simulated
	}
	if m.Seccomp && !seccomp {
		m.Seccomp, m.Why[Seccomp] = false, simulated
	}
	return m
}

// Apply is Limit with the values of l.
func (l Lesser) Apply(m fit.Machine) fit.Machine {
	abi := m.Landlock
	if l.HasABI {
		abi = l.ABI
	}
	return Limit(m, abi, !l.NoNamespaces, !l.NoSeccomp)
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
	return strings.Join(parts, ", ")
}
