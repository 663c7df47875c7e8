package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/trust"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// fromFile are the flags that name a policy in place of a tool.
type fromFile struct {
	File string `name:"policy" placeholder:"FILE" help:"Take the policy from a JSON file (an access object, or a Context with one; - is standard input) instead of a tool."`
	Root string `placeholder:"DIR" help:"The workspace that the policy of FILE is for. Default: that of its Context, else the current one."`
}

type policyCmd struct {
	Tool string `arg:"" optional:"" help:"The tool."`
	fromFile
}

func (c *policyCmd) Run(a *app) error {
	f, err := a.asked(c.Tool, c.fromFile)
	if err != nil {
		return err
	}
	d := f.declared
	held, why := c.profile(a, f)
	if a.out.json {
		r := policyReport{Report: d.Report()}
		if held != nil {
			r.Effective, r.Sandbox = held.Effective, held.Report
		}
		return a.out.value(r)
	}
	if err := d.WriteText(a.out.w); err != nil {
		return err
	}
	if c.Tool == "" {
		return nil
	}
	a.sideBySide(d, held, why)
	return a.waiting()
}

// policyReport is what `jphost policy --json` prints.
type policyReport struct {
	policy.Report
	// Effective is the policy that the tool would receive. It is absent for a policy without a tool, with
	// sandbox.mode = "off", and if the call cannot be prepared.
	Effective *jptool.AccessPolicy `json:"effective,omitempty"`
	Sandbox   *enforcement.Report  `json:"sandbox,omitempty"`
}

// profile is how the operating system would confine the tool; without one, why says that it would not, or why that is
// not known.
func (c *policyCmd) profile(a *app, f *effective) (p *enforcement.Profile, why string) {
	switch {
	case f.tool == nil:
		return nil, ""
	case f.off != "":
		return nil, "nothing (" + f.off + ")"
	}
	call, refused, err := f.preview()
	if err != nil {
		why, help, _ := strings.Cut(err.Error(), "\n")
		return nil, strings.TrimRight("not known ("+why+")\n"+help, "\n")
	}
	if refused != nil {
		a.out.warn(refused.Error()) // and this is what it would look like
	}
	return enforcement.NewProfile(call, f.program, f.declared.Access), ""
}

// sideBySide prints each filesystem rule as it is declared and as it is enforced.
func (a *app) sideBySide(d *policy.Declared, held *enforcement.Profile, why string) {
	if held == nil {
		a.out.printf("\nenforced by the operating system: %s\n", strings.ReplaceAll(show.Text(why), "\n", "\n  "))
		return
	}
	a.out.printf("\nenforced by the operating system: %s; all of it: jphost sandbox plan %s\n", held.Tier, show.Word(d.Tool))
	if held.Effective == nil {
		return
	}
	rows := [][]string{{"declared", "effective"}}
	for i := range held.Effective.FS {
		row := []string{"", fit.FsText(&held.Effective.FS[i])}
		if i < len(d.Access.FS) {
			if row[0] = fit.FsText(&d.Access.FS[i]); row[0] == row[1] {
				row[1] = "the same"
			}
		}
		rows = append(rows, []string{show.Line(row[0]), show.Line(row[1])})
	}
	a.out.table("  ", rows)
	for _, path := range held.Effective.Pinned {
		a.out.printf("  kept in place: %s\n", show.Visible(path))
	}
	for i := range held.Narrowed {
		a.out.printf("  narrowed: %s\n", strings.ReplaceAll(show.Text(held.Narrowed[i].String()), "\n", "\n  "))
	}
	for _, n := range held.NotEnforced {
		if !n.Known {
			why, _, _ := strings.Cut(n.Why, "\n")
			a.out.printf("  not enforced: %s\n", show.Line(strings.TrimPrefix(n.Rule+": ", ": ")+n.What+" ("+why+")"))
		}
	}
}

// waiting says so if calls wait for settings to be accepted, whatever the policy allows.
func (a *app) waiting() error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	trusted, err := a.trusted(cfg)
	if err == nil && !trusted {
		a.noteWaiting()
	}
	return err
}

// trusted reports whether the user accepted everything that the repository's own settings widen.
func (a *app) trusted(cfg *config.Config) (bool, error) {
	widening, err := trust.Widening(a.ctx, cfg, a.place.root)
	if err != nil {
		return false, err
	}
	trusted, _, err := a.place.trust(a).Check(a.ctx, widening)
	return trusted, exit.With(exit.Host, err)
}

func (a *app) noteWaiting() {
	a.out.note("settings of this workspace wait to be accepted, and the tools that they concern do not run until: jphost trust accept")
}

// remark adds warnings about the rules of a tool to its policy, and prints them.
func (a *app) remark(cfg *config.Config, t *config.Tool, d *policy.Declared) {
	for _, w := range d.Remarks(cfg, t) {
		d.Warnings = append(d.Warnings, w)
		a.out.warn(w.String())
	}
}

func (a *app) wirePolicy(from fromFile) (*policy.Declared, error) {
	access, root, err := readPolicy(from.File, a.stdin)
	if err != nil {
		return nil, err
	}
	if root = cmp.Or(from.Root, root); root == "" {
		p, err := a.open()
		if err != nil {
			return nil, err
		}
		root = p.root
	}
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	d, err := policy.FromWire(access, ws.Root())
	return d, exit.With(exit.Usage, ofFile(from.File, err))
}

// readPolicy reads the file of --policy: the access object, and the workspace if the file holds a Context, else "".
func readPolicy(name string, stdin io.Reader) (access []byte, root string, err error) {
	data, err := readFile(name, stdin)
	if err != nil {
		return nil, "", err
	}
	o, err := jptool.ParseObject(data)
	if err != nil || o["root"] == nil {
		return data, "", nil // an access object, whose errors are found when it is compiled
	}
	if err := json.Unmarshal(o["root"], &root); err != nil {
		return nil, "", exit.With(exit.Usage, ofFile(name, fmt.Errorf("root: %w", err)))
	}
	if access = o["access"]; access == nil {
		access = []byte("null") // unrestricted, as tools take it
	}
	return access, root, nil
}

// ofFile names the file of --policy in an error about its content.
func ofFile(name string, err error) error {
	switch {
	case err == nil || name == "":
		return err
	case name == "-":
		name = "the policy on standard input"
	}
	return fmt.Errorf("%s: %w", show.Visible(name), err)
}

// readFile reads a file of the command line; - is standard input.
func readFile(name string, stdin io.Reader) ([]byte, error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "the policy %s cannot be read: %w\nname a readable file with an access object, or - for standard input", show.Visible(name), wspath.Bare(err))
		}
		defer f.Close()
		from = f
	}
	data, err := readAll(from)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "reading the policy from %s: %w", show.Visible(name), err)
	}
	return data, nil
}
