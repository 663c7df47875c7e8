package linux

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// What programs expect around them and no rule names: directories for temporary files, pseudo-terminals, and a
// network in which they can speak to themselves. All of it is the call's own, and ends with it.

const (
	terminals   = "/dev/pts"
	controlling = "/dev/tty"
	hosts       = "/etc/hosts"
)

// free reports whether nothing of the host's tree comes to a path, above it or below.
func free(plan *fit.Plan, at string) bool {
	clear := func(p string) bool { return !fit.Holds(at, p) && !fit.Holds(p, at) }
	for _, n := range plan.Trees {
		if !clear(n.Path) {
			return false
		}
	}
	for _, g := range plan.Runtime {
		if !clear(g.Path) {
			return false
		}
	}
	return true
}

// temporary mounts a private directory for temporary files.
func (t *tree) temporary(at string) error {
	options := "mode=1777"
	if t.plan.Limits.Memory > 0 {
		options += ",size=" + strconv.FormatInt(t.plan.Limits.Memory, 10)
	}
	if err := t.parents(at + "/"); err != nil {
		return err
	}
	err := unix.Mount("temporary", base+at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	return failure.At(failure.Namespaces, "mounting a private temporary directory", "", err)
}

// ways makes the directories in the scratch directory that lead to places, each on a mount of its own which
// [tree.enter] makes read-only: the program may not rename them, or write beside a place that rules grant, as it may
// not elsewhere.
func (t *tree) ways() error {
	for _, p := range t.places {
		below, ok := strings.CutPrefix(p.Path, t.plan.Scratch+"/")
		first, _, deeper := strings.Cut(below, "/")
		dir := t.plan.Scratch + "/" + first
		there := slices.ContainsFunc(t.places, func(q *place) bool { return q.Path == dir })
		if !ok || !deeper || t.made[dir] || there {
			continue
		}
		err := t.parents(dir + "/")
		if err == nil {
			err = unix.Mount("way", base+dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m")
		}
		fd := -1
		if err == nil {
			fd, err = openDir(base + dir)
		}
		if err != nil {
			return failure.At(failure.Namespaces, "mounting a private temporary directory", "", err)
		}
		t.shut = append(t.shut, fd)
	}
	return nil
}

// terminals makes a file system of pseudo-terminals that has none yet: those of the host cannot be reached by number.
// Where the machine does not let it be made there are no terminals, and programs that want one say so.
func (t *tree) terminals() error {
	if !free(t.plan, terminals) {
		return nil
	}
	if err := t.parents(terminals + "/"); err != nil {
		return err
	}
	// All instances share the machine's number of terminals, so this one gets a part of it.
	const options = "newinstance,ptmxmode=0666,mode=0620,max=256"
	if unix.Mount("devpts", base+terminals, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, options) == nil {
		t.links = append(t.links, link{"/dev/ptmx", "pts/ptmx"})
	}
	return nil
}

// hosts writes the names of this machine for a network of the call's own. Those of the host's file may lead to
// addresses that are not there.
func (t *tree) hosts() error {
	if !t.plan.Net.Own || !free(t.plan, hosts) {
		return nil
	}
	if err := t.parents(hosts); err != nil {
		return err
	}
	text := "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n"
	name, err := os.Hostname()
	if err == nil && name != "" && name != "localhost" && !strings.ContainsAny(name, " \t\n#") {
		text += "127.0.1.1 " + name + "\n"
	}
	return failure.At(failure.Failed, "writing", hosts, os.WriteFile(base+hosts, []byte(text), 0o444))
}

// allowWorld has rules on what BuildTree has made besides the plan's own.
func (r *Ruleset) allowWorld(plan *fit.Plan) error {
	if plan.Scratch != "" {
		if err := r.allowMade(plan.Scratch, r.mapping.rights(jptool.AllCaps)); err != nil {
			return err
		}
	}
	if free(plan, terminals) {
		if err := r.allowMade(terminals, deviceRights|readRights); err != nil {
			return err
		}
		if err := r.allowMade(controlling, deviceRights); err != nil {
			return err
		}
	}
	if plan.Net.Own && free(plan, hosts) {
		return r.allowMade(hosts, readRights)
	}
	return nil
}

// allowMade allows something on what was made here, if it was.
func (r *Ruleset) allowMade(path string, rights uint64) error {
	fd, st, err := openPath(unix.AT_FDCWD, path)
	if failure.Is(err, failure.Changed) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.allowAndClose(fd, path, rights, st.Mode&unix.S_IFMT == unix.S_IFDIR)
}

// LoopbackUp switches on the loopback of this process's network, which is its own.
func LoopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
		var lo *unix.Ifreq
		if lo, err = unix.NewIfreq("lo"); err == nil {
			lo.SetUint16(unix.IFF_UP)
			err = unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
		}
	}
	return failure.At(failure.Failed, "switching on the loopback", "", err)
}
