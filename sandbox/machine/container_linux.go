package machine

import (
	"cmp"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// container tells what this system runs in, and by what that was told; two empty texts if it
// looks like a machine of its own. It is for explanations: nothing is decided by it.
func (s *system) container(getenv func(string) string) (name, by string) {
	release := strings.ToLower(s.release())
	switch name, by = s.engine(getenv); {
	case name != "" || !strings.Contains(release, "microsoft"):
		return name, by
	case strings.Contains(release, "wsl2") || strings.Contains(release, "microsoft-standard"):
		return "wsl2", "the kernel's release"
	}
	return "wsl1", "the kernel's release"
}

// cgroupEngine finds the first engine that a name in the path of a control group begins with: /docker/…,
// /user.slice/libpod-….scope, /docker-….scope. A longer word is another one: /dockerx, /docker_x.
const cgroupEngine = `[/:-](docker|libpod|kubepods|containerd|lxc|crio|buildkit|garden)(?:\W|$)`

// another is the name of a sandbox that jphost made: it is not told from others by what it forbids.
const another = "jphost"

// ownDir reports whether a directory for temporary files is one that jphost makes for a call.
func ownDir(dir string) bool {
	return strings.HasPrefix(filepath.Base(filepath.Dir(dir)), "jphost-") || strings.HasPrefix(filepath.Base(dir), "jphost-")
}

// mounts has the line of a private tree that jphost makes.
const mounts = "/proc/self/mounts"

func (s *system) engine(getenv func(string) string) (name, by string) {
	podman, isPodman := s.read("/run/.containerenv")
	systemd, _ := s.read("/run/systemd/container") // for everybody; PID 1's own environment is not readable
	first, _ := s.read("/proc/1/comm")
	tree, _ := s.read(mounts)
	switch {
	case s.filtered() && strings.Contains("\n"+tree, "\nprivate / tmpfs "):
		return another, mounts
	// A sandbox of jphost shows the marks of the container around it. A container's own TMPDIR is not like that.
	case s.filtered() && ownDir(getenv("TMPDIR")):
		return another, "TMPDIR"
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		return "kubernetes", "KUBERNETES_SERVICE_HOST"
	case isPodman && podman != "" && !strings.Contains(podman, "podman"):
		return "container", "/run/.containerenv"
	case isPodman:
		return "podman", "/run/.containerenv"
	case !s.missing("/.dockerenv"):
		return "docker", "/.dockerenv"
	case !s.missing("/.flatpak-info"):
		return "flatpak", "/.flatpak-info"
	case getenv("SNAP") != "" && getenv("SNAP_NAME") != "":
		return "snap", "SNAP"
	case systemd != "":
		return known(systemd), "/run/systemd/container"
	case getenv("container") != "":
		return known(getenv("container")), "the variable container"
	case s.filtered() && first == another: // in a process space of its own
		return another, "/proc/1/comm"
	}
	for _, path := range []string{"/proc/self/cgroup", "/proc/1/cgroup"} {
		v, _ := s.read(path)
		if m := regexp.MustCompile(cgroupEngine).FindStringSubmatch(v); m != nil {
			named := map[string]string{
				"docker": "docker", "lxc": "lxc", "libpod": "podman", "kubepods": "kubernetes", "crio": "kubernetes",
			}
			return cmp.Or(named[m[1]], "container"), path
		}
	}
	if v, _ := s.read("/proc/version"); strings.Contains(v, "gVisor") ||
		strings.HasPrefix(v, "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016") {
		return "gvisor", "/proc/version"
	}
	if !s.missing("/proc/vz") && s.missing("/proc/bc") {
		return "openvz", "/proc/vz"
	}
	return "", ""
}

// known makes one of the names above of what systemd calls a container.
func known(name string) string {
	switch {
	case strings.HasPrefix(name, "lxc"):
		return "lxc"
	case name == "oci":
		return "container"
	}
	return name
}

// distribution is the PRETTY_NAME of os-release, else its NAME.
func (s *system) distribution() string {
	text, ok := s.read("/etc/os-release")
	if !ok {
		text, _ = s.read("/usr/lib/os-release")
	}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[key] = strings.Trim(value, `"'`)
	}
	return cmp.Or(values["PRETTY_NAME"], values["NAME"])
}

func (s *system) describe(getenv func(string) string) Details {
	d := Details{
		OS: runtime.GOOS, Kernel: s.release(), Arch: s.arch, Distribution: s.distribution(),
		AppArmor: s.label(), Filtered: s.filtered(),
	}
	d.Container, d.ContainerBy = s.container(getenv)
	// Kernels before 6.15 do not know the question, and answer EINVAL.
	if errata, err := s.landlock(unix.LANDLOCK_CREATE_RULESET_ERRATA); err == nil {
		for bit := range 31 {
			if errata>>bit&1 != 0 {
				d.Errata = append(d.Errata, bit+1)
			}
		}
	}
	return d
}
