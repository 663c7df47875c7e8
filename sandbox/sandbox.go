// Package sandbox starts programs under an access policy that the operating system enforces.
//
//	func main() {
//		sandbox.Main() // first: this program starts itself again as the helper of each call
//		policy := &jptool.AccessPolicy{FS: []jptool.FsRule{sandbox.Grant("", jptool.Read|jptool.Execute)}}
//		prepared, err := sandbox.Prepare(context.Background(), policy, ".", sandbox.Options{})
//		if err != nil {
//			log.Fatal(err)
//		}
//		cmd := prepared.Command(context.Background(), "ls", "-l")
//		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
//		if err := cmd.Run(); err != nil {
//			log.Fatal(err)
//		}
//	}
//
// A [Cmd] is used as an exec.Cmd is. When it starts, the policy is fitted to the tree and to this computer as they
// are then: what cannot be enforced exactly is narrowed, and what cannot be enforced at all is reported, never
// passed over. The effective policy never grants more than the declared one.
//
// # What is enforced
//
// Files and directories by Landlock, with a private tree of mounts where user namespaces can be made; sockets and
// dangerous system calls by a system call filter; TCP ports by Landlock. All processes of a call end with it.
// docs/sandbox.md has the tables, docs/known-differences.md what the kernel does beyond or short of a policy.
// Only Linux enforces anything. Elsewhere a call is started without, its report says so, and Options.Required refuses it.
//
// # What is not
//
// Hosts, paths of requests and UDP; which programs are started with which arguments; what a program does with what it
// may read. Names and metadata are visible where there are no namespaces. The package protects nothing that the rules
// do not name: a grant to write a repository includes its .git/hooks.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"github.com/jptools/jptools/sandbox/internal/private"
	"github.com/jptools/jptools/sandbox/machine"
)

// Main has to be the first call of every main function, and of TestMain, of a program that uses this package. It
// returns at once, except in the helper processes that are this program started again: there it never returns.
func Main() { engine.Main(private.Remove) }

// Options say how calls are prepared. The zero value is usable.
type Options struct {
	// Machine is what this computer can enforce; nil asks [Probe].
	Machine *fit.Machine
	// Tier forces a way of enforcing; empty takes the cheapest one that is exact.
	Tier fit.Tier
	// Required refuses a call that cannot be enforced exactly, with a *fit.RefusedError.
	Required bool
	// Off enforces nothing. Directories that rules ask for are made all the same.
	Off bool

	// Environ is the environment of which programs get what the policy leaves; nil is that of this process.
	Environ []string
	// System gives a static program, which needs nothing to start, what other programs get of the system: compilers,
	// libraries, certificates and time zones, for what it starts.
	System bool
	// Paths are granted besides the policy. They lie outside of the workspace.
	Paths []baseline.Extra
	// Checks says that the program checks the policy itself, as a second layer: patterns of the policy that cannot be enforced
	// because there is too much to look through are left to it, and the report says so.
	Checks bool
	// Names are paths by which people name what is granted; a private tree has the links on the way to them, too.
	Names []string
	// Limits bound what a call may use.
	Limits fit.Limits
	// TempDir is where private directories of calls are made; empty is os.TempDir().
	TempDir string
	// Keep saves files named jptool-*.old that a killed program leaves in its private directory: the old content of
	// what it was writing. [State.Kept] names them.
	Keep bool
	// Arguments are texts by which a call names paths. A missing directory is made for the call if a rule
	// grants create on it and one of these names something below it.
	Arguments []string

	// Helpers start the programs; nil takes those that all calls without share.
	Helpers *Helpers
}

// Prepared is a policy that programs can be started under. It is safe for concurrent use.
type Prepared struct {
	policy  *fit.Policy
	options Options
	machine fit.Machine
	env     *jptool.EnvPolicy
}

// Prepare prepares an access policy for the workspace at root. Programs get what its rules grant and nothing else:
// without fs rules anything in the workspace, without net rules no network, without env rules the minimal environment.
// An error in a rule carries jptool.CodeInvalidPolicy.
func Prepare(ctx context.Context, access *jptool.AccessPolicy, root string, o Options) (*Prepared, error) {
	restricted := jptool.AccessPolicy{}
	if access != nil {
		restricted = *access
	}
	if len(restricted.Net) == 0 {
		restricted.Net = []jptool.NetRule{{Host: "*"}}
	}
	policy, err := fit.Compile(&restricted, root)
	if err != nil {
		return nil, err
	}
	return PreparePolicy(ctx, policy, o)
}

// PreparePolicy prepares a policy that is compiled already. Nothing is added to it.
func PreparePolicy(ctx context.Context, policy *fit.Policy, o Options) (*Prepared, error) {
	p := &Prepared{policy: policy, options: o}
	if o.Machine != nil {
		p.machine = *o.Machine
	} else {
		var err error
		if p.machine, err = Probe(ctx, o.Tier, nil, os.Getenv); err != nil {
			return nil, err
		}
	}
	if o.TempDir == "" {
		dir, err := filepath.EvalSymlinks(os.TempDir())
		if err != nil {
			return nil, err
		}
		p.options.TempDir = dir
	}
	if o.Environ == nil {
		p.options.Environ = os.Environ()
	}
	if o.Helpers == nil {
		p.options.Helpers = shared()
	}
	if policy.Access != nil {
		var err error
		if p.env, err = jptool.CompileEnv(policy.Access.Env); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Grant returns a rule that grants exactly caps on a path of the workspace and all below it; "" is the workspace.
func Grant(path string, caps jptool.Caps) jptool.FsRule { return fit.FsRule(path, caps) }

// Command returns the command to start a program with these arguments. A name without a slash is looked up in the
// PATH of Options.Environ; any other is relative to the workspace. If it is not found, Start returns why.
func (p *Prepared) Command(ctx context.Context, name string, arg ...string) *Cmd {
	c := &Cmd{Args: append([]string{name}, arg...), Dir: filepath.FromSlash(p.policy.Site.Root), prepared: p, ctx: ctx}
	c.Env, _ = Environment(p.options.Environ, p.env)
	c.Path, c.Err = LookPath(name, c.Dir, jptool.LookupEnv(p.options.Environ, "PATH"))
	return c
}

// Preview returns how a start of the command would be enforced now, without making or starting anything. With a
// *fit.RefusedError, which means that the start would be refused, there is an Attempt, too.
func (c *Cmd) Preview() (*Attempt, error) {
	if c.Err != nil {
		return nil, c.Err
	}
	return c.prepared.attempt(c.ctx, c, c.prepared.machine, true)
}

// Withheld returns the names of the variables that programs do not get, sorted.
func (p *Prepared) Withheld() []string {
	_, withheld := Environment(p.options.Environ, p.env)
	return withheld
}

// targets returns the directories outside of the workspace that mounts lead to.
func (p *Prepared) targets() []string {
	var list []string
	for _, m := range p.policy.Mounts {
		list = append(list, m.Target)
	}
	return list
}

// Helpers are the processes that start programs and make sure that nothing of them is left. They are this program started
// again (see [Main]). Helpers are safe for concurrent use.
type Helpers struct{ engine *engine.Engine }

// HelperOptions are those of Helpers.
type HelperOptions struct {
	// Terminal leaves programs in the session and the process group of this process, so that the job control of its
	// terminal reaches them. Otherwise each program has a session of its own. With namespaces a program never
	// hears its terminal: pass signals on with [Cmd.Signal].
	Terminal bool
	// Once: this process starts a program or two and ends. Helpers are not kept for later calls, and end with it.
	Once bool
}

// NewHelpers returns Helpers. Nothing is started yet.
func NewHelpers(o HelperOptions) *Helpers {
	return &Helpers{engine.New(engine.Options(o))}
}

// Warm starts a helper in the background for a call that is likely to need one of this tier: the call then does not
// wait for it. It returns at once.
func (h *Helpers) Warm(tier fit.Tier) {
	h.engine.Warm(engine.Kind{Tier: tier, Network: tier != fit.TierNamespace})
}

// Close ends the helpers, and the calls that still run, and waits for them.
func (h *Helpers) Close() error { return h.engine.Close() }

// shared returns the Helpers of calls without any of their own. They end with the process.
var shared = sync.OnceValue(func() *Helpers { return NewHelpers(HelperOptions{}) })

// TreeControl returns nil if all processes of a call end with it, whatever they do. Otherwise the error says what may survive,
// and matches errors.ErrUnsupported.
func TreeControl() error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return fmt.Errorf("on %s only the tool's own process group is ended; what leaves it, or outlives the host, goes on running (%w)", runtime.GOOS, errors.ErrUnsupported)
}

// Memory keeps what was found out about the machine from one process to the next.
type Memory interface {
	Read(name string) ([]byte, error)
	Write(name string, data []byte) error
}

// memoryFile holds one attempt under the key that it is true for.
const memoryFile = "machine.json"

type remembered struct {
	Key     string          `json:"key"`
	Attempt machine.Attempt `json:"attempt"`
}

// Probe finds out what this computer can enforce. If only an attempt to make namespaces can tell, one is made and its
// result kept in m; a nil m keeps nothing. If the tier is forced to Landlock, namespaces are neither probed nor made.
//
// The variable JPHOST_SANDBOX_LIMIT makes the result less, never more.
func Probe(ctx context.Context, tier fit.Tier, m Memory, getenv func(string) string) (fit.Machine, error) {
	limit, err := machine.ParseLimit(getenv(machine.LimitVariable))
	if err != nil {
		return fit.Machine{}, err
	}
	if tier == fit.TierLandlock {
		return limit.Apply(machine.LookAlone().Machine), nil
	}
	return limit.Apply(probe(ctx, m)), nil
}

func probe(ctx context.Context, m Memory) fit.Machine {
	info := machine.Look()
	if info.Doubt == "" {
		return info.Machine
	}
	var r remembered
	if m != nil {
		if data, err := m.Read(memoryFile); err == nil && json.Unmarshal(data, &r) == nil && r.Key == info.Key {
			return info.Settle(r.Attempt)
		}
	}
	r = remembered{info.Key, Try(ctx)}
	if data, err := json.Marshal(r); m != nil && err == nil {
		_ = m.Write(memoryFile, data) // at worst there is another attempt next time
	}
	return info.Settle(r.Attempt)
}

// Try makes namespaces, and the mounts that a private tree begins with, in a process that then ends.
func Try(ctx context.Context) machine.Attempt { return engine.Try(ctx) }
