package machine

import (
	"path/filepath"
	"regexp"
	"strings"
)

// container tells what this system runs in, and by what that was told; two empty texts if it
// looks like a machine of its own. It is for explanations: nothing is decided by it.
func (s *system) container(getenv func(string) string) (name, by string) {
	// WSL first: inside of it there may be a container, but it is WSL's kernel that counts
	// when something is missing, and its containers leave their own marks below.
	if release := strings.ToLower(s.release()); strings.Contains(release, "microsoft") {
		if inner, by := s.engine(getenv); inner != "" {
			return inner, by
		}
		if strings.Contains(release, "wsl2") || strings.Contains(release, "microsoft-standard") {
			return "wsl2", "the kernel's release"
		}
		return "wsl1", "the kernel's release"
	}
	return s.engine(getenv)
}

// cgroupEngine is the first engine that a name in the path of a control group begins with: /docker/…,
// /user.slice/libpod-….scope, /docker-….scope. A longer word is another one: /dockerx, /docker_x.
func cgroupEngine(text string) string {
	named := regexp.MustCompile(`[/:-](docker|libpod|kubepods|containerd|lxc|crio|buildkit|garden)(?:\W|$)`)
	if m := named.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}

// another is the name of a sandbox that jphost made: it is not told from others by what it forbids.
const another = "jphost"

// ownDir reports whether a directory for temporary files is one that jphost makes for a call.
func ownDir(dir string) bool {
	return dir == "/run/jphost" || strings.HasPrefix(filepath.Base(filepath.Dir(dir)), "jphost-") || strings.HasPrefix(filepath.Base(dir), "jphost-")
}

func (s *system) engine(getenv func(string) string) (name, by string) {
	// A sandbox of jphost shows the marks of the container around it. A container's own TMPDIR is not like that.
	if s.filtered() && ownDir(getenv("TMPDIR")) {
		return another, "TMPDIR"
	}
	if getenv("KUBERNETES_SERVICE_HOST") != "" {
		return "kubernetes", "KUBERNETES_SERVICE_HOST"
	}
	if v, ok := s.read("/run/.containerenv"); ok {
		if !strings.Contains(v, "podman") && v != "" {
			return "container", "/run/.containerenv"
		}
		return "podman", "/run/.containerenv"
	}
	if !s.missing("/.dockerenv") {
		return "docker", "/.dockerenv"
	}
	if !s.missing("/.flatpak-info") {
		return "flatpak", "/.flatpak-info"
	}
	if getenv("SNAP") != "" && getenv("SNAP_NAME") != "" {
		return "snap", "SNAP"
	}
	// systemd writes it down for everybody; PID 1's own environment is not readable.
	if v, ok := s.read("/run/systemd/container"); ok && v != "" {
		return known(v), "/run/systemd/container"
	}
	if v := getenv("container"); v != "" {
		return known(v), "the variable container"
	}
	if v, _ := s.read("/proc/1/comm"); s.filtered() && v == another { // in a process space of its own
		return another, "/proc/1/comm"
	}
	for _, path := range []string{"/proc/self/cgroup", "/proc/1/cgroup"} {
		v, _ := s.read(path)
		switch engine := cgroupEngine(v); engine {
		case "":
		case "libpod":
			return "podman", path
		case "kubepods", "crio":
			return "kubernetes", path
		case "docker", "lxc":
			return engine, path
		default:
			return "container", path
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
	name := ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		value = strings.Trim(value, `"'`)
		switch {
		case key == "PRETTY_NAME" && value != "":
			return value
		case key == "NAME":
			name = value
		}
	}
	return name
}
