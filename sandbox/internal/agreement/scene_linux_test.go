package agreement

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"pgregory.net/rapid"
)

// scene is all that a run needs, and what is printed when it fails. In Tree and Access, $ROOT
// stands for the directory of the scene; the workspace is $ROOT/ws.
type scene struct {
	// Way is how the policy is to be held.
	Way    string              `json:"way"`
	Tree   []string            `json:"tree"`
	Access jptool.AccessPolicy `json:"access"`
	// Guarded adds the host's rules for self-protection.
	Guarded bool `json:"guarded,omitempty"`
	// Chain does each operation on what the one before left.
	Chain bool `json:"chain,omitempty"`
	// Named are texts among the arguments of the call.
	Named []string `json:"named,omitempty"`
	Ops   []op     `json:"ops"`
}

func (s *scene) String() string {
	return string(must(json.Marshal(s)))
}

// scanned is where a scan finds what is at a place: what is mounted is read where it came from.
func (s *scene) scanned(p string) string {
	for _, line := range s.Tree {
		if f := strings.Fields(line); f[0] == "mount" && strings.HasPrefix(p, f[1]+"/") {
			return f[2] + strings.TrimPrefix(p, f[1])
		}
	}
	return p
}

// strange reports whether a staged file is not for the place where it is to go: of another rule, or
// from around what is mounted there.
func (s *scene) strange(j *judge, o op) bool {
	if j.stagedFor(o.A) != o.FD {
		return true
	}
	for _, f := range j.plan.Staged {
		if f.FD == o.FD {
			dir := path.Dir(j.root)
			at, to := strings.TrimPrefix(f.Path+"/", dir+"/"), strings.TrimPrefix(j.abs(o.A), dir+"/")
			return (s.scanned(at) == at) != (s.scanned(to) == to)
		}
	}
	return false
}

// sketch is a tree while it is drawn.
type sketch struct {
	kinds map[string]string // by path: dir, file, or symlink and where it leads, as for a mount
	lines []string
	at    string // where sub is mounted
}

func (s *sketch) add(p, kind, to string) bool {
	if s.kinds[p] != "" {
		return false
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if k := s.kinds[dir]; k != "" && k != "dir" {
			return false
		}
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		s.kinds[dir] = "dir"
	}
	s.kinds[p] = strings.TrimSpace(kind + " " + to)
	s.lines = append(s.lines, strings.TrimSpace(kind+" "+p+" "+to))
	return true
}

func (s *sketch) list() []string {
	list := make([]string, 0, len(s.kinds))
	for p := range s.kinds {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}

// links are the symlinks of the workspace.
func (s *sketch) links() []string {
	return slices.DeleteFunc(s.list(), func(p string) bool {
		return !strings.HasPrefix(p, "ws/") || !strings.HasPrefix(s.kinds[p], "symlink")
	})
}

// follow resolves a path of the sketch, "" for what leads nowhere.
func (s *sketch) follow(p string) string {
	for range 20 {
		parts, at, again := strings.Split(p, "/"), "", false
		for i, name := range parts {
			at = path.Join(at, name)
			if to, ok := strings.CutPrefix(s.kinds[at], "symlink "); ok {
				if rest, abs := strings.CutPrefix(to, "$ROOT"); abs {
					to = strings.TrimPrefix(rest, "/")
				} else {
					to = path.Join(path.Dir(at), to)
				}
				p, again = path.Join(append([]string{to}, parts[i+1:]...)...), true
				break
			}
		}
		if !again {
			return at
		}
	}
	return ""
}

// kind of what a path leads to: dir, file or "".
func (s *sketch) kind(p string) string {
	if p = s.follow(p); p == "" || p == "." {
		return "dir"
	}
	return s.kinds[p]
}

var (
	short3  = []string{"a", "b", "c"}
	anyPath = rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(short3), 1, 3).Draw(t, "parts"), "/")
	})
	// anyCaps has the sets that people write more often than the others.
	anyCaps = rapid.OneOf(
		rapid.SampledFrom([]jptool.Caps{
			0, jptool.Read, jptool.Read | jptool.Write, jptool.AllCaps, jptool.AllCaps, jptool.AllCaps, jptool.Read | jptool.Execute,
			jptool.Read | jptool.Update, jptool.Create, jptool.Read | jptool.Create, jptool.Write, jptool.AllCaps &^ jptool.Delete, jptool.AllCaps &^ jptool.Create,
		}),
		rapid.Custom(func(t *rapid.T) jptool.Caps {
			return jptool.Caps(rapid.IntRange(0, int(jptool.AllCaps)).Draw(t, "caps"))
		}),
	)
)

// anyGlob are patterns on names, on paths, and on absolute paths.
var anyGlob = rapid.OneOf(
	rapid.SampledFrom([]string{
		"a", "b", "c", "d", "**/a", "a/", "/b", "b/c", "[ab]", "?", "c*", "**/b/c", "a/*", "*/c", "b/**", "a/**/c", "new", "/a/b", "m/b", "m/*", "**/m/b", "m",
		"/$ROOT/ws/a", "/$ROOT/out/b", "/$ROOT/*/c", "/$ROOT/ws/b/*",
	}),
	anyPath,
)

// drawScene draws a scene; what it draws need not make sense.
func drawScene(t *rapid.T, way string) *scene {
	s := &scene{Way: way, Guarded: rapid.IntRange(0, 5).Draw(t, "guarded") == 5, Chain: rapid.IntRange(0, 3).Draw(t, "chain") == 3}
	k := &sketch{kinds: map[string]string{}}
	k.add("ws", "dir", "")
	k.add("out", "dir", "")
	k.add("other/f", "file", "")
	mount := rapid.SampledFrom([]string{"", "", "m", "m", "a/m", "one", "up"}).Draw(t, "mount")
	if way == "landlock" && rapid.Bool().Draw(t, "no mount") {
		mount = ""
	}
	target := map[string]string{"m": "out", "a/m": "out", "one": "single", "up": ""}[mount]
	for _, top := range []string{"ws", "out"} {
		if top == "out" && target != "out" {
			continue
		}
		for range rapid.IntRange(1, 7).Draw(t, "entries") {
			at := top + "/" + anyPath.Draw(t, "entry")
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0, 1, 2:
				k.add(at, "dir", "")
			case 8:
				k.add(at, "symlink", strings.Repeat("../", strings.Count(at, "/")-1)+anyPath.Draw(t, "to"))
			case 9:
				k.add(at, "symlink", "$ROOT/"+rapid.SampledFrom([]string{"ws/a", "ws/b", "out", "out/a", "other", "other/f"}).Draw(t, "to"))
			default:
				k.add(at, "file", "")
			}
		}
	}
	if mounts() && mount != "up" && rapid.IntRange(0, 2).Draw(t, "sub") == 2 {
		k.drawMount(t)
	}
	if s.Guarded {
		for _, p := range []string{".jp/config.toml", ".jp.toml", ".git/config", ".git/hooks/post", ".git/HEAD"} {
			if rapid.Bool().Draw(t, p) {
				k.add("ws/"+p, "file", "")
			}
		}
	}
	rule := func(p string, caps jptool.Caps) {
		s.Access.FS = append(s.Access.FS, fit.FsRule(p, caps))
	}
	root := jptool.Caps(0)
	caps := func() jptool.Caps {
		c := anyCaps.Draw(t, "caps")
		if way == "landlock" {
			c |= root // a rule that adds
		}
		return c
	}
	if mount == "one" {
		k.add("single", "file", "")
	}
	if mount != "" && k.add("ws/"+mount, "symlink", strings.TrimSuffix("$ROOT/"+target, "/")) {
		rule(mount, anyCaps.Draw(t, "mount caps"))
		to := strings.TrimSuffix("$ROOT/"+target, "/")
		r := &s.Access.FS[len(s.Access.FS)-1]
		r.External, r.ApprovedTarget = true, &to
	} else {
		mount = ""
	}
	if rapid.IntRange(0, 4).Draw(t, "root rule") > 0 {
		root = rapid.OneOf(rapid.Just(jptool.AllCaps), anyCaps, anyCaps).Draw(t, "root caps")
		rule("", root)
	}
	most := 4
	if way == "landlock" && root.Has(jptool.Delete) {
		most = 0 // another rule would have to be pinned
	}
	for range rapid.IntRange(0, most).Draw(t, "rules") {
		p := ""
		switch list, links := k.list(), k.links(); {
		case len(links) > 0 && (way == "landlock" || rapid.IntRange(0, 3).Draw(t, "link") == 3): // rare by chance alone
			p = rapid.SampledFrom(links).Draw(t, "rule on a link")
		case rapid.IntRange(0, 4).Draw(t, "existing") > 0:
			p = rapid.SampledFrom(list).Draw(t, "rule on")
		}
		switch rest, in := strings.CutPrefix(p, "ws/"); {
		case in:
			p = rest
		case mount != "" && target == "out" && strings.HasPrefix(p, "out/"):
			p = mount + strings.TrimPrefix(p, "out")
		case k.at != "" && strings.HasPrefix(p, "sub"):
			p = strings.TrimPrefix(k.at+strings.TrimPrefix(p, "sub"), "ws/")
		default:
			p = anyPath.Draw(t, "rule")
		}
		if rapid.IntRange(0, 9).Draw(t, "slash") == 9 {
			p += "/"
		}
		rule(p, caps())
		if rapid.IntRange(0, 3).Draw(t, "named") == 3 {
			s.Named = append(s.Named, path.Join(p, rapid.SampledFrom([]string{"", "new", "new"}).Draw(t, "in it")))
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "patterns") == 2 && !(way == "landlock" && root.Has(jptool.Delete)) {
		s.Access.Deny = rapid.SliceOfN(anyGlob, 0, 2).Draw(t, "deny")
		s.Access.Secrets = rapid.SliceOfN(anyGlob, 0, 2).Draw(t, "secrets")
		for _, g := range rapid.SliceOfN(anyGlob, 0, 1).Draw(t, "taken out") {
			s.Access.Secrets = append(s.Access.Secrets, "!"+g)
		}
	}
	s.Tree = k.lines
	s.drawOps(t, k, mount)
	return s
}

// drawMount mounts the directory sub on a new one somewhere in the tree.
func (s *sketch) drawMount(t *rapid.T) {
	for range rapid.IntRange(1, 4).Draw(t, "in the mount") {
		s.add("sub/"+anyPath.Draw(t, "entry"), rapid.SampledFrom([]string{"dir", "file", "file"}).Draw(t, "kind"), "")
	}
	if at := "ws/" + anyPath.Draw(t, "at"); s.add(at, "symlink", "$ROOT/sub") {
		s.at, s.lines[len(s.lines)-1] = at, "mount "+at+" sub"
	}
}

// drawOps draws operations on what the sketch has, by all of its names.
func (s *scene) drawOps(t *rapid.T, k *sketch, mount string) {
	files, dirs, entries := []string{}, []string{""}, []string{}
	var walk func(wire string, depth int)
	walk = func(wire string, depth int) {
		at := k.follow(path.Join("ws", wire))
		for _, p := range k.list() {
			if path.Dir(p) != at || at == "" && strings.Contains(p, "/") {
				continue
			}
			w := path.Join(wire, path.Base(p))
			entries = append(entries, w)
			switch k.kind(p) {
			case "file":
				files = append(files, w)
			case "dir":
				dirs = append(dirs, w)
				if depth < 5 {
					walk(w, depth+1)
				}
			}
		}
	}
	walk("", 0)
	if len(files) == 0 {
		files = []string{"a"}
	}
	pick := func(list []string, what string) string { return rapid.SampledFrom(list).Draw(t, what) }
	fresh := func() string {
		return path.Join(pick(dirs, "in"), rapid.SampledFrom([]string{"new", "a", "b", "c", "d"}).Draw(t, "name"))
	}
	for range opsPerScene {
		o := op{Do: pick(drawn, "do")}
		switch o.Do {
		case "read", "update", "append", "edit", "truncate", "empty", "execute":
			o.A = pick(files, "file")
		case "list":
			o.A = pick(dirs, "dir")
		case "create", "write", "stage", "mkdir", "symlink":
			o.A = fresh()
		case "delete":
			o.A = pick(append(entries, files...), "entry")
		case "rmdir":
			o.A = pick(dirs, "dir")
		case "link":
			o.A, o.B = pick(files, "file"), fresh()
		case "rename":
			o.A, o.B = pick(entries, "entry"), fresh()
		case "replace", "exchange":
			o.A, o.B = pick(entries, "entry"), pick(entries, "other")
		}
		s.Ops = append(s.Ops, o)
		if s.Chain && o.B != "" { // what has moved is looked at next
			files, entries, dirs = append(files, o.B, o.B), append(entries, o.B), append(dirs, o.B)
		}
	}
}

// drawn are the operations, those that need more luck more often.
var drawn = []string{
	"read", "list", "update", "append", "edit", "truncate", "empty", "execute", "execute", "execute", "create", "write", "stage", "stage", "mkdir", "symlink", "link",
	"delete", "delete", "delete", "delete", "delete", "rmdir", "rename", "rename", "rename", "rename", "replace", "replace", "exchange", "exchange",
}
