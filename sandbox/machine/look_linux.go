package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
)

// system is the computer as it can be asked; tests put their own in its place.
type system struct {
	// root is put before the paths of files; empty for the real ones.
	root string
	// landlock is landlock_create_ruleset(NULL, 0, flags).
	landlock func(flags uintptr) (int, error)
	// seccomp tells whether filters can be installed, filtered whether one was.
	seccomp  func() error
	filtered func() bool
	// notify tells whether filters can announce calls.
	notify func() error
	// privileged: CAP_SYS_ADMIN, which none of the limits for ordinary users stops.
	privileged func() bool
	release    func() string
	arch       string
	// program is the canonical path of jphost.
	program func() string
}

var kernel = system{
	landlock: func(flags uintptr) (int, error) {
		n, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, flags)
		if errno != 0 {
			return 0, errno
		}
		return int(n), nil
	},
	// Without a program there is nothing to install, and EFAULT says that one would have been. It is asked by the call
	// that installs it: a filter around this process may refuse that, and not prctl(2), which could do it as well.
	seccomp: func() error {
		if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, 0); errno != unix.EFAULT {
			return errno
		}
		return nil
	},
	notify: func() error {
		action := uint32(unix.SECCOMP_RET_USER_NOTIF)
		const ask = unix.SECCOMP_GET_ACTION_AVAIL
		if _, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, ask, 0, uintptr(unsafe.Pointer(&action))); errno != 0 {
			return errno
		}
		return nil
	},
	filtered: func() bool {
		mode, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
		return err != nil || mode != 0
	},
	privileged: func() bool {
		hdr := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		return unix.Capget(&hdr, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
	},
	release: func() string {
		var u unix.Utsname
		if unix.Uname(&u) != nil {
			return ""
		}
		return unix.ByteSliceToString(u.Release[:])
	},
	arch: runtime.GOARCH,
	program: func() string {
		path, err := os.Executable()
		if err != nil {
			return "/usr/local/bin/jphost"
		}
		return path
	},
}

// The system controls that decide over user namespaces; the last two exist on some
// distributions only.
const (
	maxUser      = "/proc/sys/user/max_user_namespaces"
	unprivileged = "/proc/sys/kernel/unprivileged_userns_clone"
	appArmorUser = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
)

// alone looks for what Landlock and the filter can do without namespaces.
func (s *system) alone() Info {
	i := Info{Machine: fit.Machine{Why: map[string]string{}}}
	m := &i.Machine
	if s.arch != "amd64" && s.arch != "arm64" {
		// What starts a held program (package sysprog) is written for these two.
		for _, key := range []string{Landlock, Seccomp, Namespaces} {
			m.Why[key] = "there is no sandbox for " + s.arch + " yet\nuse amd64 or arm64, or keep tools at run = \"ask\""
		}
		return i
	}
	var err error
	if m.Landlock, err = s.landlock(unix.LANDLOCK_CREATE_RULESET_VERSION); err != nil {
		m.Landlock, m.Why[Landlock] = 0, s.whyLandlock(err)
	}
	if err := s.seccomp(); err != nil {
		m.Why[Seccomp] = s.whySeccomp(err)
	} else {
		m.Seccomp = true
		if err := s.notify(); err != nil {
			m.Why[Notify] = fmt.Sprintf("system call filters cannot announce calls here (%v)\nuse Linux 5.14 or newer", err)
		} else {
			m.Notify = true
		}
	}
	return i
}

func (s *system) look() Info {
	i := s.alone()
	m := &i.Machine
	if m.Why[Namespaces] != "" {
		return i
	}
	if why := s.forbidden(); why != "" {
		m.Why[Namespaces] = why
		return i
	}
	m.Namespaces = true
	if i.Doubt = s.doubt(); i.Doubt != "" {
		i.Key = s.key()
	}
	return i
}

// forbidden says why namespaces cannot be made, as far as that is written somewhere.
func (s *system) forbidden() string {
	limit, found := s.read(maxUser)
	switch {
	case !found && s.missing("/proc/self"):
		return "there is no /proc here\nmount it: mount -t proc proc /proc"
	case !found && s.missing("/proc/self/ns/user"):
		return "this kernel was built without user namespaces\nuse a kernel with CONFIG_USER_NS=y"
	case limit == "0":
		return s.whySysctl(maxUser, "15000")
	case s.privileged():
		return ""
	}
	if v, _ := s.read(unprivileged); v == "0" {
		return s.whySysctl(unprivileged, "1")
	}
	// A profile of its own may allow them to a program, so that only `unconfined` is sure.
	if v, _ := s.read(appArmorUser); v != "" && v != "0" && s.label() == "unconfined" {
		return s.whyAppArmor()
	}
	return ""
}

// doubt says what may forbid namespaces although it is written nowhere.
func (s *system) doubt() string {
	if s.filtered() {
		return "a system call filter is in place already, as in a container"
	}
	// This is what the kernel calls the user namespace that it starts with.
	if ns, err := os.Readlink(s.root + "/proc/self/ns/user"); err != nil || ns != "user:[4026531837]" {
		return "jphost is in a user namespace itself, as in a container"
	}
	if v, _ := s.read(appArmorUser); v != "" && v != "0" && !s.privileged() {
		return "the AppArmor profile " + strconv.Quote(s.label()) + " decides"
	}
	return ""
}

// key is what the answer of an attempt depends on.
func (s *system) key() string {
	var b strings.Builder
	for _, path := range []string{"/proc/sys/kernel/random/boot_id", maxUser, unprivileged, appArmorUser} {
		v, _ := s.read(path)
		b.WriteString(v + ";")
	}
	user, _ := os.Readlink(s.root + "/proc/self/ns/user")
	// In a chroot they are refused, and seccomp modes do not tell one filter from another.
	var root unix.Stat_t
	_ = unix.Stat(s.root+"/", &root)
	fmt.Fprintf(&b, "%s;%s;%d;%t;%t;%d:%d;%s", s.label(), user, unix.Geteuid(), s.privileged(), s.filtered(), root.Dev, root.Ino, s.program())
	return b.String()
}

// label is the AppArmor profile of this process without its mode, or empty.
func (s *system) label() string {
	v, ok := s.read("/proc/self/attr/apparmor/current")
	if !ok || v == "" {
		v, _ = s.read("/proc/self/attr/current")
	}
	v = strings.TrimRight(v, "\x00")
	if i := strings.LastIndex(v, " ("); i > 0 {
		v = v[:i]
	}
	return v
}

// read returns a small file without the white space around its content.
func (s *system) read(path string) (string, bool) {
	text, err := os.ReadFile(s.root + path)
	return strings.TrimSpace(string(text)), err == nil
}

func (s *system) missing(path string) bool {
	_, err := os.Lstat(s.root + path)
	return errors.Is(err, fs.ErrNotExist)
}
