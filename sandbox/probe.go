package sandbox

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"github.com/jptools/jptools/sandbox/machine"
)

// Memory keeps what was found out about the machine from one process to the next.
type Memory interface {
	Read(name string) ([]byte, error)
	Write(name string, data []byte) error
}

// memoryFile holds one attempt under the key that it is true for.
const memoryFile = "machine.json"

type remembered struct {
	Key     string          `json:"key"`
	Attempt machine.Attempt `json:"attempt"`
}

// Probe finds out what this computer can enforce. If only an attempt to make namespaces can tell, one is made and its
// result kept in m; a nil m keeps nothing. If the tier is forced to Landlock, namespaces are neither probed nor made.
//
// The variable JPHOST_SANDBOX_LIMIT makes the result less, never more.
func Probe(ctx context.Context, tier fit.Tier, m Memory, getenv func(string) string) (fit.Machine, error) {
	limit, err := machine.ParseLimit(getenv(machine.LimitVariable))
	if err != nil {
		return fit.Machine{}, err
	}
	if tier == fit.TierLandlock {
		return limit.Apply(machine.LookAlone().Machine), nil
	}
	return limit.Apply(probe(ctx, m)), nil
}

func probe(ctx context.Context, m Memory) fit.Machine {
	info := machine.Look()
	if info.Doubt == "" {
		return info.Machine
	}
	var r remembered
	if m != nil {
		if data, err := m.Read(memoryFile); err == nil && json.Unmarshal(data, &r) == nil && r.Key == info.Key {
			return info.Settle(r.Attempt)
		}
	}
	r = remembered{info.Key, Try(ctx)}
	if data, err := json.Marshal(r); m != nil && err == nil {
		_ = m.Write(memoryFile, data) // at worst there is another attempt next time
	}
	return info.Settle(r.Attempt)
}

// Try makes namespaces, and the mounts that a private tree begins with, in a process that then ends.
func Try(ctx context.Context) machine.Attempt { return engine.Try(ctx) }

// withoutNamespaces returns the machine after a start that was refused namespaces, as err says.
func withoutNamespaces(m fit.Machine, err error) fit.Machine {
	why := map[string]string{}
	maps.Copy(why, m.Why)
	why[machine.Namespaces] = err.Error()
	m.Namespaces, m.Why = false, why
	return m
}
