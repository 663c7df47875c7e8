package grants

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// Flags are the flags that say what a program may do.
type Flags struct {
	Preset []string `placeholder:"NAME" help:"What an ecosystem needs outside of the workspace: ${presets}. With :net also its network (go:net). Repeatable; see jphost sandbox presets."`

	RO    []string `placeholder:"PATH" help:"Read and execute PATH and everything below it."`
	RW    []string `placeholder:"PATH" help:"Read, write and execute PATH and everything below it. Creating or deleting a file takes a grant on its directory."`
	Grant []string `placeholder:"path=PATH,CAPABILITY..." help:"Exactly these capabilities: path=PATH,read,create,update,delete,execute (or write)."`
	Deny  []string `placeholder:"PATH" help:"Withhold PATH, whatever else is granted. It may be a pattern as in .gitignore: .env is withheld at any depth, keys/*.pem below the workspace."`
	Env   []string `placeholder:"NAME" help:"Hand down the variable NAME, or with NAME* all that begin with NAME."`
	Net   bool     `help:"Allow connections to any host at the ports of HTTP, HTTPS and FTP (80, 443, 21). Other ports need --policy."`
	Limit []string `placeholder:"KEY=VALUE" help:"time=10m (from start to end), memory=512MiB, processes=100, cpu_seconds=10, file_size=1GiB."`

	Policy   string `placeholder:"FILE" help:"Take the policy from a JSON file (an access object, or a Context with one; - is standard input)."`
	Root     string `placeholder:"DIR" help:"The workspace: paths of a policy are relative to it. Default: that of -C, else the working directory."`
	Tier     string `enum:"auto,landlock,namespace" default:"auto" placeholder:"auto|landlock|namespace" help:"Enforce by this means only."`
	Required bool   `help:"Refuse what cannot be enforced exactly, as sandbox.mode = \"required\" does."`
}

// Instead says what to write in place of a flag that people expect here and that does not exist.
func (*Flags) Instead(flag string) string {
	switch flag {
	case "--hide", "--no-grant", "--exclude", "--withhold":
		return "to withhold a path: --deny PATH"
	case "--readonly", "--read-only":
		return "to grant reading only, name what may be read: --ro PATH"
	case "--network":
		return "to allow a network: --net"
	}
	return ""
}

// Stated reports whether any flag says what a program may do.
func (g *Flags) Stated() bool {
	return len(g.Preset)+len(g.RO)+len(g.RW)+len(g.Grant)+len(g.Deny)+len(g.Env)+len(g.Limit) > 0 || g.Net || g.Policy != ""
}

// merged is what the flags together say.
type merged struct {
	declared *policy.Declared
	extra    []baseline.Extra // outside of the workspace
	names    []string         // absolute paths as the user wrote them
	limits   fit.Limits
	presets  *preset.Found
	root     string
	cwd      string // the working directory without links, which a private tree does not have
	deny     []config.Pattern
}

// compile compiles the flags. The command line alone says what the program may do; of the configuration it takes only
// what is withheld from everything.
func (g *Flags) compile(p *Process) (*merged, error) {
	if p.Configured {
		return nil, exit.Errorf(exit.Usage, "--cfg and --conversation mean nothing here: no configuration grants anything\nsay what is granted with the flags of this command")
	}
	if g.Root != "" && p.Workspace != "" {
		return nil, exit.Errorf(exit.Usage, "-C and --root both name the workspace\nleave out --root to start the program there, or -C to start it here")
	}
	flag := "--root"
	if g.Root == "" && p.Workspace != "" {
		g.Root, flag = p.Workspace, "-C"
	}
	access, err := g.fromFile(p)
	if err != nil {
		return nil, err
	}
	m := &merged{names: []string{filepath.ToSlash(p.Getenv("PWD"))}}
	if m.cwd, err = WorkingDirectory(); err != nil {
		return nil, err
	}
	m.root = m.cwd
	if g.Root != "" {
		if m.root, err = p.Placed(flag, g.Root); err != nil {
			return nil, err
		}
		if abs, err := filepath.Abs(g.Root); err == nil {
			m.names = append(m.names, filepath.ToSlash(abs))
		}
		if p.Workspace != "" {
			m.cwd = m.root
		}
	}
	granting := access != nil && len(access.FS) > 0
	if g.Policy == "" {
		list, err := g.paths(p)
		if err != nil {
			return nil, err
		}
		// A path must not lead through a symlink that a repository or a program may have made.
		dirs := writable(m.root, list)
		for _, f := range list {
			if err := p.refuseLinks(f.flag, f.path, f.to, dirs); err != nil {
				return nil, err
			}
		}
		granting = len(list) > 0
		if access, err = g.access(m, list); err != nil {
			return nil, err
		}
	}
	if err := g.presets(p, m, access); err != nil {
		return nil, err
	}
	housed := p.housed()
	if g.Root == "" && !granting && TooWide(m.root, housed.Home()) {
		return nil, exit.Errorf(exit.Usage, "nothing says what the program may do, and that would be anything in all of %s\nchange into a project, or say it: --ro ., --rw . or --grant", show.Visible(m.root))
	}
	if m.limits, err = parseLimits(g.Limit); err != nil {
		return nil, err
	}
	if m.deny, err = g.denied(p, m); err != nil {
		return nil, err
	}
	deny, places, err := p.shared(m.root)
	if err != nil {
		return nil, err
	}
	r := policy.Request{
		RefuseLinks: true, Deny: slices.Concat(m.deny, deny), Places: places, Home: housed.Getenv("HOME"), ConfigFile: config.UserGlobalPath(housed.Environ),
		Programs: append(call.OwnPrograms(), g.policyFile()...), Reach: policy.ReachOf(m.extra),
	}
	if base, err := state.OS(housed.Getenv).Base(); err == nil {
		r.StateDir = base
	}
	if m.declared, err = policy.Given(access, m.root, r); err != nil {
		return nil, exit.With(exit.Usage, OfFile(g.Policy, err))
	}
	for _, text := range m.presets.Warnings() {
		m.declared.Warnings = append(m.declared.Warnings, policy.NewWarning("", text))
	}
	return m, Unmoved(m.root, m.declared.Root)
}

// command prepares what a command line starts.
func (g *Flags) command(p *Process, m *merged, argv []string) (*sandbox.Cmd, error) {
	tier := fit.ForcedTier(g.Tier)
	found, err := sandbox.Probe(p.Ctx, tier, nil, p.Getenv)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	prepared, err := sandbox.PreparePolicy(p.Ctx, m.declared.ForFit(), sandbox.Options{
		Machine: &found, Tier: tier, Required: g.Required, Environ: m.presets.Environ(), Paths: m.extra, Names: m.names,
		Limits: m.limits, System: m.presets.System(), TempDir: p.TempBase(), Helpers: p.Helpers,
	})
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	cmd := prepared.Command(p.Ctx, argv[0], argv[1:]...)
	cmd.Dir = m.cwd
	if cmd.Path, cmd.Err = sandbox.LookPath(argv[0], m.cwd, p.Getenv("PATH")); cmd.Err != nil {
		return nil, notStarted(argv[0], cmd.Err)
	}
	return cmd, nil
}

// Plan returns what [Exec] would start with the same flags, and the policy of the flags.
func (g *Flags) Plan(p *Process, argv []string) (*policy.Declared, *sandbox.Cmd, error) {
	m, err := g.compile(p)
	if err != nil {
		return nil, nil, err
	}
	cmd, err := g.command(p, m, argv)
	return m.declared, cmd, err
}

// fromFile reads --policy.
func (g *Flags) fromFile(p *Process) (*jptool.AccessPolicy, error) {
	if g.Policy == "" {
		return nil, nil
	}
	if len(g.Preset)+len(g.RO)+len(g.RW)+len(g.Grant)+len(g.Env) > 0 || g.Net {
		return nil, exit.Errorf(exit.Usage, "both --policy and grants were given\nwrite the grants into the policy, or leave it out")
	}
	data, root, err := ReadPolicy(g.Policy, p.Stdin)
	if err != nil {
		return nil, err
	}
	g.Root = cmp.Or(g.Root, root)
	access, err := policy.Decode(data)
	return access, exit.With(exit.Usage, OfFile(g.Policy, err))
}

// policyFile is the file of --policy. The program must not change it, or the same command would grant more the next
// time. Standard input and the like are no files.
func (g *Flags) policyFile() []string {
	abs, err := filepath.Abs(g.Policy)
	if err != nil || g.Policy == "" || g.Policy == "-" {
		return nil
	}
	if to, err := wspath.CanonicalizeAbs(abs, nil); err != nil || !isFile(filepath.FromSlash(to.Abs)) {
		return nil
	}
	return []string{abs}
}

// ReadPolicy reads the file of --policy: the access object, and the workspace if the file holds a Context, else "". The
// name - is standard input.
func ReadPolicy(name string, stdin io.Reader) (access []byte, root string, err error) {
	from := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, "", exit.Errorf(exit.Usage, "the policy %s cannot be read: %w\nname a readable file with an access object, or - for standard input", show.Visible(name), wspath.Bare(err))
		}
		defer f.Close()
		from = f
	}
	data, err := ReadAll(from)
	if err != nil {
		return nil, "", exit.Errorf(exit.Usage, "reading the policy from %s: %w", show.Visible(name), err)
	}
	o, err := jptool.ParseObject(data)
	if err != nil || o["root"] == nil {
		return data, "", nil // an access object, whose errors are found when it is compiled
	}
	if err := json.Unmarshal(o["root"], &root); err != nil {
		return nil, "", exit.With(exit.Usage, OfFile(name, fmt.Errorf("root: %w", err)))
	}
	if access = o["access"]; access == nil {
		access = []byte("null") // unrestricted, as tools take it
	}
	return access, root, nil
}

// OfFile names the file of --policy in an error about its content.
func OfFile(name string, err error) error {
	switch {
	case err == nil || name == "":
		return err
	case name == "-":
		name = "the policy on standard input"
	}
	return fmt.Errorf("%s: %w", show.Visible(name), err)
}

// maxRequest bounds what is read from standard input or a file, in bytes; the wire has the same limit.
const maxRequest = 64 << 20

// ReadAll reads everything, at most 64 MiB.
func ReadAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRequest+1))
	if err == nil && len(data) > maxRequest {
		err = fmt.Errorf("it is larger than %d MiB", maxRequest>>20)
	}
	return data, err
}

// granted is a path of a flag and the place it leads to.
type granted struct {
	flag, path string // as written
	caps       jptool.Caps
	abs        string // before links are followed
	to         wspath.Canonical
	missing    error
}

// paths resolves the paths of --ro, --rw and --grant.
func (g *Flags) paths(p *Process) (list []granted, err error) {
	for _, path := range g.RO {
		list = append(list, granted{flag: "--ro", path: path, caps: jptool.Read | jptool.Execute})
	}
	for _, path := range g.RW {
		list = append(list, granted{flag: "--rw", path: path, caps: jptool.AllCaps})
	}
	for _, spec := range g.Grant {
		path, caps, err := parseGrant(spec)
		if err != nil {
			return nil, err
		}
		list = append(list, granted{flag: "--grant", path: path, caps: caps})
	}
	for i := range list {
		f := &list[i]
		if p.Workspace != "" && !filepath.IsAbs(f.path) {
			f.path = p.Workspace + string(filepath.Separator) + f.path // as with make
		}
		if f.abs, err = filepath.Abs(f.path); err != nil {
			return nil, exit.With(exit.Usage, err)
		}
		f.to, f.missing = resolve(f.abs)
	}
	return list, nil
}

// writable are the workspace and the places of the flags in which a program may have made links.
func writable(root string, list []granted) []string {
	dirs := []string{filepath.ToSlash(root)}
	for _, f := range list {
		if f.caps&jptool.Write != 0 {
			dirs = append(dirs, f.to.Abs)
		}
	}
	return dirs
}

// access is the policy that the flags describe. Without a grant it declares nothing, which means the default: all of
// the workspace.
func (g *Flags) access(m *merged, list []granted) (*jptool.AccessPolicy, error) {
	var rules []jptool.FsRule
	var files []int // rules of --rw on files
	whole := false
	for _, f := range list {
		rel, inside, err := m.place(f)
		if err != nil {
			return nil, err
		}
		if !inside {
			m.extra = append(m.extra, baseline.Extra{Path: f.to.Abs, Caps: f.caps, Origin: "the command line"})
			continue
		}
		whole = whole || f.to.Abs == filepath.ToSlash(m.root) // also through a link
		if f.flag == "--rw" && isFile(filepath.Join(m.root, rel)) {
			files = append(files, len(rules))
		}
		rules = append(rules, fit.FsRule(rel, f.caps))
	}
	if caps := around(m.root, m.extra); !whole && (caps != 0 || len(m.extra) > 0 && len(rules) == 0) {
		rules = append(rules, fit.FsRule("", caps))
	}
	for _, i := range files {
		rules[i] = fit.FsRule(rules[i].Path, fileCaps(rules, rules[i].Path))
	}
	access := &jptool.AccessPolicy{FS: rules}
	for _, name := range g.Env {
		access.Env = append(access.Env, jptool.EnvRule{Name: name, Read: true})
	}
	if g.Net {
		// By port, because the kernel enforces nothing finer.
		for _, port := range []uint16{21, 80, 443} {
			access.Net = append(access.Net, jptool.NetRule{Host: "*", Port: &port, Allow: true})
		}
	}
	return access, nil
}

// place says where in the workspace the rule of a flag stands, or that the path lies outside and only adds to what the
// program needs to start. It refuses what would not do what it looks like.
func (m *merged) place(f granted) (rel string, inside bool, err error) {
	m.names = append(m.names, filepath.ToSlash(f.abs))
	dir := strings.HasSuffix(f.path, "/")
	abs, path := filepath.FromSlash(f.to.Abs), show.Visible(f.path)
	wrong := func(format string, args ...any) error {
		return exit.Errorf(exit.Usage, format, args...)
	}
	const nothing = "%s %s: nothing can be granted there: %w\n"
	rel, inside = wspath.WithinAbs(filepath.ToSlash(m.root), f.to.Abs)
	switch {
	case inside && f.missing != nil && !(dir && isDir(filepath.Dir(abs))):
		err = wrong(nothing+"name an existing path; a directory that has a slash at its end is made, in one that exists", f.flag, path, wspath.Bare(f.missing))
	case inside:
		if dir && rel != "" {
			rel += "/"
		}
	case f.missing != nil:
		err = wrong(nothing+"name an existing path; directories are made in the workspace only, so make it before: mkdir -p %s", f.flag, path, wspath.Bare(f.missing), show.Word(abs))
	case abs == "/":
		err = wrong("%s is everything there is: that would be no sandbox\nname the directories that the program needs", path)
	case strings.HasPrefix(f.to.Abs+"/", "/proc/"):
		err = wrong("%s shows other processes, and a program has a /proc of its own\nleave it out", path)
	}
	return rel, inside, err
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
	if caps == 0 {
		return "", 0, exit.Errorf(exit.Usage, "--grant %s: it grants nothing\nname capabilities: --grant %s,read; to withhold the path: --deny %s", show.Visible(spec), show.Visible(spec), show.Word(words[0][len("path="):]))
	}
	return strings.ReplaceAll(path, "\x00", ","), caps, nil
}

// Exec is `sandbox exec`: it runs a program under the grants of its flags.
type Exec struct {
	Flags
	Report         string `placeholder:"FILE" help:"Write what was enforced, and what could not be, as JSON to FILE."`
	Quiet          bool   `short:"q" help:"Say nothing about what cannot be enforced; with --report, nor about what was refused."`
	ExplainDenials bool   `help:"Say what was refused, and what would allow it. Slows the program down."`

	file    *os.File // of Report
	denials []enforcement.Denial
	seen    *enforcement.Observed
}

// notStarted is the error for a program that cannot be started, with the exit status of shells.
func notStarted(program string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Errorf(127, "%s: there is no such program\ncheck its path; it is relative to the working directory", show.Visible(program))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return exit.Errorf(126, "%s cannot be executed: %w\nif it is a program, make it executable: chmod +x %s", show.Visible(program), wspath.Bare(err), show.Word(program))
	}
	return exit.Errorf(127, "%s: %w", show.Visible(program), err)
}
