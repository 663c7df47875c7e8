package agreement

import (
	"cmp"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

const (
	contentCaps = jptool.Read | jptool.Update | jptool.Execute
	entryCaps   = jptool.Create | jptool.Delete
)

// judge says what the tool's own check allows.
type judge struct {
	ws     *jptool.Workspace
	root   string
	plan   *fit.Plan
	mounts []fit.Mount
	// rules are the absolute paths of rules.
	rules []string
}

// capability is what an operation is counted under.
func capability(o op) string {
	switch o.Do {
	case "read", "list":
		return "read"
	case "update", "append", "edit", "truncate", "empty":
		return "update"
	case "execute":
		return "execute"
	case "delete", "rmdir":
		return "delete"
	case "rename", "replace", "exchange", "whiteout":
		return "move"
	}
	return "create"
}

func (j *judge) content(p string, need jptool.Caps) bool {
	_, err := j.ws.CheckContent(p, need)
	return err == nil
}

// entry is the checked entry, nil unless need is granted on it.
func (j *judge) entry(p string, need jptool.Caps) *jptool.Target {
	t, err := j.ws.CheckEntry(p, need)
	if err != nil || t.Require(need) != nil {
		return nil
	}
	return t
}

// allows is the verdict on an operation.
func (j *judge) allows(o op) bool {
	switch o.Do {
	case "read", "list":
		return j.content(o.A, jptool.Read)
	case "update", "append", "truncate":
		return j.content(o.A, jptool.Update)
	case "edit", "empty":
		return j.content(o.A, jptool.Read|jptool.Update)
	case "execute":
		return j.content(o.A, jptool.Execute)
	case "create", "mkdir", "symlink":
		return j.entry(o.A, jptool.Create) != nil
	case "write":
		return j.entry(o.A, jptool.Create|jptool.Update) != nil
	case "stage":
		// A file of another rule is refused in any case, or is no more than a new one.
		t := j.entry(o.A, jptool.Create)
		return t != nil && (j.stagedFor(o.A) == o.FD || t.Granted().Has(jptool.Update))
	case "delete", "rmdir":
		return j.entry(o.A, jptool.Delete) != nil
	case "link":
		// No tool links; it must not do more than a copy: give nobody more rights
		// on the content than there are.
		from, to := j.entry(o.A, 0), j.entry(o.B, jptool.Create)
		if from == nil || to == nil {
			return false
		}
		fi, err := from.Lstat()
		return err == nil && (!fi.Mode().IsRegular() || to.Granted()&contentCaps&^from.Granted() == 0)
	case "rename":
		return j.moves(o.A, o.B, jptool.Delete, jptool.Create)
	case "replace":
		return j.moves(o.A, o.B, jptool.Delete, entryCaps)
	case "whiteout": // something comes to be where the file was
		return j.moves(o.A, o.B, entryCaps, jptool.Create)
	case "device":
		return false // no tool makes any
	case "exchange":
		return j.moves(o.A, o.B, entryCaps, entryCaps) && j.moves(o.B, o.A, entryCaps, entryCaps)
	}
	panic("nobody judges " + o.Do)
}

func (j *judge) moves(a, b string, needA, needB jptool.Caps) bool {
	from, to := j.entry(a, needA), j.entry(b, needB)
	if from == nil || to == nil {
		return false
	}
	fi, err := from.Lstat()
	return err == nil && j.ws.CheckMove(from, to, fi.IsDir()) == nil
}

// copies reports whether what is at a may be copied to b and removed.
func (j *judge) copies(a, b string) bool {
	from, to := j.entry(a, jptool.Delete), j.entry(b, jptool.Create)
	if from == nil || to == nil {
		return false
	}
	fi, err := from.Lstat()
	switch {
	case err != nil:
		return false
	case fi.Mode()&fs.ModeSymlink != 0:
		return true
	case !fi.IsDir():
		return from.Granted().Has(jptool.Read) && to.Granted().Has(jptool.Update)
	case !from.GrantedInside().Has(jptool.Read):
		return false
	}
	list, err := names(j.abs(a))
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(list, func(name string) bool { return !j.copies(path.Join(a, name), path.Join(b, name)) })
}

// stagedFor is the file that was handed down for an entry that may be created and not written, or
// 0.
func (j *judge) stagedFor(wire string) int {
	t := j.entry(wire, jptool.Create)
	if t == nil || t.Granted().Has(jptool.Update) {
		return 0
	}
	fd, _ := t.StagedFile()
	return fd
}

// staged is the file that was handed down for an entry, or another one to try; 0 when there
// is none that is not in use.
func (j *judge) staged(wire string, used map[int]bool) int {
	fd := j.stagedFor(wire)
	for _, s := range j.plan.Staged {
		if fd == 0 && !used[s.FD] {
			fd = s.FD
		}
	}
	if used[fd] {
		return 0
	}
	return fd
}

// holdsMount reports whether something is mounted in what is at a path: nothing can remove that.
func (j *judge) holdsMount(wire string) bool {
	at := j.abs(wire)
	if fi, err := os.Lstat(at); err != nil || !fi.IsDir() {
		return false
	}
	return len(scan(at).mounted()) > 0
}

// excess is a capability that is granted here and not by the other, for each path of
// an operation, or 0.
func (j *judge) excess(other *judge, o op) jptool.Caps {
	for _, p := range []string{o.A, o.B} {
		for _, c := range []jptool.Caps{jptool.Read, jptool.Update, jptool.Execute} {
			if j.content(p, c) && !other.content(p, c) {
				return c
			}
		}
		for _, c := range []jptool.Caps{jptool.Create, jptool.Delete} {
			if j.entry(p, c) != nil && other.entry(p, c) == nil {
				return c
			}
		}
	}
	return 0
}

// abs is the place of an entry: its parent resolved. It is "" when there is none.
func (j *judge) abs(wire string) string {
	dir, err := filepath.EvalSymlinks(path.Join(j.root, path.Dir(wire)))
	if err != nil {
		return ""
	}
	return path.Join(dir, path.Base(wire))
}

// cover is the innermost mount of the plan on a place or above it, and its path.
func (j *judge) cover(p string) (c fit.Cover, at string) {
	if j.plan.Tier != fit.TierNamespace || !path.IsAbs(p) {
		return c, ""
	}
	for {
		for _, q := range j.plan.Covers {
			if q.Path == p {
				return q, p
			}
		}
		for _, n := range slices.Concat(j.plan.Pins, j.plan.Trees) {
			if n.Path == p {
				if c, _ := j.cover(path.Dir(p)); p != "/" && !slices.Contains(j.plan.Trees, n) {
					return c, p // bound on itself, it is as what holds it
				}
				return c, p
			}
		}
		if p == "/" {
			return c, ""
		}
		p = path.Dir(p)
	}
}

// hidden reports whether an entry is not there in the private tree.
func (j *judge) hidden(wire string) bool { return j.hides(j.abs(wire)) }

func (j *judge) hides(p string) bool {
	c, on := j.cover(p)
	return c.Hide || on == "" && j.plan.Tier == fit.TierNamespace
}

// behindMask reports whether a path leads through a symlink that a mask hides, or that lies in
// what grants nothing and is in no tree: in the private tree nothing is there.
func (j *judge) behindMask(wire string) bool {
	p := path.Join(j.root, wire)
	for range 40 {
		at, again := "/", false
		parts := strings.Split(strings.Trim(p, "/"), "/")
		for i, name := range parts {
			at = path.Join(at, name)
			to, err := os.Readlink(at)
			if err != nil {
				continue
			}
			if _, on := j.cover(at); on != at && j.hides(at) {
				return true
			}
			if !path.IsAbs(to) {
				to = path.Join(path.Dir(at), to)
			}
			p, again = path.Join(append([]string{to}, parts[i+1:]...)...), true
			break
		}
		if !again {
			return false
		}
	}
	return false
}

// skeleton are the names that a mask on a directory shows, or a directory on the way to a tree in the private /tmp: those
// of what lies below it and is there.
func (j *judge) skeleton(wire string) []string {
	at, err := filepath.EvalSymlinks(path.Join(j.root, wire))
	if err != nil {
		return nil
	}
	var list []string
	if c, on := j.cover(at); !c.Hide {
		if on == "" && j.plan.Scratch != "" && fit.Holds(j.plan.Scratch, at) {
			for _, n := range slices.Concat(j.plan.Trees, grantNodes(j.plan.Runtime)) {
				if below, ok := strings.CutPrefix(n.Path, at+"/"); ok {
					name, _, _ := strings.Cut(below, "/")
					list = append(list, name)
				}
			}
		}
		return list
	}
	for _, c := range j.plan.Covers {
		if below, ok := strings.CutPrefix(c.Path, at+"/"); ok && c.Again {
			name, _, _ := strings.Cut(below, "/")
			list = append(list, name)
		}
	}
	return list
}

func grantNodes(list []fit.Grant) (nodes []fit.Node) {
	for _, g := range list {
		nodes = append(nodes, g.Node)
	}
	return nodes
}

// across reports whether the kernel may refuse to move or link what the check allows: from one
// mount to another, where rights would be gained, or where Landlock wants more.
func (j *judge) across(o op) bool {
	a, b := j.abs(o.A), j.abs(o.B)
	if a == "" || b == "" {
		return false
	}
	_, onA := j.cover(path.Dir(a))
	_, onB := j.cover(path.Dir(b))
	if onA != onB || j.mountedOn(a) || j.mountedOn(b) {
		return true
	}
	from, to := j.inside(path.Dir(o.A)), j.inside(path.Dir(o.B))
	gain := func(p string, from, to jptool.Caps) bool {
		caps := contentCaps // of links too
		if fi, err := os.Lstat(p); err == nil && fi.IsDir() {
			caps = jptool.AllCaps
		}
		return to&caps&^from != 0
	}
	switch {
	case gain(a, from, to), o.Do == "exchange" && gain(b, to, from):
		return true
	case o.Do == "link":
		return from&entryCaps == 0
	}
	return false
}

// inside is what is granted in a directory.
func (j *judge) inside(dir string) jptool.Caps {
	t, err := j.ws.CheckContent(dir, 0)
	if err != nil {
		return 0
	}
	return t.GrantedInside()
}

// aboveMissing reports whether a move is refused for a rule below its target where nothing
// is: the check looks at rules, and not at what of the moved directory would come to lie there.
func (j *judge) aboveMissing(o op) bool {
	if o.B == "" || j.entry(o.A, jptool.Delete) == nil || j.entry(o.B, jptool.Create) == nil {
		return false
	}
	for _, wire := range []string{o.A, o.B} {
		at := j.abs(wire)
		for _, p := range j.rules {
			if _, err := os.Lstat(p); err != nil && strings.HasPrefix(p, at+"/") {
				return true
			}
		}
	}
	return false
}

// mountedOn reports whether something is mounted on an entry itself.
func (j *judge) mountedOn(p string) bool {
	_, at := j.cover(p)
	return at == p
}

var refusals = []string{unix.ErrnoName(unix.EXDEV), unix.ErrnoName(unix.EACCES)}

// byOwnName reports whether an operation is refused only because of a pattern on the way: the same one by the names that
// no symlink leads to is allowed. A link that a pattern covers, or in a directory that one covers, does no more.
func (j *judge) byOwnName(o op) bool {
	own := func(wire string, entry bool) string {
		at, err := j.abs(wire), error(nil)
		if !entry {
			at, err = filepath.EvalSymlinks(path.Join(j.root, wire))
		}
		if err != nil || at == "" {
			return ""
		}
		for _, m := range j.mounts {
			if below, ok := strings.CutPrefix(at+"/", m.Target+"/"); ok {
				link, _ := strings.CutPrefix(m.Link, j.root+"/")
				return path.Join(link, below)
			}
		}
		below, ok := strings.CutPrefix(at+"/", j.root+"/")
		if !ok {
			return ""
		}
		return cmp.Or(path.Clean(below), ".")
	}
	entry := !slices.Contains([]string{"read", "update", "execute"}, capability(o))
	p := o
	if p.A = own(o.A, entry); o.B != "" {
		p.B = own(o.B, true)
	}
	return p != o && p.A != "" && (p.B != "") == (o.B != "") && j.allows(p)
}

// unfound reports whether an operation is refused only because of a pattern, and nothing that was there when the call
// began is the reason: the patterns are enforced for what was found then.
func (j *judge) unfound(loose *judge, found []fit.Withheld, o op) bool {
	if j.allows(o) {
		return false
	}
	// Where a pattern refuses to create anything, a staged file of another rule was tried, or an empty one is left.
	makes := (o.Do == "stage" || o.Do == "write") && loose.entry(o.A, jptool.Create) != nil
	if !loose.allows(o) && !makes {
		return false
	}
	for _, wire := range []string{o.A, o.B} {
		if wire == "" {
			continue
		}
		entry := j.abs(wire)
		real, err := filepath.EvalSymlinks(path.Join(j.root, wire))
		for _, w := range found {
			link := w.Kind() == fit.Link
			// A rule in a place of secrets names what lies there; what the pattern covers below it was found by itself.
			named := w.By == "secrets" && slices.ContainsFunc(j.rules, func(at string) bool {
				return at != w.Abs() && fit.Holds(w.Abs(), at) && at != entry && fit.Holds(at, entry)
			})
			switch {
			case named:
			case w.Abs() == entry,
				!link && fit.Holds(w.Abs(), entry),
				!link && err == nil && fit.Holds(w.Abs(), real),
				wire == o.A && o.B != "" && fit.Holds(entry, w.Abs()):
				return false
			}
		}
	}
	return true
}
