package policy

import (
	"bufio"
	"fmt"
	"io"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
)

// Report is what `jphost policy TOOL --json` prints.
type Report struct {
	Tool string `json:"tool,omitempty"`
	Root string `json:"root"`
	// Access is what the tool is given; null means unrestricted inside the workspace.
	Access    *jptool.AccessPolicy `json:"access"`
	Needs     []string             `json:"needs,omitempty"`
	Rules     []Rule               `json:"rules"`
	Dropped   []Dropped            `json:"dropped"`
	Sensitive []Sensitive          `json:"sensitive"`
	Warnings  []Warning            `json:"warnings"`
}

// Report is the policy for machines. Lists are never null.
func (d *Declared) Report() Report {
	r := Report{
		Tool: d.Tool, Root: d.Root, Access: d.Access, Rules: append([]Rule{}, d.Rules...),
		Dropped: append([]Dropped{}, d.Dropped...), Sensitive: append([]Sensitive{}, d.Sensitive...),
		Warnings: append([]Warning{}, d.Warnings...),
	}
	if d.Needs != nil {
		r.Needs = append([]string{}, d.Needs.Names()...)
	}
	return r
}

// types are the types of rules with their titles.
var types = []struct{ name, title string }{{"fs", "fs"}, {"net", "net"}, {"env", "env"}, {"command", "commands"}}

// WriteText writes the policy for people: each type with its rules and origins, then what
// is pinned, dropped and sensitive. Everything that comes from files is made visible.
func (d *Declared) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	if d.Tool != "" {
		fmt.Fprintf(b, "policy of %s in %s\n", show.Visible(d.Tool), show.Visible(d.Root))
	} else {
		fmt.Fprintf(b, "policy in %s\n", show.Visible(d.Root))
	}
	if d.Access == nil {
		why := "nothing is declared"
		if d.Tool != "" { // else it would have the defaults
			why += ", and there is no sandbox on this machine"
		}
		fmt.Fprintln(b, "unrestricted inside the workspace: "+why)
		return b.Flush()
	}
	if d.Needs != nil {
		fmt.Fprintf(b, "needs: %s (%s)\n", *d.Needs, show.Line(d.needsOrigin))
	}
	for _, t := range types {
		fmt.Fprintf(b, "\n%s:\n", t.title)
		none := true
		for i := range d.Rules {
			if d.Rules[i].Type == t.name {
				none = false
				d.Rules[i].write(b)
			}
		}
		switch {
		case !none:
		case t.name == "command" && d.Access.Commands != nil:
			fmt.Fprintln(b, "  none may be started")
		case t.name == "fs":
			fmt.Fprintln(b, "  unrestricted in the workspace")
		default:
			fmt.Fprintln(b, "  unrestricted")
		}
	}
	if len(d.Access.Pinned) > 0 {
		fmt.Fprintln(b, "\nkept in place:")
		for _, path := range d.Access.Pinned {
			fmt.Fprintf(b, "  %s\n", show.Visible(path))
		}
	}
	if len(d.Dropped) > 0 {
		fmt.Fprintln(b, "\ndropped:")
	}
	for _, x := range d.Dropped {
		fmt.Fprintf(b, "  %s   (%s)\n    %s\n", show.Visible(x.Path), show.Line(x.Origin), show.Line(x.Reason))
		if x.Command != "" {
			fmt.Fprintf(b, "    approve it with: %s\n", show.Line(x.Command))
		}
	}
	if len(d.Sensitive) > 0 {
		fmt.Fprintln(b, "\nsensitive places within reach:")
	}
	for _, x := range d.Sensitive {
		fmt.Fprintf(b, "  %s (%s), by the rule on %s   (%s)\n", show.Visible(x.Path), show.Line(x.Pattern), show.Visible(x.Rule), show.Line(x.Origin))
	}
	return b.Flush()
}

func (r *Rule) write(w io.Writer) {
	text := r.Text
	if r.Type == "command" {
		text = r.Name + " = " + text
	}
	origin := r.Origin
	if r.Layer != "" {
		origin += ", " + r.Layer
	}
	fmt.Fprintf(w, "  %s   (%s)\n", show.Line(text), show.Line(origin))
	if r.Written != "" {
		fmt.Fprintf(w, "    written as %s\n", show.Visible(r.Written))
	}
	if r.Note != "" {
		fmt.Fprintf(w, "    %s\n", show.Line(r.Note))
	}
}
