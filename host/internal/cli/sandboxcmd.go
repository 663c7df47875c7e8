package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// grants are the flags that say what a program may do.
type grants struct {
	RO    []string `placeholder:"PATH" help:"Read and execute PATH and everything below it."`
	RW    []string `placeholder:"PATH" help:"Read, write and execute PATH and everything below it. Creating or deleting a file takes a grant on its directory."`
	Grant []string `placeholder:"path=PATH,..." help:"Exactly these capabilities: path=PATH,read,create,update,delete,execute (or write). Without any, PATH is withheld; if nothing else is granted, everything else stays as without grants."`
	Env   []string `placeholder:"NAME" help:"Hand down the variable NAME, or with NAME* all that begin with NAME."`
	Net   bool     `help:"Allow connections to any host at the ports of HTTP, HTTPS and FTP (80, 443, 21). Other ports need --policy."`
	Limit []string `placeholder:"KEY=VALUE" help:"memory=512MiB, processes=100, cpu_seconds=10, file_size=1GiB."`

	Policy   string `placeholder:"FILE" help:"Take the policy from a JSON file (an access object, or a Context with one; - is standard input)."`
	Root     string `placeholder:"DIR" help:"The workspace: paths of a policy are relative to it. Default: that of -C, else the working directory."`
	Tier     string `enum:"auto,landlock,namespace" default:"auto" placeholder:"auto|landlock|namespace" help:"Enforce by this means only."`
	Required bool   `help:"Refuse what cannot be enforced exactly, as sandbox.mode = \"required\" does."`

	at string // the directory of -C, or ""
}

// instead says what to write in place of a flag that people expect here and that does not exist.
func (*grants) instead(flag string) string {
	switch flag {
	case "--deny", "--hide", "--no-grant":
		return "to withhold a path, name it without capabilities: --grant path=PATH"
	case "--readonly", "--read-only":
		return "to grant reading only, name what may be read: --ro PATH"
	case "--network":
		return "to allow a network: --net"
	}
	return ""
}

// mergedFlags is what the flags together say.
type mergedFlags struct {
	declared *policy.Declared
	extra    []baseline.Extra // outside of the workspace
	names    []string         // absolute paths as the user wrote them
	limits   fit.Limits
	root     string
	cwd      string // the working directory without links, which a private tree does not have
}

// compile compiles the flags. It reads no configuration: the command line alone says what the program may do.
func (g *grants) compile(a *app) (*mergedFlags, error) {
	out := &mergedFlags{}
	if len(a.global.Cfg) > 0 || a.global.Conversation != "" {
		return nil, exit.Errorf(exit.Usage, "--cfg and --conversation mean nothing here: no configuration is read\nsay what is granted with the flags of this command")
	}
	if g.Root != "" && a.global.Workspace != "" {
		return nil, exit.Errorf(exit.Usage, "-C and --root both name the workspace\nleave out --root to start the program there, or -C to start it here")
	}
	flag := "--root"
	if g.Root == "" && a.global.Workspace != "" {
		g.Root, g.at, flag = a.global.Workspace, a.global.Workspace, "-C"
	}
	access, err := g.fromFile(a)
	if err != nil {
		return nil, err
	}
	if out.cwd, err = workingDirectory(); err != nil {
		return nil, err
	}
	out.names = []string{filepath.ToSlash(a.getenv("PWD"))}
	if g.Root == "" {
		out.root = out.cwd
	} else {
		if out.root, err = a.placed(flag, g.Root); err != nil {
			return nil, err
		}
		if abs, err := filepath.Abs(g.Root); err == nil {
			out.names = append(out.names, filepath.ToSlash(abs))
		}
		if g.at != "" {
			out.cwd = out.root
		}
	}
	granting := access != nil && len(access.FS) > 0
	if g.Policy == "" {
		list, err := g.paths(a, out.root)
		if err != nil {
			return nil, err
		}
		granting = slices.ContainsFunc(list, func(f granted) bool { return f.caps != 0 })
		if access, err = g.access(out, list); err != nil {
			return nil, err
		}
	}
	housed := a.housed()
	if g.Root == "" && !granting && tooWide(out.root, housed.home()) {
		return nil, exit.Errorf(exit.Usage, "nothing says what the program may do, and that would be anything in all of %s\nchange into a project, or say it: --ro ., --rw . or --grant", show.Visible(out.root))
	}
	if out.limits, err = parseLimits(g.Limit); err != nil {
		return nil, err
	}
	r := policy.Request{
		RefuseLinks: true, Home: housed.getenv("HOME"), ConfigFile: config.UserGlobalPath(housed.environ),
		Programs: append(call.OwnPrograms(), g.policyFile()...), Reach: policy.ReachOf(out.extra),
	}
	if base, err := state.OS(housed.getenv).Base(); err == nil {
		r.StateDir = base
	}
	if out.declared, err = policy.Given(access, out.root, r); err != nil {
		return nil, exit.With(exit.Usage, ofFile(g.Policy, err))
	}
	return out, unmoved(out.root, out.declared.Root)
}

// housed is a with the home directory of the user database if HOME is no absolute path, because what lies there must be
// protected from the program even then.
func (a *app) housed() *app {
	if filepath.IsAbs(a.getenv("HOME")) {
		return a
	}
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || u.HomeDir == "" {
		return a // a user without a home directory
	}
	return &app{environ: append(slices.Clip(a.environ), "HOME="+u.HomeDir)}
}

// fromFile reads --policy.
func (g *grants) fromFile(a *app) (*jptool.AccessPolicy, error) {
	if g.Policy == "" {
		return nil, nil
	}
	if len(g.RO)+len(g.RW)+len(g.Grant)+len(g.Env) > 0 || g.Net {
		return nil, exit.Errorf(exit.Usage, "both --policy and grants were given\nwrite the grants into the policy, or leave it out")
	}
	data, root, err := readPolicy(g.Policy, a.stdin)
	if err != nil {
		return nil, err
	}
	g.Root = cmp.Or(g.Root, root)
	access, err := policy.Decode(data)
	return access, exit.With(exit.Usage, ofFile(g.Policy, err))
}

// policyFile is the file of --policy. The program must not change it, or the same command would grant more the next
// time. Standard input and the like are no files.
func (g *grants) policyFile() []string {
	abs, err := filepath.Abs(g.Policy)
	if err != nil || g.Policy == "" || g.Policy == "-" {
		return nil
	}
	if to, err := wspath.CanonicalizeAbs(abs, nil); err != nil || !isFile(filepath.FromSlash(to.Abs)) {
		return nil
	}
	return []string{abs}
}

// stated reports whether any flag says what a program may do.
func (g *grants) stated() bool {
	return len(g.RO)+len(g.RW)+len(g.Grant)+len(g.Env)+len(g.Limit) > 0 || g.Net || g.Policy != ""
}

// access is the policy that the flags describe. Without a grant it declares nothing, which means the default: all of
// the workspace.
func (g *grants) access(out *mergedFlags, list []granted) (*jptool.AccessPolicy, error) {
	p := &jptool.AccessPolicy{}
	var files []int // rules of --rw on files
	for _, f := range list {
		n := len(p.FS)
		if err := out.grant(p, f); err != nil {
			return nil, err
		}
		if f.flag == "--rw" && len(p.FS) > n && isFile(filepath.Join(out.root, p.FS[n].Path)) {
			files = append(files, n)
		}
	}
	whole := slices.ContainsFunc(p.FS, func(r jptool.FsRule) bool { return r.Path == "" })
	if !whole && len(list) > 0 && !slices.ContainsFunc(list, func(f granted) bool { return f.caps != 0 }) {
		p.FS, whole = append(p.FS, fit.FsRule("", jptool.AllCaps)), true // the flags only withhold parts of the default
	}
	if caps := around(out.root, out.extra); !whole && (caps != 0 || len(out.extra) > 0 && len(p.FS) == 0) {
		p.FS = append(p.FS, fit.FsRule("", caps))
	}
	for _, i := range files {
		p.FS[i] = fit.FsRule(p.FS[i].Path, fileCaps(p.FS, p.FS[i].Path))
	}
	for _, name := range g.Env {
		p.Env = append(p.Env, jptool.EnvRule{Name: name, Read: true})
	}
	if g.Net {
		// By port, because the kernel enforces nothing finer.
		for _, port := range []uint16{21, 80, 443} {
			p.Net = append(p.Net, jptool.NetRule{Host: "*", Port: &port, Allow: true})
		}
	}
	return p, nil
}

// fileCaps is what --rw grants on a file. Creating and deleting it are rights on its directory, so it gets them only if
// the rule above it grants them.
func fileCaps(rules []jptool.FsRule, file string) jptool.Caps {
	const entry = jptool.Create | jptool.Delete
	nearest, above := -1, jptool.Caps(0)
	for i := range rules {
		r := &rules[i]
		dir := strings.TrimSuffix(r.Path, "/")
		if (dir == "" || strings.HasPrefix(file, dir+"/")) && len(dir) > nearest {
			nearest, above = len(dir), r.Caps()
		}
	}
	return jptool.AllCaps&^entry | above&entry
}

// granted is a path of a flag and the place it leads to.
type granted struct {
	flag, path string
	caps       jptool.Caps
	to         wspath.Canonical
	broken     error
}

// paths resolves the paths of --ro, --rw and --grant. A path that grants something must not lead through a symlink that
// a repository or a program may have made. A path that withholds follows every link.
func (g *grants) paths(a *app, root string) ([]granted, error) {
	var list []granted
	in := func(path string) string { // relative to -C, as with make
		if g.at == "" || filepath.IsAbs(path) {
			return path
		}
		return g.at + string(filepath.Separator) + path
	}
	for _, path := range g.RO {
		list = append(list, granted{flag: "--ro", path: in(path), caps: jptool.Read | jptool.Execute})
	}
	for _, path := range g.RW {
		list = append(list, granted{flag: "--rw", path: in(path), caps: jptool.AllCaps})
	}
	for _, spec := range g.Grant {
		path, caps, err := parseGrant(spec)
		if err != nil {
			return nil, err
		}
		list = append(list, granted{flag: "--grant", path: in(path), caps: caps})
	}
	dirs := []string{filepath.ToSlash(root)}
	for i := range list {
		f := &list[i]
		abs, err := filepath.Abs(f.path)
		if err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		if f.to, f.broken = wspath.CanonicalizeAbs(abs, nil); f.caps&jptool.Write != 0 {
			dirs = append(dirs, f.to.Abs)
		}
	}
	for _, f := range list {
		if f.caps == 0 {
			continue
		}
		if err := a.refuseLinks(f.flag, f.path, f.to, dirs); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// grant adds what a flag grants at a path: a rule of p if the path lies in the workspace, else an extra path.
func (out *mergedFlags) grant(p *jptool.AccessPolicy, f granted) error {
	flag, path, caps := f.flag, f.path, f.caps
	dir := strings.HasSuffix(path, "/")
	if abs, err := filepath.Abs(path); err == nil {
		out.names = append(out.names, filepath.ToSlash(abs))
	}
	abs, missing := filepath.FromSlash(f.to.Abs), f.broken
	if missing == nil && f.to.Missing {
		_, missing = os.Lstat(abs)
	}
	cannot := func(remedy string) error {
		return exit.Errorf(exit.Usage, "%s %s: nothing can be granted there: %w\n%s", flag, show.Visible(path), wspath.Bare(missing), remedy)
	}
	if rel, ok := wspath.WithinAbs(filepath.ToSlash(out.root), filepath.ToSlash(abs)); ok {
		if missing != nil && caps != 0 && !(dir && isDir(filepath.Dir(abs))) {
			return cannot("name an existing path; a directory that has a slash at its end is made, in one that exists")
		}
		if missing != nil && strings.ContainsAny(path, "*?[") {
			return exit.Errorf(exit.Usage, "%s %s: there is no such path, and a glob is not a path: it would withhold nothing\nname each path, or the directory that they are in", flag, show.Visible(path))
		}
		if dir && rel != "" {
			rel += "/"
		}
		p.FS = append(p.FS, fit.FsRule(rel, caps))
		return nil
	}
	if caps == 0 {
		return exit.Errorf(exit.Usage, "%s lies outside of %s, where grants only add: nothing can be withheld\nleave the rule out, and grant narrower paths there", show.Visible(path), show.Visible(out.root))
	}
	if missing != nil {
		return cannot("name an existing path" + made(dir, abs))
	}
	if abs == "/" {
		return exit.Errorf(exit.Usage, "%s is everything there is: that would be no sandbox\nname the directories that the program needs", show.Visible(path))
	}
	if _, ok := wspath.WithinAbs("/proc", filepath.ToSlash(abs)); ok {
		return exit.Errorf(exit.Usage, "%s shows other processes, and a program has a /proc of its own\nleave it out", show.Visible(path))
	}
	out.extra = append(out.extra, baseline.Extra{Path: filepath.ToSlash(abs), Caps: caps, Origin: "the command line"})
	return nil
}

func isFile(path string) bool {
	is, err := os.Stat(path)
	return err == nil && !is.IsDir()
}

func isDir(path string) bool {
	is, err := os.Stat(path)
	return err == nil && is.IsDir()
}

// made says what to do about a missing directory outside of the workspace; inside, a call makes it.
func made(dir bool, abs string) string {
	if !dir {
		return ""
	}
	return "; directories are made in the workspace only, so make it before: mkdir -p " + show.Word(abs)
}

// around is what the nearest extra path above the workspace grants. Inside the workspace only its own rules decide; if
// none of them is on all of it, a grant on a directory above also means the workspace in it.
func around(root string, extra []baseline.Extra) jptool.Caps {
	var caps jptool.Caps
	nearest := -1
	for _, e := range extra {
		if _, holds := wspath.WithinAbs(e.Path, filepath.ToSlash(root)); !holds || len(e.Path) < nearest {
			continue
		}
		if len(e.Path) > nearest {
			nearest, caps = len(e.Path), 0
		}
		caps |= e.Caps
	}
	return caps
}

// parseGrant reads path=PATH,CAPABILITY,…. A comma in PATH is written `\,`.
func parseGrant(spec string) (path string, caps jptool.Caps, err error) {
	usage := func(what string) error {
		return exit.Errorf(exit.Usage, "--grant %s: %s\nwrite it like: --grant path=src,read,create", show.Visible(spec), what)
	}
	words := strings.Split(strings.ReplaceAll(spec, `\,`, "\x00"), ",")
	path, ok := strings.CutPrefix(words[0], "path=")
	if !ok || path == "" {
		return "", 0, usage("it does not begin with path=PATH")
	}
	for _, word := range words[1:] {
		c, ok := jptool.ParseCapability(word)
		if !ok {
			return "", 0, usage(fmt.Sprintf("%q is no capability (read, create, update, delete, execute, write)", word))
		}
		caps |= c
	}
	return strings.ReplaceAll(path, "\x00", ","), caps, nil
}

// parseLimits reads KEY=VALUE with the values of the configuration's `limits`.
func parseLimits(list []string) (fit.Limits, error) {
	var l fit.Limits
	for _, s := range list {
		key, value, _ := strings.Cut(s, "=")
		to, ok := map[string]*int64{"memory": &l.Memory, "processes": &l.Processes, "cpu_seconds": &l.CPUSeconds, "file_size": &l.FileSize}[key]
		if !ok {
			return l, exit.Errorf(exit.Usage, "--limit %s: there is no limit %s\nknown are memory, processes, cpu_seconds and file_size", show.Visible(s), show.Visible(key))
		}
		n, err := strconv.ParseInt(value, 10, 64)
		if ok = err == nil; !ok && (key == "memory" || key == "file_size") {
			n, ok = config.ParseSize(value)
		}
		if !ok || n <= 0 {
			return l, exit.Errorf(exit.Usage, "--limit %s: %s is no amount\nwrite a number, for bytes also a size such as 512MiB", show.Visible(s), show.Visible(value))
		}
		*to = n
	}
	return l, nil
}

// tempBase is the directory for the private directories of calls, if the tier has none of its own.
func (a *app) tempBase() string {
	for _, dir := range []string{a.getenv("TMPDIR"), "/tmp"} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) {
			continue
		}
		if isDir(real) {
			return filepath.ToSlash(real)
		}
	}
	return os.TempDir()
}
