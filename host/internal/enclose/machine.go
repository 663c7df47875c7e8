package enclose

import (
	"context"
	"encoding/json"

	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// Memory keeps what was found out about the machine from one call to the next.
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

// Machine is what this computer can hold in a tier; in any if that is empty. Where only an attempt can tell, it is
// made once and kept in m; a nil m makes one each time. Who forces Landlock has no namespaces made, nor looked for.
//
// The environment may make it less (JPHOST_SANDBOX_LIMIT), never more.
func Machine(ctx context.Context, tier fit.Tier, m Memory, getenv func(string) string) (fit.Machine, error) {
	less, err := machine.ParseLimit(getenv(machine.LimitVariable))
	if err != nil {
		return fit.Machine{}, err
	}
	if tier == fit.TierLandlock {
		return less.Apply(machine.LookAlone().Machine), nil
	}
	return less.Apply(found(ctx, m)), nil
}

func found(ctx context.Context, m Memory) fit.Machine {
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
	r = remembered{info.Key, confine.Try(ctx)}
	if data, err := json.Marshal(r); m != nil && err == nil {
		_ = m.Write(memoryFile, data) // at worst it is tried again
	}
	return info.Settle(r.Attempt)
}
