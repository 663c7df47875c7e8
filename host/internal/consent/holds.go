package consent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/strictjson"
)

// Holds is the list of paths found changed after a call that should not have changed
// them (docs/host.md, "run"). While it is not empty, no writing call runs in the
// workspace. A broken file is never set aside by a call, because that would lift the holds.
type Holds struct{ f records[Hold] }

// OpenHolds returns the holds kept in dir.
func OpenHolds(dir *state.Dir) *Holds {
	return &Holds{records[Hold]{
		dir: dir, name: "holds.json", key: "holds", only: true,
		help: "writing calls are held until a person has looked: jphost trust accept",
	}}
}

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

// UnmarshalJSON takes exactly what is written: an entry that is understood in part could
// hold less than it should.
func (h *Hold) UnmarshalJSON(data []byte) error {
	entry, err := strictjson.ParseObject(data)
	if err != nil {
		return err
	}
	for _, key := range []string{"path", "reason", "held_at"} {
		if value := entry[key]; value == nil || strictjson.IsNull(value) {
			return fmt.Errorf("the key %q is missing", key)
		}
	}
	type plain Hold
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode((*plain)(h))
}

// List returns the holds. An error means that nobody knows, so that writing calls
// must not run.
func (h *Holds) List() ([]Hold, error) {
	_, list, err := h.f.read()
	return list, err
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
	_, err := h.f.remove(ctx, settled)
	return err
}

// Add puts paths on hold. A path that is held already keeps its first reason, but no longer
// ends by itself if the new hold does not.
func (h *Holds) Add(ctx context.Context, add ...Hold) error {
	return h.f.update(ctx, func(list []Hold) ([]Hold, bool) {
		for _, hold := range add {
			if i := slices.IndexFunc(list, func(o Hold) bool { return o.Path == hold.Path && o.At == hold.At }); i >= 0 {
				if hold.Was == "" {
					list[i].Was = ""
				}
				continue
			}
			if hold.Held.IsZero() {
				hold.Held = h.f.dir.Now().UTC().Truncate(time.Second)
			}
			list = append(list, hold)
		}
		return list, true
	})
}

// Accept releases the paths, or all when none are named, after a person has looked, and
// returns what it released. With all, a broken file is set aside.
func (h *Holds) Accept(ctx context.Context, paths ...string) ([]Hold, error) {
	f := h.f
	if len(paths) == 0 {
		f.mend = f.setAside(nil)
	}
	return f.remove(ctx, func(hold Hold) bool { return len(paths) == 0 || slices.Contains(paths, hold.Path) })
}
