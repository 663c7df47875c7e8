package consent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
)

// Holds is the list of paths found changed after a call that should not have changed
// them (docs/host.md, "run"). While it is not empty, no writing call runs in the
// workspace. It is a file of its own because setting a broken one aside would lift
// the holds.
type Holds struct{ f file }

// OpenHolds returns the holds kept in dir.
func OpenHolds(dir *state.Dir) *Holds { return &Holds{file{dir: dir, name: "holds.json"}} }

// Hold is one path that a person must look at.
type Hold struct {
	// Path is workspace-relative, as shown to people.
	Path string `json:"path"`
	// Reason says what was found.
	Reason string `json:"reason"`
	// Tool is whose call it was found after.
	Tool string    `json:"tool,omitempty"`
	Held time.Time `json:"held_at"`
	// Was is how it stood before the call; when it stands so again there is nothing to look at. "" when nobody knows.
	Was string `json:"was,omitempty"`
	// At is the absolute path of what lies outside of the workspace, where Path may lead elsewhere by now; "" inside.
	At string `json:"at,omitempty"`
}

type holdsFile struct {
	Holds []Hold `json:"holds"`
}

// parse takes exactly what save writes: a list that is understood in part could lack a hold.
func (h *holdsFile) parse(data []byte) error {
	*h = holdsFile{}
	if data == nil {
		return nil
	}
	var doc object
	if err := decodeStrict(data, &doc); err != nil {
		return err
	}
	if err := doc.only([]string{"holds"}, nil); err != nil {
		return err
	}
	var list []object
	if err := json.Unmarshal(doc.get("holds"), &list); err != nil {
		return fmt.Errorf("holds: %w", err)
	}
	if list == nil {
		return errors.New("holds: a list is expected")
	}
	for i, o := range list {
		if err := o.only([]string{"path", "reason", "held_at"}, []string{"tool", "was", "at"}); err != nil {
			return fmt.Errorf("holds[%d]: %w", i, err)
		}
	}
	return decodeStrict(data, h)
}

// List returns the holds. An error means that nobody knows, so that writing calls
// must not run.
func (h *Holds) List() ([]Hold, error) {
	var doc holdsFile
	if err := h.f.parse(doc.parse); err != nil {
		return nil, h.broken(err)
	}
	return doc.Holds, nil
}

func (h *Holds) broken(err error) error {
	if !isBroken(err) {
		return err
	}
	return fmt.Errorf("%s cannot be used: %w\nwriting calls are held until a person has looked: jphost trust accept", h.f.dir.File(h.f.name), err)
}

// Check returns nil when writing calls may run, else an error that names every hold.
func (h *Holds) Check() error {
	list, err := h.List()
	if err != nil || len(list) == 0 {
		return err
	}
	text := ""
	for _, hold := range list {
		text += fmt.Sprintf("  %s: %s\n", show.Visible(hold.Path), show.Visible(hold.Reason))
	}
	return fmt.Errorf("an earlier call left changes that a person must look at first:\n%swhen they are in order: jphost trust accept", text)
}

// Settle releases the holds on what stands again as it did before; now says how that is.
func (h *Holds) Settle(ctx context.Context, now func(Hold) string) error {
	settled := func(hold Hold) bool { return hold.Was != "" && now(hold) == hold.Was }
	if list, err := h.List(); err != nil || !slices.ContainsFunc(list, settled) {
		return nil // Check says what is wrong
	}
	return h.f.dir.Locked(ctx, h.f.name, func() error {
		var doc holdsFile
		if err := h.f.parse(doc.parse); err != nil {
			return h.broken(err)
		}
		doc.Holds = slices.DeleteFunc(doc.Holds, settled)
		if doc.Holds == nil {
			doc.Holds = []Hold{}
		}
		return h.f.save(doc)
	})
}

// Add puts paths on hold. A path that is held already keeps its first reason, but not that it ends by itself where the
// new hold does not.
func (h *Holds) Add(ctx context.Context, list ...Hold) error {
	return h.f.dir.Locked(ctx, h.f.name, func() error {
		var doc holdsFile
		if err := h.f.parse(doc.parse); err != nil {
			return h.broken(err) // held already, by being broken
		}
		for _, hold := range list {
			if i := slices.IndexFunc(doc.Holds, func(o Hold) bool { return o.Path == hold.Path && o.At == hold.At }); i >= 0 {
				if hold.Was == "" {
					doc.Holds[i].Was = ""
				}
				continue
			}
			if hold.Held.IsZero() {
				hold.Held = h.f.dir.Now().UTC().Truncate(time.Second)
			}
			doc.Holds = append(doc.Holds, hold)
		}
		return h.f.save(doc)
	})
}

// Accept releases the paths, or all when none are named, after a person has looked, and
// returns what it released. With all, a broken file is set aside.
func (h *Holds) Accept(ctx context.Context, paths ...string) (released []Hold, err error) {
	err = h.f.dir.Locked(ctx, h.f.name, func() error {
		var doc holdsFile
		if err := h.f.parse(doc.parse); err != nil {
			if !isBroken(err) || len(paths) > 0 {
				return h.broken(err)
			}
			_, err := h.f.dir.SetAside(h.f.name)
			return err
		}
		keep := []Hold{}
		for _, hold := range doc.Holds {
			if len(paths) == 0 || slices.Contains(paths, hold.Path) {
				released = append(released, hold)
			} else {
				keep = append(keep, hold)
			}
		}
		if len(released) == 0 {
			return nil
		}
		return h.f.save(holdsFile{keep})
	})
	return released, err
}
