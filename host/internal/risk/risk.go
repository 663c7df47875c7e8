// Package risk says what is risky about a directory or file outside the workspace that is to be mounted: that it is
// very broad, and which places of secrets and settings it reaches. It warns people; it protects nothing.
package risk

import (
	"fmt"
	"io/fs"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
)

// Places are what a target is compared with. Paths are absolute, with slashes; "" means that there is none.
type Places struct {
	// Root is the canonical workspace, Home the home directory.
	Root, Home string
	// State is the directory of the host's own state, Config that of its user-global configuration.
	State, Config string
}

// Canonical returns p with the canonical home directory, which the methods expect.
func (p Places) Canonical() Places {
	if home, err := canonical(p.Home); err == nil && p.Home != "" {
		p.Home = home
	}
	return p
}

// Caution lists what is risky about a target, in lines for people. It is "" when nothing is known.
func (p Places) Caution(target string) string {
	var b strings.Builder
	if what := p.Broad(target); what != "" {
		fmt.Fprintf(&b, "The target is %s.\n", what)
	}
	if found := p.Sensitive(target); len(found) > 0 {
		b.WriteString("The target is, or reaches:\n" + strings.Join(found, ""))
	}
	return b.String()
}

// Broad says what a target is if it holds very much: "your home directory". It is "" for any other.
func (p Places) Broad(target string) string {
	if strings.Trim(target[strings.Index(target, "/")+1:], "/") == "" {
		return "the whole file system"
	}
	if p.Home != "" {
		if rest, ok := wspath.WithinAbs(target, p.Home); ok {
			if rest == "" {
				return "your home directory"
			}
			return "a directory that holds your home directory"
		}
	}
	if _, ok := wspath.WithinAbs(target, p.Root); ok {
		return "a directory that holds this workspace"
	}
	return ""
}

// Sensitive lists the places that exist and that a target holds or lies in, one line each.
func (p Places) Sensitive(target string) []string {
	list := append([]place{
		{p.State, "approvals and state of this program"},
		{p.Config, "configuration of this program"},
	}, sensitivePlaces...)
	var found []string
	seen := map[string]bool{}
	for _, s := range list {
		abs := s.path
		if rest, ok := strings.CutPrefix(abs, "~/"); ok {
			if p.Home == "" {
				continue
			}
			abs = strings.TrimSuffix(p.Home, "/") + "/" + rest
		}
		if abs == "" || abs == p.Home { // the home directory of root is judged by what is in it
			continue
		}
		at, err := canonical(abs)
		if err != nil || seen[at] || at == p.Home {
			continue
		}
		_, in := wspath.WithinAbs(at, target)
		_, holds := wspath.WithinAbs(target, at)
		if in || holds {
			seen[at] = true
			found = append(found, fmt.Sprintf("  %s (%s)\n", show.Visible(abs), s.what))
		}
	}
	return found
}

// canonical is the canonical form of a path that exists.
func canonical(abs string) (string, error) {
	c, err := wspath.CanonicalizeAbs(abs, nil)
	if err == nil && c.Missing {
		err = fs.ErrNotExist
	}
	return c.Abs, err
}

// place is somewhere that a mount should not reach unnoticed.
type place struct{ path, what string }

// sensitivePlaces: `~/` is the home directory. The list warns; it does not protect, and
// cannot be complete. It is longer than the list of RFD 075, which is asked for before each call
// (policy/sensitive.go): a mount is decided once for all that is in the directory. So it has
// whole directories, files that programs obey, and parts of the system.
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
