package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// Pattern is a pattern that withholds paths.
type Pattern struct {
	// Pattern is as the wire has it, Written as somebody wrote it if that differs.
	Pattern string `json:"pattern"`
	Written string `json:"written,omitempty"`
	// Origin is the place `file:line:column`, a flag, BuiltIn or Wire.
	Origin string `json:"origin"`
	// Repository: the text is that of the repository, which can say anything with it.
	Repository bool `json:"-"`
}

// String is the pattern as it was written, and where.
func (p Pattern) String() string {
	return fmt.Sprintf("%q (%s)", cmp.Or(p.Written, p.Pattern), p.Origin)
}

// texts are patterns as the wire has them.
func texts(list []Pattern) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Pattern)
	}
	return all
}

// patterns are those of a policy: of the request, of its tool, of a policy on the wire, and with builtIn the places of
// secrets, too.
func (d *Declared) patterns(r Request, a *jptool.AccessPolicy, builtIn bool) (deny, secrets []Pattern, err error) {
	denied, further := slices.Clone(r.Deny), slices.Clone(r.Places)
	if r.Tool != nil {
		denied, further = append(denied, r.Tool.Deny...), append(further, r.Tool.SensitivePaths...)
	}
	if deny, err = d.written(denied, Flag, r, false); err != nil {
		return nil, nil, err
	}
	if a != nil {
		for _, text := range a.Deny {
			deny = append(deny, Pattern{Pattern: text, Origin: Wire})
		}
		for _, text := range a.Secrets {
			secrets = append(secrets, Pattern{Pattern: text, Origin: Wire})
		}
	}
	if r.AllowSecrets {
		return deny, nil, nil
	}
	if !builtIn {
		return deny, secrets, nil
	}
	var own []config.Pattern
	for _, text := range places.Withheld() {
		if r.home() != "" || !strings.HasPrefix(text, "~") { // without a home directory there are no such places
			own = append(own, config.Pattern{Text: text})
		}
	}
	list, err := d.written(append(own, further...), BuiltIn, r, true)
	return deny, append(secrets, list...), err
}

// home is the home directory with slashes, "" if there is none.
func (r Request) home() string {
	if !filepath.IsAbs(r.Home) {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(r.Home))
}

// written makes patterns as the wire has them of those that people write. origin is that of patterns without a place.
// rooted: a slash at the beginning means the root of the file system, as RFD 075 has it, and not that of the workspace.
func (d *Declared) written(list []config.Pattern, origin string, r Request, rooted bool) (all []Pattern, err error) {
	for _, w := range list {
		p := Pattern{Pattern: w.Text, Origin: cmp.Or(w.At.String(), origin), Repository: w.At.Layer.Repository()}
		rest, below := strings.CutPrefix(w.Text, "~/")
		switch {
		case below && r.home() == "":
			return nil, fmt.Errorf("%s: the pattern %q needs a home directory, and HOME is %q\n"+
				"set HOME, or write the path in full, with two slashes at its beginning", p.Origin, w.Text, r.Home)
		case below:
			p.Pattern, p.Written = "/"+absolute(r.home())+"/"+rest, w.Text
		case rooted && strings.HasPrefix(w.Text, "/") && !strings.HasPrefix(w.Text, "//"):
			p.Pattern, p.Written = "/"+w.Text, w.Text
		}
		all = append(all, p)
		if led := d.followed(p.Pattern); led != "" {
			all = append(all, Pattern{led, w.Text, p.Origin, p.Repository})
		}
	}
	return all, nil
}

// absolute is a pattern for an absolute path, without the slash that a pattern has besides.
func absolute(abs string) string { return "/" + ignore.Escape(strings.TrimPrefix(abs, "/")) }

// followed returns the pattern with the symlinks followed that lie before its first wildcard, "" if there are none. Paths
// are judged where they lead, and whoever withholds a path means what is there. The policy then depends on the links.
func (d *Declared) followed(pattern string) string {
	text, isAbs := strings.CutPrefix(pattern, "//")
	if !isAbs && !strings.Contains(strings.TrimSuffix(pattern, "/"), "/") {
		return "" // a name, at any depth
	}
	root := filepath.ToSlash(d.Root)
	parts := strings.Split(strings.Trim(text, "/"), "/")
	for n := len(parts); n > 0; n-- {
		g, err := ignore.NewGlob("/" + strings.Join(parts[:n], "/"))
		if err != nil || g.Literal() == "" {
			continue
		}
		abs := path.Join("/", g.Literal())
		if !isAbs {
			abs = path.Join(root, g.Literal())
		}
		to, err := wspath.CanonicalizeAbs(abs, nil)
		if err != nil || to.Abs == abs {
			return ""
		}
		d.keepLinks(to.Hops)
		led := "/" + absolute(to.Abs)
		if rel, inside := wspath.WithinAbs(root, to.Abs); inside && !isAbs && rel != "" {
			led = "/" + ignore.Escape(rel)
		}
		return strings.Join(append([]string{led}, parts[n:]...), "/")
	}
	return ""
}

// keepLinks has links stay as they are, because the policy depends on them.
func (d *Declared) keepLinks(hops []wspath.Hop) {
	for _, hop := range hops {
		d.ways = append(d.ways, fit.Way{Hop: hop})
		if place := d.rules.PlaceOf(hop.Entry); d.rules.Known(place) {
			d.protectedLinks = append(d.protectedLinks, place)
		}
	}
}

// Flag is the origin of what a flag says.
const Flag = "the command line"

// pattern says where the pattern that withholds a place was written.
func (d *Declared) pattern(w jptool.Withheld) Pattern {
	list := d.Deny
	if w.Secret {
		list = d.Secrets
	}
	if w.Index < len(list) {
		return list[w.Index]
	}
	return Pattern{Pattern: w.Pattern, Origin: "what a symlink leads to that a pattern covers"}
}

// Withheld says why a pattern withholds an absolute path; "" if none does.
func (d *Declared) Withheld(abs string) string {
	switch w := d.rules.At(d.rules.PlaceOf(abs)).Withheld(); {
	case w.Pattern == "":
		return ""
	case w.Secret:
		return "a place of secrets"
	default:
		return "it is withheld: " + d.pattern(w).String()
	}
}

// Touch is a place of secrets that a path leads to.
type Touch struct {
	// Path is the place as the tool names it.
	Path    string
	Pattern Pattern
	// Named says that a rule names it, so that it is not withheld; Covered is what the rules grant there, or would.
	Named   bool
	Covered jptool.Caps
}

// Touches returns the places of secrets that these paths of a call lead to and that the tool could use: withheld ones, and
// those that a rule names. A path that leads to nothing else is left out, and unless missing is set, one that leads nowhere.
func (d *Declared) Touches(paths []string, need jptool.Caps, missing bool) ([]Touch, error) {
	ws, err := d.open(d.Access)
	if err != nil {
		return nil, err
	}
	defer ws.Close()
	var list []Touch
	add := func(t Touch) {
		if i := slices.IndexFunc(list, func(o Touch) bool { return o.Path == t.Path }); i < 0 {
			list = append(list, t)
		} else {
			list[i].Covered |= t.Covered
		}
	}
	for _, p := range paths {
		for _, check := range []func(string, jptool.Caps) (*jptool.Target, error){ws.CheckContent, ws.CheckEntry} {
			at, err := check(p, need&jptool.Read)
			if denied := (*jptool.DeniedError)(nil); errors.As(err, &denied) && denied.Withheld.Secret {
				if denied.Covered&need != 0 && (missing || need.Has(jptool.Create) || d.there(p)) {
					add(Touch{Path: denied.At, Pattern: d.told(denied.Withheld, denied.At), Covered: denied.Covered & need})
				}
			} else if err == nil {
				if w, place, ok := at.Secret(); ok && at.Granted()&need != 0 {
					add(Touch{Path: place, Pattern: d.told(w, place), Named: true, Covered: at.Granted() & need})
				}
			}
		}
	}
	return list, nil
}

// Where returns the absolute path of what a tool names, with the links of mounts followed and no others.
func (d *Declared) Where(path string) string { return d.rules.Abs(d.rules.Lexical(path)) }

// told is the pattern that a person is told of a place. One that is built in, or of the user, comes before one of the
// repository.
func (d *Declared) told(w jptool.Withheld, place string) Pattern {
	p := d.pattern(w)
	if !p.Repository {
		return p
	}
	for _, o := range d.Secrets {
		text, isAbs := strings.CutPrefix(o.Pattern, "//")
		at := place
		if isAbs {
			text, at = "/"+text, strings.TrimPrefix(d.Where(place), "/")
		}
		if g, err := ignore.NewGlob(jptool.Fold(text)); err == nil && !o.Repository && g.MatchPath(jptool.Fold(at)) {
			return o
		}
	}
	return p
}

// there reports whether something is at a path, so that a call that makes nothing could use it.
func (d *Declared) there(path string) bool {
	_, err := os.Lstat(filepath.Join(d.Root, filepath.FromSlash(path)))
	return err == nil
}

// maxIdle bounds how many files are looked at for what patterns cover.
const maxIdle = 100_000

// idle tells of patterns of `deny` for what lies in the workspace that cover nothing which is there: a slip withholds
// nothing. Those of the list for all tools are told with each of them.
func (d *Declared) idle(t *config.Tool) (list []Warning) {
	globs := map[string]*ignore.Glob{}
	for _, p := range t.Deny {
		if g, err := ignore.NewGlob(p.Text); err == nil && !strings.HasPrefix(p.Text, "~") && !strings.HasPrefix(p.Text, "//") {
			globs[p.Text] = g
		}
	}
	seen := 0
	_ = filepath.WalkDir(d.Root, func(name string, _ fs.DirEntry, err error) error {
		if seen++; len(globs) == 0 || seen > maxIdle {
			return fs.SkipAll
		}
		rel, relErr := filepath.Rel(d.Root, name)
		if err != nil || relErr != nil || rel == "." {
			return nil // what cannot be read is passed over
		}
		for text, g := range globs {
			if g.MatchPath(jptool.Fold(filepath.ToSlash(rel))) {
				delete(globs, text)
			}
		}
		return nil
	})
	if seen > maxIdle {
		return nil // nobody knows
	}
	for _, p := range t.Deny {
		if globs[p.Text] != nil {
			list = append(list, Warning{
				Origin:  p.At.String(),
				Message: fmt.Sprintf("deny = [%q] covers nothing that is in the workspace", p.Text),
				Help:    "look whether it is as meant; it will cover what comes to be",
			})
		}
	}
	return list
}

// findSensitive lists the places of secrets that the policy lets the tool reach because a rule of a person names them, or
// something in them.
func (d *Declared) findSensitive() []Sensitive {
	found := []Sensitive{}
	for i := range d.rules.Placed {
		r, s := &d.rules.Placed[i], &d.sources[i]
		if !s.people || r.Gone || r.Missing || !d.rules.Known(r.Place) || d.rules.At(r.Place).Rule() != i {
			continue
		}
		caps := d.rules.At(r.Place).Caps()
		w, _, ok := d.rules.SecretAt(r.Place)
		if !ok || caps&(jptool.Read|jptool.Write) == 0 {
			continue
		}
		p := d.told(w, cmp.Or(r.Name, "."))
		found = append(found, Sensitive{
			Path: cmp.Or(r.Name, "."), Pattern: cmp.Or(p.Written, p.Pattern), Rule: cmp.Or(r.Name, "."), Origin: s.Origin,
			Capabilities: caps.Names(),
			Touch:        Touch{Path: cmp.Or(r.Name, "."), Pattern: p, Named: true, Covered: caps},
		})
	}
	slices.SortStableFunc(found, func(a, b Sensitive) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(found, func(a, b Sensitive) bool { return a.Path == b.Path })
}

// allowed are the patterns that take the places of secrets which a person allowed out of the list.
func allowed(paths map[string]jptool.Caps) (list []Pattern) {
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if strings.ContainsAny(path, "\r\n") {
			continue // a pattern for it covers other names too: it stays withheld
		}
		list = append(list, Pattern{Pattern: "!/" + ignore.Escape(path), Origin: Allowed})
	}
	return list
}
