package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// trial is an attack under grants. In it {WS}, {OUT} and {HOME} stand for directories, {PID}, {AT}
// and {LEN} for a process outside and its secret, {PORT}, {SOCK}, {GRAM} and {ABSTRACT} for
// sockets outside, {SELF} for the program of the attack.
type trial struct {
	// does is the attack and its arguments; the control does the same unless it is given.
	does, control string
	// grants are the flags; "--rw ." if there are none.
	grants string
	// only: "root" or "ordinary" when the other user cannot do it anyway; tier likewise.
	only, tier string
	// lacks are errors of the control that mean that this kernel was built without.
	lacks string
	// silent: whether it worked, only the victim knows.
	silent bool
	// hears: there are the sockets outside although the attack does not name them by one of the words.
	hears bool
	// dies: the sandbox may kill it.
	dies bool
	// byRun: it is tried with a tool of `jphost run` too, which starts programs in another way.
	byRun bool
	// since is the version of Landlock that holds it, 0 for all; before, jphost says that it is not held. The
	// namespace tier holds it at all times, unless it is alike there.
	since int
	alike bool
}

// readOnly is a launch that may not change anything; withheld one with a directory that it may not
// even look at, and another that it may only read; network one that may connect to others.
const (
	readOnly = "--ro ."
	withheld = "--rw . --deny src/private --grant path=docs,read"
	network  = "--rw . --net"
)

var trials = []trial{
	// Reading what is not granted.
	{does: "read /etc/shadow", only: root, byRun: true},
	{does: "read /etc/shadow", only: root, grants: readOnly, byRun: true},
	{does: "read {HOME}/.ssh/id_ed25519", byRun: true},
	{does: "read {HOME}/.config/x", grants: readOnly},
	{does: "list {HOME}/.ssh"},
	{does: "xattr-read {OUT}/victim.txt"},
	{does: "xattr-list {OUT}/victim.txt", grants: readOnly},
	// Some machines do not even show this to root: the control shows that the attack can read another's.
	{does: "read /proc/1/environ", control: "read /proc/{PID}/environ"},
	{does: "read /proc/{PID}/environ", byRun: true},
	{does: "read /proc/{PID}/cmdline"},
	{does: "read /proc/{PID}/maps"},
	{does: "read /proc/{PID}/root{OUT}/victim.txt"},
	{does: "read /proc/{PID}/cwd/../outside/victim.txt"},
	{does: "proc-fd {PID} 3"},
	{does: "parent environ", control: "read /proc/{PID}/environ", byRun: true},
	{does: "parent maps", control: "read /proc/{PID}/maps"},
	{does: "parent root{OUT}/victim.txt", control: "read /proc/{PID}/root{OUT}/victim.txt", byRun: true},
	{does: "parent cwd/../outside/victim.txt", control: "read /proc/{PID}/cwd/../outside/victim.txt"},
	{does: "parent-memory", control: "proc-mem {PID} {AT} {LEN}", byRun: true},
	{does: "inotify {HOME}/.ssh", tier: namespaces}, // names are visible to Landlock's programs
	{does: "read {WS}/src/private/secret", grants: withheld, byRun: true},
	{does: "read src/private/secret", grants: withheld},
	{does: "read /proc/self/cwd/src/private/secret", grants: withheld},
	{does: "link {WS}/src/private/secret {WS}/l", grants: withheld},
	{does: "link-proc-fd {WS}/src/private/secret {WS}/l", grants: withheld, only: root},
	{does: "symlink-read {WS}/l src/private/secret", grants: withheld},
	{does: "symlink-read {WS}/l {OUT}/victim.txt", byRun: true},
	{does: "symlink-read {WS}/l /proc/self/root{OUT}/victim.txt"},

	// Writing outside.
	{does: "write {OUT}/victim.txt", byRun: true},
	{does: "truncate {OUT}/victim.txt", since: 3},
	{does: "create {OUT}/new"},
	{does: "mkdir {OUT}/new"},
	{does: "unlink {OUT}/victim.txt"},
	{does: "rename {OUT}/victim.txt {WS}/taken"},
	{does: "rename {OUT}/victim.txt {OUT}/elsewhere"},
	{does: "rename {WS}/src/a.txt {OUT}/victim.txt"},
	{does: "exchange {WS}/src/a.txt {OUT}/victim.txt"},
	{does: "link {OUT}/victim.txt {WS}/l"},
	{does: "link {WS}/src/a.txt {OUT}/l"},
	{does: "link-proc-fd {OUT}/victim.txt {WS}/l", only: root},
	{does: "link-empty {OUT}/victim.txt {WS}/l", only: root},
	{does: "opath-reopen {OUT}/victim.txt"},
	{does: "tmpfile {OUT} {WS}/l"},
	{does: "tmpfile {WS} {OUT}/l"},
	{does: "symlink-write {WS}/l {OUT}/victim.txt "},
	{does: "symlink-write {WS}/l {OUT} victim.txt"},
	{does: "symlink-write {WS}/l ../outside victim.txt"},
	{does: "symlink-write {WS}/src/l /proc/self/root{OUT} victim.txt"},
	{does: "write /proc/self/root{OUT}/victim.txt"},
	{does: "write /proc/thread-self/root{OUT}/victim.txt"},
	{does: "write /proc/{PID}/root{OUT}/victim.txt"},
	{does: "write /proc/1/root{OUT}/victim.txt", control: "write /proc/{PID}/root{OUT}/victim.txt"},
	{does: "write /proc/self/cwd/../outside/victim.txt"},
	{does: "write ../outside/victim.txt"},
	{does: "dirfd / {OUT}/victim.txt", byRun: true},
	{does: "dirfd {WS} ../outside/victim.txt"},
	{does: "dirfd {OUT} victim.txt"},
	{does: "dotdot .{OUT}/victim.txt"},
	{does: "fchdir {OUT} victim.txt"},
	{does: "fchdir .. outside/victim.txt"},
	{does: "handle {OUT}/victim.txt /var/tmp", only: root},
	{does: "mknod {WS}/disk", only: root},
	// The control ends as soon as it works.
	{does: "swap {WS}/good {WS}/bad victim.txt 1500", control: "swap {WS}/good {WS}/bad victim.txt 500000"},
	{does: "swap {WS}/good {WS}/bad secret 1500", control: "swap {WS}/good {WS}/bad secret 500000", grants: withheld},

	// Where less is granted than around it.
	{does: "write {WS}/docs/guide", grants: withheld, byRun: true},
	{does: "create {WS}/docs/new", grants: withheld},
	{does: "unlink {WS}/docs/guide", grants: withheld},
	{does: "rename {WS}/docs/guide {WS}/g", grants: withheld},
	{does: "rename {WS}/src/a.txt {WS}/docs/guide", grants: withheld},
	{does: "rename {WS}/docs {WS}/d", grants: withheld},
	{does: "exchange {WS}/docs {WS}/good", grants: withheld},
	{does: "rename {WS}/src/private {WS}/p", grants: withheld},
	{does: "exchange {WS}/src/private {WS}/good", grants: withheld},
	{does: "renamed-ancestor {WS}/src private", grants: withheld, byRun: true},
	{does: "exchange {WS}/src {WS}/good", grants: withheld},
	{does: "link {WS}/docs/guide {WS}/l", grants: withheld},
	{does: "symlink-write {WS}/l docs guide", grants: withheld},
	{does: "opath-reopen {WS}/docs/guide", grants: withheld},
	{does: "dirfd {WS}/docs guide", grants: withheld},
	{does: "fchdir {WS}/src/private secret", grants: withheld},
	{does: "scm-rights {WS}/docs guide", grants: withheld},
	{does: "scm-rights {OUT} victim.txt"},
	{does: "umount {WS}/src/private", grants: withheld, byRun: true},
	{does: "umount {WS}/docs", grants: withheld},
	{does: "mount-attr {WS}/docs", grants: withheld},
	{does: "remount {WS}/docs", grants: withheld},

	// A launch that may change nothing.
	{does: "write {WS}/src/a.txt", grants: readOnly, byRun: true},
	{does: "create {WS}/src/new", grants: readOnly},
	{does: "truncate {WS}/src/a.txt", grants: readOnly, since: 3},
	{does: "chmod {WS}/src/a.txt", grants: readOnly, byRun: true},
	{does: "chmod {WS}/src", grants: readOnly},
	{does: "chmod-fd {WS}/src/a.txt", grants: readOnly},
	{does: "fchmodat2 {WS}/src/a.txt", grants: readOnly, lacks: "ENOSYS"},
	{does: "chown {WS}/src/a.txt", grants: readOnly},
	{does: "lchown {WS}/src/a.txt", grants: readOnly},
	{does: "utime {WS}/src/a.txt", grants: readOnly},
	{does: "futime {WS}/src/a.txt", grants: readOnly},
	{does: "xattr {WS}/src/a.txt", grants: readOnly, lacks: "EOPNOTSUPP"},
	{does: "fxattr {WS}/src/a.txt", grants: readOnly, lacks: "EOPNOTSUPP"},
	{does: "setflags {WS}/src/a.txt", grants: readOnly, lacks: "ENOTTY EOPNOTSUPP"},
	{does: "setversion {WS}/src/a.txt", grants: readOnly, lacks: "ENOTTY EOPNOTSUPP"},
	{does: "subvolume {WS}/src", grants: readOnly, lacks: "ENOTTY"}, // what Landlock does not see of btrfs
	{does: "lease {WS}/src/a.txt", grants: readOnly},                // who opens it would wait
	{does: "lease {WS}/src/a.txt"},
	{does: "setuid {WS}/src/a.txt", byRun: true}, // others would act as this user
	{does: "setuid-fd {WS}/src/a.txt"},
	{does: "setuid-made {WS}/src/made", only: root},
	{does: "marked openat {WS}/src/made", byRun: true},
	{does: "marked mknodat {WS}/src/made"},
	{does: "marked open {WS}/src/made", lacks: "ENOSYS"},
	{does: "marked creat {WS}/src/made", lacks: "ENOSYS"},
	{does: "marked mknod {WS}/src/made", lacks: "ENOSYS"},
	{does: "verity {WS}/src/a.txt", grants: readOnly, lacks: "ENOTTY ENOTSUP"},
	{does: "file-setattr {WS}/src/a.txt", grants: readOnly, lacks: "ENOSYS EOPNOTSUPP"},
	{does: "chmod {OUT}/victim.txt", grants: readOnly},
	{does: "utime {OUT}/victim.txt", grants: readOnly},
	{does: "xattr {OUT}/victim.txt", grants: readOnly, lacks: "EOPNOTSUPP"},
	{does: "chown {OUT}/victim.txt", grants: readOnly},

	// Metadata beside writable grants: the Landlock tier does not hold it (docs/known-differences.md).
	{does: "chmod {OUT}/victim.txt", tier: namespaces, byRun: true},
	{does: "chown {OUT}/victim.txt", tier: namespaces},
	{does: "utime {OUT}/victim.txt", tier: namespaces},
	{does: "xattr {OUT}/victim.txt", tier: namespaces, lacks: "EOPNOTSUPP"},
	{does: "chmod {WS}/docs/guide", tier: namespaces, grants: withheld},
	{does: "chmod {WS}/docs", tier: namespaces, grants: withheld},
	{does: "chmod {WS}/src/private", tier: namespaces, grants: withheld},
	{does: "chown {WS}/docs/guide", tier: namespaces, grants: withheld},
	{does: "utime {WS}/docs/guide", tier: namespaces, grants: withheld},
	{does: "futime {WS}/docs/guide", tier: namespaces, grants: withheld},
	{does: "fxattr {WS}/docs/guide", tier: namespaces, grants: withheld, lacks: "EOPNOTSUPP"},
	{does: "setflags {WS}/docs/guide", tier: namespaces, grants: withheld, lacks: "ENOTTY EOPNOTSUPP"},

	// Other processes.
	{does: "vm-read {PID} {AT} {LEN}", byRun: true},
	{does: "vm-write {PID} {AT} {LEN}"},
	{does: "proc-mem {PID} {AT} {LEN}"},
	{does: "ptrace {PID}", byRun: true},
	{does: "pidfd-getfd {PID}"},
	{does: "process-advice {PID} {AT} {LEN}", only: root, lacks: "ENOSYS"},
	{does: "kcmp {PID}", lacks: "ENOSYS"},
	{does: "kill {PID}", byRun: true, since: 6},
	{does: "parent-kill", control: "kill {PID}", byRun: true, since: 6, alike: true}, // in a private tree the parent is its first process, which takes no signal
	{does: "tgkill {PID}", since: 6},
	{does: "sigqueue {PID}", since: 6},
	{does: "pidfd-signal {PID}", since: 6},
	{does: "sigio {PID}", silent: true, since: 6},
	{does: "prlimit {PID}"},
	{does: "priority {PID}", tier: namespaces}, // a nuisance that has no filter: threads do it to themselves
	{does: "affinity {PID}", tier: namespaces},
	{does: "sysv-memory {SHM}", byRun: true},
	{does: "sysv-queue {QUEUE}"},
	{does: "posix-queue {MQ}", lacks: "ENOSYS", byRun: true},

	// The network, and sockets of others on this computer.
	{does: "tcp {PORT}", byRun: true},
	{does: "mptcp {PORT}", lacks: "EPROTONOSUPPORT ENOPROTOOPT"},
	{does: "udp {PORT}", byRun: true, silent: true}, // on a network of its own it may send
	{does: "tcp-fastopen {PORT}", lacks: "EOPNOTSUPP", byRun: true},
	{does: "tcp-listen", tier: landlocked}, // likewise
	{does: "tcp6", lacks: "EAFNOSUPPORT", tier: landlocked},
	{does: "udp6", lacks: "EAFNOSUPPORT", tier: landlocked},
	{does: "raw", only: root},
	{does: "packet", only: root, lacks: "EAFNOSUPPORT"},
	{does: "netlink"},
	{does: "vsock", lacks: "EAFNOSUPPORT"},
	{does: "families", byRun: true, tier: landlocked},
	{does: "cloexec-socket", tier: landlocked},
	{does: "high-socket", tier: landlocked},
	{does: "unix {SOCK}", byRun: true},
	{does: "unixgram {GRAM}"},
	{does: "abstract {ABSTRACT}", byRun: true},
	{does: "unix-bind {WS}/own.sock", tier: landlocked},
	{does: "unix-seqpacket {SEQSOCK}"},
	{does: "unix engine.sock", hears: true},
	{does: "unix /proc/self/cwd/engine.sock", hears: true},
	{does: "unix /proc/{PID}/cwd/engine.sock", hears: true},
	{does: "unix-symlink {WS}/l {SOCK}", byRun: true},
	{does: "unix-hardlink {WS}/l {SOCK}"},
	{does: "unix-renamed {WS}/l {SOCK}"},
	{does: "unix-replaced {SOCK} {WS}/own.sock"},
	{does: "unix-dirfd {SOCK}"},
	{does: "unix-race {SOCK} {WS}/own.sock", byRun: true},
	{does: "unix-swap {SOCK} {WS}/own.sock"},
	{does: "stdin-connect {PORT}", since: 4, alike: true},
	{does: "stdin-race {PORT}", since: 4, alike: true},
	{does: "new-address", control: "new-address own"},
	{does: "pair-sendto dgram {GRAM}"},
	{does: "pair-connect dgram {GRAM}"},
	{does: "pair-sendto raw {GRAM}"},
	{does: "pair-connect raw {GRAM}"},
	{does: "sendmsg-pair dgram {GRAM}"},

	// With a network, all but connections to the ports that are granted, and datagrams.
	{does: "tcp {PORT}", grants: network, byRun: true, since: 4, alike: true},
	{does: "tcp-fastopen {PORT}", grants: network, lacks: "EOPNOTSUPP", byRun: true},
	{does: "mptcp {PORT}", grants: network, lacks: "EPROTONOSUPPORT ENOPROTOOPT"},
	{does: "tcp-listen", grants: network},
	{does: "listen-unbound", grants: network},
	{does: "raw", grants: network, only: root},
	{does: "packet", grants: network, only: root, lacks: "EAFNOSUPPORT"},
	{does: "netlink", grants: network},
	{does: "vsock", grants: network, lacks: "EAFNOSUPPORT"},
	{does: "unix {SOCK}", grants: network, byRun: true},
	{does: "unixgram {GRAM}", grants: network},
	{does: "abstract {ABSTRACT}", grants: network, byRun: true},
	{does: "pair-sendto dgram {GRAM}", grants: network},
	{does: "unshare net", grants: network},

	// More rights.
	{does: "caps", byRun: true},
	{does: "clone-user", byRun: true},
	{does: "clone3-user", lacks: "ENOSYS"},
	{does: "unshare user"},
	{does: "unshare mount", byRun: true},
	{does: "unshare net"},
	{does: "setns-own", only: root},
	{does: "unshare pid"},
	{does: "unshare ipc"},
	{does: "unshare uts"},
	{does: "unshare cgroup"},
	{does: "uid-map"},
	{does: "setns {PID} user", control: "unshare user"}, // nobody enters the user namespace that he is in
	{does: "setns {PID} mnt", only: root},
	{does: "setns {PID} net", only: root},
	{does: "mount {WS}/good", byRun: true},
	{does: "bind / {WS}/good"},
	{does: "new-mount", lacks: "ENOSYS"},
	{does: "open-tree {WS}", lacks: "ENOSYS"},
	{does: "mount-attr {WS}/good", lacks: "ENOSYS"},
	{does: "umount {WS}/good"},
	{does: "remount {WS}/good"},
	{does: "pivot-root {WS}/good"},
	{does: "chroot {WS}"},
	{does: "hostname"},
	{does: "bpf", only: root, lacks: "ENOSYS"},
	{does: "keyctl", lacks: "ENOSYS"},
	{does: "add-key", lacks: "ENOSYS"},
	{does: "io-uring", lacks: "ENOSYS EPERM", byRun: true},
	{does: "perf", lacks: "ENOSYS EACCES"},
	{does: "userfaultfd", lacks: "ENOSYS EPERM"},
	{does: "fanotify", only: root, lacks: "ENOSYS"},
	{does: "personality"},
	{does: "acct", only: root, lacks: "ENOSYS"},
	{does: "syslog", only: root, lacks: "ENOSYS"},
	{does: "iopl", only: root, lacks: "ENOSYS"},
	{does: "sysctl /proc/sys/kernel/core_pattern", only: root},

	// Other ways into the kernel.
	{does: "x32", lacks: "ENOSYS", dies: true, byRun: true},
	{does: "int80", lacks: "ENOSYS EFAULT", dies: true, byRun: true},
	{does: "elf32 {WS}/elf", lacks: "ENOEXEC", dies: true},

	// What is handed down.
	{does: "env {SECRET}", byRun: true},
	{does: "env API_TOKEN", byRun: true},
	{does: "reopen"},
}

func (w *world) fill(s string, v *victim, e *ears, i *ipc) []string {
	r := strings.NewReplacer("{WS}", w.root, "{OUT}", w.outside, "{HOME}", w.home, "{SECRET}", w.secret, "{SELF}", attackPath(w.t))
	words := strings.Split(r.Replace(s), " ")
	for n, word := range words {
		if v != nil {
			word = strings.NewReplacer("{PID}", strconv.Itoa(v.PID), "{AT}", v.At, "{LEN}", strconv.Itoa(v.Len)).Replace(word)
		}
		if e != nil {
			word = strings.NewReplacer("{PORT}", e.port, "{SOCK}", e.sock, "{SEQSOCK}", e.sequence, "{GRAM}", e.gram, "{ABSTRACT}", e.abstract).Replace(word)
		}
		if i != nil {
			word = strings.NewReplacer("{SHM}", i.memory, "{QUEUE}", i.queue, "{MQ}", i.named).Replace(word)
		}
		words[n] = word
	}
	return words
}

// try does one attack in a fresh world. It fails the test if a contained one changed
// anything that it should not, whatever it says itself.
func (c *trial) try(t *testing.T, user, tier string, byRun bool) attempt {
	w := newWorld(t, user)
	does := c.does
	if tier == uncontained && c.control != "" {
		does = c.control
	}
	var v *victim
	var e *ears
	var i *ipc
	if strings.Contains(does, "{PID}") {
		v = w.victim()
	}
	if c.hears || strings.Contains(does, "{PORT}") || strings.Contains(does, "SOCK}") || strings.Contains(does, "{GRAM}") || strings.Contains(does, "{ABSTRACT}") {
		e = w.listen()
	}
	if strings.Contains(does, "{SHM}") || strings.Contains(does, "{QUEUE}") || strings.Contains(does, "{MQ}") {
		i = w.ipc()
	}
	args := w.fill(does, v, e, i)
	switch args[0] {
	case "swap": // a link to a directory with another file of that name
		w.files(map[string]string{"ws/good/" + args[3]: "harmless\n"})
		to := map[string]string{"victim.txt": w.outside, "secret": w.root + "/src/private"}[args[3]]
		if err := os.Symlink(to, args[2]); err != nil {
			t.Fatal(err)
		}
		w.own()
	case "stdin-connect", "stdin-race":
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		w.stdin = os.NewFile(uintptr(fd), "socket")
		defer w.stdin.Close()
	case "reopen":
		f, err := os.Open(w.outside + "/victim.txt")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w.stdin = f
	}
	grants := []string{"--rw", "."}
	if c.grants != "" {
		grants = strings.Split(c.grants, " ")
	}
	safe := []string{w.outside, w.home}
	if strings.Contains(c.grants, "src/private") {
		safe = append(safe, w.root+"/src/private", w.root+"/docs")
	}
	if c.grants == readOnly {
		safe = append(safe, w.root+"/src")
	}
	before := state(t, safe...)
	var got attempt
	if byRun {
		got = w.attackByRun(tier, c.grants, args...)
	} else {
		got = w.attackMayDie(tier, grants, args...)
	}
	if tier == uncontained {
		if c.silent && v != nil {
			got.Worked = got.Worked && v.end() != ""
		}
		return got
	}
	// Metadata beside writable grants is a known difference of the Landlock tier, and not tried there.
	if list := differs(before, state(t, safe...)); len(list) > 0 {
		t.Errorf("changed:\n%s", strings.Join(list, "\n"))
	}
	if strings.Contains(got.ran.stdout, w.secret) && args[0] != "env" {
		t.Errorf("the secret came out: %s", got.ran)
	}
	if e != nil {
		if names := e.heard(t); len(names) > 0 {
			t.Errorf("something came to %q", names)
		}
	}
	if v != nil {
		if what := v.end(); what != "" {
			t.Errorf("something happened to the process outside: %q", what)
		}
	}
	if c.silent {
		got.Worked = false
	}
	return got
}

// ways are how it is tried: by `jphost run` or not.
func (c *trial) ways() []bool {
	if c.byRun {
		return []bool{false, true}
	}
	return []bool{false}
}

// attackByRun has `jphost run` start the attack, as a tool.
func (w *world) attackByRun(tier, grants string, args ...string) attempt {
	w.t.Helper()
	w.defineUnder(grants, append([]string{attackPath(w.t)}, args...)...)
	c := w.call(tier, "foreign")
	v := attempt{ran: c.ran}
	v.came = json.Unmarshal([]byte(c.Outcome.Content), &v) == nil && v.Attack == args[0]
	return v
}

func (c *trial) name() string {
	name := strings.NewReplacer("{", "", "}", "", "/", "_").Replace(c.does)
	if c.grants != "" {
		name += " (" + map[string]string{readOnly: "read only", withheld: "withheld", network: "network"}[c.grants] + ")"
	}
	return strings.ReplaceAll(name, " ", "-")
}

// Every attack works without a sandbox, and does not in it.
func TestSandboxAttacks(t *testing.T) {
	attackPath(t)
	eachUser(t, func(t *testing.T, user string) {
		for i := range trials {
			c := &trials[i]
			if c.only != "" && c.only != user {
				continue
			}
			t.Run(c.name(), func(t *testing.T) {
				control := c.try(t, user, uncontained, false)
				if !control.came {
					t.Fatalf("the control came to no verdict: %s", control.ran)
				}
				if !control.Worked {
					if !slices.Contains(strings.Fields(c.lacks), control.Errno) {
						t.Errorf("the attack does not work without a sandbox either, so it proves nothing: %s", control)
					} else {
						t.Logf("this kernel has no such thing: %s", control)
					}
				}
				for _, tier := range []string{landlocked, namespaces} {
					if c.tier != "" && c.tier != tier {
						continue
					}
					for _, byRun := range c.ways() {
						name := tier
						if byRun {
							name += "-run"
						}
						t.Run(name, func(t *testing.T) {
							needTier(t, user, tier)
							if abi, _ := landlock(); abi < c.since && (tier == landlocked || c.alike) {
								t.Skipf("not run: Landlock is version %d here, and holds this from %d on", abi, c.since)
							}
							got := c.try(t, user, tier, byRun)
							if !got.came && !c.dies {
								t.Errorf("no verdict, which proves nothing: %s", got.ran)
							}
							if tier == namespaces && strings.Contains(got.Detail, "nothing was tried") {
								t.Errorf("%s", got)
							}
							if got.Worked {
								t.Errorf("the attack worked: %s", got)
							}
						})
					}
				}
			})
		}
	})
}

// Without a tier being asked for, no program changes the mode of a file outside, whatever it may write.
func TestSandboxModesOutsideByDefault(t *testing.T) {
	eachUser(t, func(t *testing.T, user string) {
		needTier(t, user, namespaces)
		for _, grants := range []string{"", "--rw .", "--ro .", "--ro . --rw src/", "--ro . --grant path=src,read,create", "--rw docs"} {
			w := newWorld(t, user)
			key := w.home + "/.ssh/id_ed25519"
			if err := os.Chmod(key, 0o600); err != nil {
				t.Fatal(err)
			}
			open := func() bool {
				fi, err := os.Stat(key)
				return err != nil || fi.Mode() != 0o600
			}
			argv := []string{"/bin/chmod", "644", key}
			r := w.run(append(append([]string{filepath.Join(bin, "jphost"), "sandbox", "exec"}, strings.Fields(grants)...), append([]string{"--"}, argv...)...)...)
			if r.code == 0 || open() {
				t.Errorf("%q: the key was opened to everybody: %s", grants, r)
			}
			if r := w.run(argv...); r.code != 0 || !open() {
				t.Fatalf("the control did not work: %s", r)
			}
		}
	})
}
