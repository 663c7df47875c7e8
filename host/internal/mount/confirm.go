package mount

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
)

// Reason says what a confirmation is about.
type Reason string

// The reasons for which a mount is confirmed. Who names the tool in the command has confirmed the
// scope; the others always need an answer.
const (
	// ToolScope: a mount for every enabled local tool (RFD D43, "Mode rules").
	ToolScope Reason = "tool scope"
	// Retarget: the name was approved for another target before.
	Retarget Reason = "retarget"
	// Broad: the target is the whole system, the home directory, or holds the
	// workspace or the home directory.
	Broad Reason = "broad target"
	// Sensitive: the target is or holds a place of secrets, or of settings that programs obey.
	Sensitive Reason = "sensitive target"
)

// Confirmation is one thing a person must agree to before a plan is applied.
type Confirmation struct {
	Reason Reason
	// Paths are the links concerned.
	Paths []string
	// Body and Prompt are the question; values in it are made visible.
	Body, Prompt string
	// Remedy says what to do where nobody can be asked.
	Remedy string
}

// Question is the confirmation as a prompt; an empty answer is no.
func (c Confirmation) Question() term.BoolQuestion {
	return term.BoolQuestion{Message: term.Message{Body: c.Body}, Prompt: c.Prompt, Default: term.No()}
}

func (pl *planner) confirmations() {
	pl.confirmScope()
	for _, l := range pl.p.links {
		path := l.Path.Slash()
		b := consent.Binding{RulePath: path, Target: l.Target}
		was := pl.req.Approved(b)
		if was.Verdict == consent.Retargeted {
			q := consent.Question(consent.Request{Binding: b}, was)
			pl.p.confirm = append(pl.p.confirm, Confirmation{
				Retarget,
				[]string{path},
				q.Body, q.Prompt,
				"revoke the old target first: jphost approvals revoke " + show.Word(path),
			})
		}
		if l.Exists && was.Verdict == consent.Approved && len(pl.gains[path]) == 0 {
			continue // nothing new about it
		}
		pl.confirmTarget(l)
	}
}

func (pl *planner) confirmScope() {
	var b strings.Builder
	var paths []string
	for _, l := range pl.p.links {
		var tools []string
		for _, g := range pl.gains[l.Path.Slash()] {
			if !g.scoped {
				tools = append(tools, show.Visible(g.tool))
			}
		}
		if len(tools) == 0 {
			continue
		}
		paths = append(paths, l.Path.Slash())
		fmt.Fprintf(&b, "  %s → %s\n    read: %s\n", show.Visible(l.Path.String()), show.Visible(l.Target), strings.Join(tools, ", "))
	}
	if len(paths) == 0 {
		return
	}
	pl.p.confirm = append(pl.p.confirm, Confirmation{
		ToolScope, paths,
		"This mounts for every enabled local tool:\n\n" + b.String() + "\n", "Grant " + show.Name(paths[0]) + more(len(paths)-1) + " to all of them?",
		"name the tool instead, once for each: TOOL:NAME=PATH",
	})
}

func more(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (pl *planner) confirmTarget(l Link) {
	path := l.Path.Slash()
	remedy := "mount the one directory that is needed instead"
	mode := "read"
	for _, g := range pl.gains[path] {
		if g.mode == ReadWrite {
			mode = "read and change"
		}
	}
	head := fmt.Sprintf("  %s → %s\n\n", show.Visible(l.Path.String()), show.Visible(l.Target))
	if what := pl.places.Broad(l.Target); what != "" {
		pl.p.confirm = append(pl.p.confirm, Confirmation{
			Broad,
			[]string{path},
			head + "The target is " + what + ". Tools could " + mode + " everything in it.\n\n", "Mount all of " + show.Name(l.Target) + "?", remedy,
		})
	}
	if found := pl.places.Sensitive(l.Target); len(found) > 0 {
		pl.p.confirm = append(pl.p.confirm, Confirmation{
			Sensitive,
			[]string{path},
			head + "Tools could " + mode + ":\n" + strings.Join(found, "") + "\n", "Mount " + show.Name(l.Target) + " all the same?", remedy,
		})
	}
}
