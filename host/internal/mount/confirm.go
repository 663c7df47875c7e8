package mount

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool/wspath"
)

// Reason says what a confirmation is about.
type Reason string

// The reasons for which a mount is confirmed. Naming the tool in the command is the
// confirmation of its scope; nothing confirms the others but an answer.
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
		was := pl.req.decision(b)
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
	if what := pl.broad(l.Target); what != "" {
		pl.p.confirm = append(pl.p.confirm, Confirmation{
			Broad,
			[]string{path},
			head + "The target is " + what + ". Tools could " + mode + " everything in it.\n\n", "Mount all of " + show.Name(l.Target) + "?", remedy,
		})
	}
	if found := pl.sensitive(l.Target); len(found) > 0 {
		pl.p.confirm = append(pl.p.confirm, Confirmation{
			Sensitive,
			[]string{path},
			head + "Tools could " + mode + ":\n" + strings.Join(found, "") + "\n", "Mount " + show.Name(l.Target) + " all the same?", remedy,
		})
	}
}

// Caution says what is risky about a target that somebody else's configuration names, in the
// words of the confirmations of mounts: that it is very broad, and the places of secrets and of
// settings that it reaches. It is "" when nothing is known; Request needs no tools and rules here.
func Caution(target string, req Request) string {
	pl := &planner{req: req, home: req.home()}
	var b strings.Builder
	if what := pl.broad(target); what != "" {
		fmt.Fprintf(&b, "The target is %s.\n", what)
	}
	if found := pl.sensitive(target); len(found) > 0 {
		b.WriteString("The target is, or reaches:\n" + strings.Join(found, ""))
	}
	return b.String()
}

// broad says what the target is when it is too much to be mounted by the way.
func (pl *planner) broad(target string) string {
	if strings.Trim(target[strings.Index(target, "/")+1:], "/") == "" {
		return "the whole file system"
	}
	if pl.home != "" {
		if rest, ok := wspath.WithinAbs(target, pl.home); ok {
			if rest == "" {
				return "your home directory"
			}
			return "a directory that holds your home directory"
		}
	}
	if _, ok := wspath.WithinAbs(target, pl.req.Root); ok {
		return "a directory that holds this workspace"
	}
	return ""
}

// place is somewhere that a mount should not reach by the way.
type place struct{ path, what string }

// sensitivePlaces: `~/` is the home directory. The list warns; it does not protect, and
// cannot be complete. It is longer than that of RFD 075, which is asked for before each call
// (policy/sensitive.go): who mounts a directory decides once about all that is in it, so
// that whole directories are named, and what programs obey and the system consists of, too.
var sensitivePlaces = []place{
	{"~/.ssh", "SSH keys"},
	{"~/.gnupg", "GnuPG keys"},
	{"~/.gpg", "GnuPG keys"},
	{"~/.password-store", "passwords"},
	{"~/.local/share/keyrings", "passwords"},
	{"~/.local/share/kwalletd", "passwords"},
	{"~/Library/Keychains", "passwords"},
	{"~/.aws", "cloud credentials"},
	{"~/.azure", "cloud credentials"},
	{"~/.config/gcloud", "cloud credentials"},
	{"~/.kube", "cluster credentials"},
	{"~/.docker", "registry credentials"},
	{"~/.config/containers", "registry credentials"},
	{"~/.netrc", "passwords"},
	{"~/.git-credentials", "passwords"},
	{"~/.config/gh", "access tokens"},
	{"~/.npmrc", "access tokens"},
	{"~/.pypirc", "access tokens"},
	{"~/.cargo/credentials.toml", "access tokens"},
	{"~/.mozilla", "browser data"},
	{"~/.thunderbird", "mail"},
	{"~/.config/google-chrome", "browser data"},
	{"~/.config/chromium", "browser data"},
	{"~/Library/Application Support", "data of every program"},
	{"~/AppData", "data of every program"},
	{"~/.bash_history", "command history"},
	{"~/.zsh_history", "command history"},
	{"~/.bashrc", "commands that your shell runs"},
	{"~/.bash_profile", "commands that your shell runs"},
	{"~/.profile", "commands that your shell runs"},
	{"~/.zshrc", "commands that your shell runs"},
	{"~/.zshenv", "commands that your shell runs"},
	{"~/.config/fish", "commands that your shell runs"},
	{"~/.gitconfig", "commands that git runs"},
	{"~/.config/git", "commands that git runs"},
	{"~/.config/autostart", "programs started at login"},
	{"~/.config/systemd", "programs started at login"},
	{"~/Library/LaunchAgents", "programs started at login"},
	{"~/.local/bin", "programs that you run"},
	{"/etc", "system configuration"},
	{"/private/etc", "system configuration"},
	{"/root", "the administrator's home directory"},
	{"/boot", "the boot loader"},
	{"/dev", "devices"},
	{"/proc", "other programs"},
	{"/sys", "the kernel"},
	{"/run", "sockets of system services"},
	{"/var/run", "sockets of system services"},
	{"/var/lib/docker", "containers"},
	{"C:/Windows", "the operating system"},
}

// sensitive lists the places that exist and that the target holds or lies in.
func (pl *planner) sensitive(target string) []string {
	list := append([]place{
		{pl.req.State, "approvals and state of this program"},
		{pl.req.Config, "configuration of this program"},
	}, sensitivePlaces...)
	var found []string
	seen := map[string]bool{}
	for _, s := range list {
		abs := s.path
		if rest, ok := strings.CutPrefix(abs, "~/"); ok {
			if pl.home == "" {
				continue
			}
			abs = strings.TrimSuffix(pl.home, "/") + "/" + rest
		}
		if abs == "" || abs == pl.home { // root's home is judged by what is in it
			continue
		}
		t, err := pl.req.Look.Target(abs)
		if err != nil || seen[t.Abs] || t.Abs == pl.home {
			continue
		}
		_, in := wspath.WithinAbs(t.Abs, target)
		_, holds := wspath.WithinAbs(target, t.Abs)
		if in || holds {
			seen[t.Abs] = true
			found = append(found, fmt.Sprintf("  %s (%s)\n", show.Visible(abs), s.what))
		}
	}
	return found
}
