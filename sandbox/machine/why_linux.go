package machine

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Every explanation is a line that says why, and lines that say what to change.

func (s *system) whyLandlock(err error) string {
	release := s.release()
	var major, minor int
	n, _ := fmt.Sscanf(release, "%d.%d", &major, &minor)
	switch {
	case err == unix.EOPNOTSUPP:
		order := "landlock,…"
		if lsm, ok := s.read("/sys/kernel/security/lsm"); ok && lsm != "" {
			order = "landlock," + lsm
		}
		why := "this kernel has Landlock, but it was not switched on at boot\n"
		if strings.Contains(strings.ToLower(release), "microsoft") {
			return why + "write kernelCommandLine=lsm=" + order + " below [wsl2] in .wslconfig, then run: wsl --shutdown"
		}
		return why + "add lsm=" + order + " to the kernel's boot parameters (the names after landlock are those that are on now)"
	case err == unix.EPERM || err == unix.EACCES:
		return "a system call filter refuses Landlock, as of an old container engine\nupdate the engine (Docker 20.10.10 or newer allows it), or allow the landlock_* calls in its profile"
	case err != unix.ENOSYS:
		return fmt.Sprintf("the kernel answered %v to the question for Landlock", err)
	case strings.HasSuffix(release, "-Microsoft"):
		return "WSL 1 has no Linux kernel, and so no Landlock\nconvert it: wsl --set-version DISTRIBUTION 2"
	case n == 2 && (major < 5 || major == 5 && minor < 13):
		return "Linux " + release + " is older than Landlock\nuse Linux 5.13 or newer; 6.12 or newer to hold all of a policy"
	}
	return "Linux " + release + " was built without Landlock\nuse a kernel with CONFIG_SECURITY_LANDLOCK=y"
}

func (s *system) whySeccomp(err error) string {
	switch err {
	case unix.EINVAL, unix.ENOSYS:
		return "this kernel was built without system call filters\nuse a kernel with CONFIG_SECCOMP_FILTER=y"
	case unix.EPERM, unix.EACCES:
		return "something forbids system call filters here, as a container does\nallow prctl and seccomp in its profile"
	}
	return fmt.Sprintf("the kernel answered %v to the question for system call filters", err)
}

// whySysctl explains a system control that forbids namespaces.
func (s *system) whySysctl(path, value string) string {
	name := strings.ReplaceAll(strings.TrimPrefix(path, "/proc/sys/"), "/", ".")
	who := "nobody may make them"
	if path == unprivileged {
		who = "only root may make them"
	}
	return fmt.Sprintf("%s is 0: %s\nsudo sysctl -w %s=%s\nto keep it: echo '%s=%s' | sudo tee /etc/sysctl.d/60-jphost.conf", name, who, name, value, name, value)
}

func (s *system) whyAppArmor() string {
	return "AppArmor takes all rights from user namespaces of programs without a profile (kernel.apparmor_restrict_unprivileged_userns is 1)\n" +
		"give jphost a profile; as root, write /etc/apparmor.d/jphost:\n" +
		"  abi <abi/4.0>,\n" +
		"  include <tunables/global>\n" +
		"  profile jphost " + profilePath(s.program()) + " flags=(unconfined) {\n" +
		"    userns,\n" +
		"  }\n" +
		"and load it: sudo apparmor_parser -r /etc/apparmor.d/jphost\n" +
		"or, for all programs: sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
}

// profilePath writes a path as AppArmor's language takes it literally.
func profilePath(path string) string {
	escaped := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`, "^", `\^`, "@", `\@`).Replace(path)
	if strings.ContainsAny(path, " \t,#\"") {
		return `"` + escaped + `"`
	}
	return escaped
}

// whyAttempt explains an attempt that failed.
func (s *system) whyAttempt(a Attempt, getenv func(string) string) string {
	if why := s.forbidden(); why != "" {
		return why
	}
	refused := a.Errno == int(unix.EPERM) || a.Errno == int(unix.EACCES)
	if v, _ := s.read(appArmorUser); refused && a.Step != StepClone && v != "" && v != "0" {
		return s.whyAppArmor()
	}
	name, _ := s.container(getenv)
	why := "refused: " + a.String()
	switch {
	case a.Errno == int(unix.ENOSPC):
		return why + "\none of the limits user.max_*_namespaces is used up or 0\nraise it, for instance: sudo sysctl -w user.max_net_namespaces=15000"
	case a.Errno == int(unix.EINVAL) || a.Errno == int(unix.ENOSYS):
		return why + "\nuse a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_IPC_NS and CONFIG_NET_NS"
	case !refused:
		return why
	}
	if change := engineChange[name]; change != "" {
		return why + "\n" + change
	}
	if s.filtered() {
		return why + "\na system call filter is in place already: jphost seems to run inside of a sandbox\nstart it outside, or allow clone with namespace flags, mount and pivot_root there"
	}
	return why + "\nsomething forbids it: a chroot, a security module such as SELinux, or a sandbox that jphost was started in; see the kernel's log"
}

const loosens = "\nthat makes the container's own walls weaker; without it tools are held by Landlock, and jphost says what that leaves open"

// engineChange says for each kind of container what lets it make namespaces.
var engineChange = map[string]string{
	another:      "jphost was started inside of a sandbox of jphost, where no program makes namespaces\nstart it outside",
	"docker":     "start the container with: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined" + loosens,
	"podman":     "start the container with: --security-opt seccomp=unconfined --security-opt unmask=ALL" + loosens,
	"kubernetes": "in the pod's specification: hostUsers: false, and in the container's securityContext: procMount: Unmasked, seccompProfile: {type: Unconfined}" + loosens,
	"lxc":        "in the container's configuration: lxc.include = /usr/share/lxc/config/nesting.conf (incus and lxd: security.nesting=true)" + loosens,
	"flatpak":    "install jphost outside of Flatpak: programs in it cannot make namespaces",
	"snap":       "install jphost outside of the snap: programs in it cannot make namespaces",
	"gvisor":     "gVisor holds the container itself; run jphost outside of it, or be content with what it holds",
}
