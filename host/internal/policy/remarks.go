package policy

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/wspath"
)

// Remarks are what a person who looks at the policy of t should know although nothing is wrong
// with it: rules and modes that are not in force, that together grant nothing, or that are on what
// is not there, and scripts that no rule lets it read. They take more looking than a call should wait for.
func (d *Declared) Remarks(cfg *config.Config, t *config.Tool) []Warning {
	var list []Warning
	tell := func(at settings.Origin, message, help string) {
		list = append(list, Warning{Origin: at.String(), Message: message, Help: help})
	}
	// Modes that somebody set for all tools, and that do not reach one with its own.
	for _, key := range []string{"run", "format", "result"} {
		if all, own := t.Overridden(key); all != nil {
			tell(all.Origin, fmt.Sprintf("%s = %s for all tools does not reach %s, which has its own: %s at %s", key, all, t.Name, own, own.Origin),
				fmt.Sprintf("set it by name: %s.%s", toolKey(t.Name), key))
		}
	}
	list = append(list, replaced(cfg, t)...)
	list = append(list, d.idle(t)...)
	if t.Access == nil {
		return list
	}
	// What the default for the workspace grants the tool.
	usual := jptool.Caps(defaultCaps)
	if t.Needs != nil {
		usual &= *t.Needs
	}
	rules := effectiveRules(cfg, t)
	// Rules of which none grants anything read as exceptions, but with the first rule that is written the default for the
	// workspace no longer holds. A rule on the workspace itself says that nothing is meant to be granted.
	meant := slices.ContainsFunc(rules, func(r config.FsRule) bool {
		rel, err := wspath.Parse(r.Path)
		return r.Caps() != 0 || err == nil && rel.IsRoot()
	})
	if len(rules) > 0 && !meant {
		tell(rules[0].At, fmt.Sprintf("the rules of %s only withhold, so they grant nothing at all: writing any rule drops the default for \".\"", t.Name),
			fmt.Sprintf("add %s to %s.access.fs", Suggestion(".", usual), toolKey(t.Name)))
	}
	if t.Access.FS != nil && len(rules) == 0 {
		tell(t.Access.Origin, fmt.Sprintf("access.fs of %s is an empty list, so it grants nothing at all", t.Name),
			fmt.Sprintf("leave it out for the default, or add %s", Suggestion(".", usual)))
	}
	if t.Access.Env != nil && len(t.Access.Env) == 0 {
		tell(t.Access.Origin, fmt.Sprintf("access.env of %s is an empty list, so it gets no variable at all, not even PATH", t.Name),
			"leave it out for the default, or name the variables: { name = \"PATH\", read = true }")
	}
	for _, r := range rules {
		if help := d.absent(r); help != "" && !r.External {
			tell(r.At, fmt.Sprintf("the rule of %s on %q is on what is not there", d.Tool, r.Path), help)
		}
	}
	return append(list, d.unreadable(t)...)
}

// unreadable tells of the files of the workspace that an argument of the tool's command names
// and that no rule lets it read, such as the script of an interpreter. The program itself can be
// started whatever the rules say.
func (d *Declared) unreadable(t *config.Tool) (list []Warning) {
	if t.Command == nil || t.Command.Shell {
		return nil
	}
	ws, err := d.open(d.Access)
	if err != nil {
		return nil
	}
	defer ws.Close()
	for _, arg := range t.Command.Args {
		rel, err := jptool.RulePath(arg, d.Root)
		if err != nil || rel.IsRoot() {
			continue
		}
		to, err := d.rules.Resolve(rel, false)
		if err != nil || to.Missing() || to.Place.Outside {
			continue
		}
		if fi, err := os.Lstat(d.rules.Abs(to.Place)); err != nil || !fi.Mode().IsRegular() {
			continue
		}
		if _, err := ws.CheckRead(rel.Slash()); jptool.CodeOf(err) == jptool.CodeAccessDenied {
			list = append(list, Warning{
				Origin:  t.Command.Origin.String(),
				Message: fmt.Sprintf("the command of %s names %q, which no rule lets it read", t.Name, arg),
				Help:    fmt.Sprintf("if it is its script: add %s to %s.access.fs", Suggestion(to.Place.Path, jptool.Read), toolKey(t.Name)),
			})
		}
	}
	return list
}

// maxOrigins bounds how many places one remark names.
const maxOrigins = 3

// replaced tells of rules in files that a list of the conversation has put out of force.
func replaced(cfg *config.Config, t *config.Tool) []Warning {
	if !slices.ContainsFunc(cfg.Layers(), func(l config.LayerInfo) bool {
		return l.Layer == settings.LayerConversation && l.State == config.Loaded
	}) {
		return nil
	}
	key := toolKey(t.Name) + ".access.fs"
	history, err := cfg.History(key)
	if err != nil {
		return nil
	}
	var places []string
	conversation, file := false, ""
	for _, s := range history {
		replaces := s.Key == key+".strategy" && s.Value.Any() == "replace"
		switch {
		case s.Origin.Layer == settings.LayerConversation:
			conversation, file = conversation || replaces, s.Origin.File
		case conversation:
		case replaces:
			places = nil // out of force already
		case !s.Effective && strings.HasPrefix(s.Key, key+"["):
			places = append(places, s.Origin.String())
		}
	}
	if !conversation || len(places) == 0 {
		return nil
	}
	where := strings.Join(places, ", ")
	if more := len(places) - maxOrigins; more > 0 {
		where = fmt.Sprintf("%s and %d more", strings.Join(places[:maxOrigins], ", "), more)
	}
	return []Warning{{
		Message: fmt.Sprintf("the rules of %s at %s are replaced by the conversation", t.Name, where),
		Help:    fmt.Sprintf("see both with: jphost config show %s; another conversation (--conversation ID) goes by the files, and so does this one without the access of %s in %s", key, t.Name, file),
	}}
}

// absent is advice on a rule on a path that is not there and looks like a slip: something there
// has nearly its name, a directory on the way is missing, or the rule grants what can
// only be done with what is there. [literal] tells of patterns.
func (d *Declared) absent(r config.FsRule) string {
	rel, err := jptool.RulePath(r.Path, d.Root)
	if err != nil || rel.IsRoot() || literal(r.Path) != "" {
		return ""
	}
	parts := strings.Split(rel.Slash(), "/")
	dir := d.Root
	for i := range parts {
		part, err := wspath.Parse(strings.Join(parts[:i+1], "/"))
		if err != nil {
			return ""
		}
		to, err := d.rules.Resolve(part, false)
		if err != nil {
			return ""
		}
		if !to.Missing() {
			dir = d.rules.Abs(to.Place)
			continue
		}
		switch near := nearest.Word(parts[i], names(dir)); {
		case near != "":
			parts[i] = near
			return fmt.Sprintf("did you mean %q?", strings.Join(parts, "/"))
		case r.Caps().Has(jptool.Create) || r.Dir: // a call makes it
		case r.Caps() != 0: // a call narrows it, if nothing above grants the same
			return "look whether the path is as meant; as a file, create it before the call; as a directory, write it with a slash"
		case i < len(parts)-1:
			return "look whether the path is as meant; the rule will hold for what is made there"
		}
		return ""
	}
	return ""
}

// maxNames bounds how many names of a directory are looked at.
const maxNames = 4096

// names lists a directory at a canonical path, up to a limit.
func names(abs string) []string {
	d, err := wspath.OpenDir(abs)
	if err != nil {
		return nil
	}
	defer d.Close()
	f, err := d.OpenDirFile("")
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.Readdirnames(maxNames)
	if err != nil && err != io.EOF {
		return nil
	}
	slices.Sort(list)
	return list
}
