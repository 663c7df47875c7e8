package machine

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// files of a computer, by path; a value that begins with "-> " is a link.
type files map[string]string

func tree(t testing.TB, f files) string {
	t.Helper()
	root := t.TempDir()
	for _, path := range slices.Sorted(maps.Keys(f)) {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(f[path], "-> "); ok {
			err = os.Symlink(to, at)
		} else {
			err = os.WriteFile(at, []byte(f[path]), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// fake is a good computer of an ordinary user: Landlock 7, filters, namespaces.
func fake(t testing.TB, f files, change ...func(*system)) *system {
	t.Helper()
	all := files{
		"/proc/self/ns/user": "-> user:[4026531837]", "/proc/sys/user/max_user_namespaces": "1000\n",
		"/proc/sys/kernel/random/boot_id": "boot\n",
	}
	maps.Copy(all, f)
	for path, text := range all {
		if text == "none" {
			delete(all, path)
		}
	}
	s := &system{
		root: tree(t, all), arch: "amd64",
		landlock: func(flags uintptr) (int, error) {
			if flags == unix.LANDLOCK_CREATE_RULESET_ERRATA {
				return 0b101, nil
			}
			return 7, nil
		},
		seccomp: func() error { return nil }, notify: func() error { return nil }, filtered: func() bool { return false }, privileged: func() bool { return false },
		release: func() string { return "6.18.1" }, program: func() string { return "/opt/jp tools/jphost" },
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func filtered(s *system)   { s.filtered = func() bool { return true } }
func privileged(s *system) { s.privileged = func() bool { return true } }

func landlock(err error, release string) func(*system) {
	return func(s *system) {
		s.landlock = func(uintptr) (int, error) { return 0, err }
		s.release = func() string { return release }
	}
}

func TestLook(t *testing.T) {
	restricted := files{appArmorUser: "1\n", "/proc/self/attr/apparmor/current": "unconfined\n"}
	for _, c := range []struct {
		name   string
		system *system
		// lacks are the keys of Why, with words that must be in them.
		lacks map[string][]string
		doubt string
	}{
		{name: "all", system: fake(t, nil)},
		{name: "no landlock in an old kernel", system: fake(t, nil, landlock(unix.ENOSYS, "5.10.0-30-amd64")), lacks: map[string][]string{Landlock: {"5.10.0-30-amd64 is older", "5.13 or newer", "6.12 or newer to hold all"}}},
		{name: "no landlock built", system: fake(t, nil, landlock(unix.ENOSYS, "6.1.0")), lacks: map[string][]string{Landlock: {"built without Landlock", "CONFIG_SECURITY_LANDLOCK"}}},
		{name: "landlock off at boot", system: fake(t, files{"/sys/kernel/security/lsm": "capability,yama,apparmor"}, landlock(unix.EOPNOTSUPP, "6.8.0")), lacks: map[string][]string{Landlock: {"not switched on at boot", "lsm=landlock,capability,yama,apparmor"}}},
		{name: "landlock off on WSL 2", system: fake(t, nil, landlock(unix.EOPNOTSUPP, "6.6.87.2-microsoft-standard-WSL2")), lacks: map[string][]string{Landlock: {".wslconfig", "wsl --shutdown"}}},
		{name: "WSL 1", system: fake(t, nil, landlock(unix.ENOSYS, "4.4.0-19041-Microsoft")), lacks: map[string][]string{Landlock: {"WSL 1", "--set-version"}}},
		{name: "landlock filtered", system: fake(t, nil, landlock(unix.EPERM, "6.1.0")), lacks: map[string][]string{Landlock: {"filter refuses", "Docker"}}},
		{name: "no filters", system: fake(t, nil, func(s *system) { s.seccomp = func() error { return unix.EINVAL } }), lacks: map[string][]string{Seccomp: {"CONFIG_SECCOMP_FILTER"}}},
		{name: "nothing announced", system: fake(t, nil, func(s *system) { s.notify = func() error { return unix.EOPNOTSUPP } }), lacks: map[string][]string{Notify: {"announce"}}},
		{name: "filters forbidden", system: fake(t, nil, func(s *system) { s.seccomp = func() error { return unix.EPERM } }), lacks: map[string][]string{Seccomp: {"forbids"}}},
		{name: "no sandbox for this architecture", system: fake(t, nil, func(s *system) { s.arch = "riscv64" }), lacks: map[string][]string{Landlock: {"riscv64"}, Seccomp: {"riscv64"}, Namespaces: {"riscv64"}}},
		{name: "none allowed", system: fake(t, files{maxUser: "0\n"}), lacks: map[string][]string{Namespaces: {"user.max_user_namespaces is 0", "nobody", "sudo sysctl -w user.max_user_namespaces=15000"}}},
		{name: "none allowed for root either", system: fake(t, files{maxUser: "0\n"}, privileged), lacks: map[string][]string{Namespaces: {"user.max_user_namespaces"}}},
		{name: "Debian's switch", system: fake(t, files{unprivileged: "0\n"}), lacks: map[string][]string{Namespaces: {"sudo sysctl -w kernel.unprivileged_userns_clone=1", "only root"}}},
		{name: "Debian's switch is not for root", system: fake(t, files{unprivileged: "0\n"}, privileged)},
		{name: "Debian's switch on", system: fake(t, files{unprivileged: "1\n"})},
		{name: "not built", system: fake(t, files{maxUser: "none", "/proc/self/ns/user": "none", "/proc/self/status": ""}), lacks: map[string][]string{Namespaces: {"CONFIG_USER_NS"}}},
		{name: "no proc", system: fake(t, files{maxUser: "none", "/proc/self/ns/user": "none"}), lacks: map[string][]string{Namespaces: {"mount -t proc"}}},
		{name: "Ubuntu 24.04", system: fake(t, restricted), lacks: map[string][]string{Namespaces: {
			"apparmor_restrict_unprivileged_userns is 1", "profile jphost \"/opt/jp tools/jphost\" flags=(unconfined) {", "userns,", "apparmor_parser -r",
		}}},
		{name: "Ubuntu 24.04, root", system: fake(t, restricted, privileged)},
		{name: "Ubuntu 24.04, switched off", system: fake(t, files{appArmorUser: "0\n", "/proc/self/attr/apparmor/current": "unconfined\n"})},
		{name: "Ubuntu 24.04, with a profile", system: fake(t, files{appArmorUser: "1\n", "/proc/self/attr/current": "jphost (unconfined)\n"}), doubt: `profile "jphost" decides`},
		{name: "a rootless container", system: fake(t, files{"/proc/self/ns/user": "-> user:[4026532300]"}, privileged), doubt: "in a user namespace itself"},
		{name: "a container's filter", system: fake(t, nil, filtered), doubt: "filter is in place"},
	} {
		i := c.system.look()
		alone, rest := c.system.alone(), clone(i.Machine)
		if rest.Namespaces = false; alone.Machine.Why[Namespaces] == "" {
			delete(rest.Why, Namespaces)
		}
		if diff := cmp.Diff(Info{Machine: rest}, alone); diff != "" {
			t.Errorf("%s: without namespaces: -want +got\n%s", c.name, diff)
		}
		want := slices.Sorted(maps.Keys(c.lacks))
		if got := slices.Sorted(maps.Keys(i.Machine.Why)); !slices.Equal(got, want) {
			t.Errorf("%s: lacks %q, want %q: %v", c.name, got, want, i.Machine.Why)
			continue
		}
		for key, words := range c.lacks {
			why := i.Machine.Why[key]
			for _, w := range words {
				if !strings.Contains(why, w) {
					t.Errorf("%s: %q is not in\n%s", c.name, w, why)
				}
			}
			if !strings.Contains(why, "\n") {
				t.Errorf("%s: %q does not say what to change", c.name, why)
			}
		}
		_, noLandlock := c.lacks[Landlock]
		_, noSeccomp := c.lacks[Seccomp]
		_, noNamespaces := c.lacks[Namespaces]
		if m := i.Machine; (m.Landlock == 0) != noLandlock || m.Seccomp == noSeccomp || m.Namespaces == noNamespaces {
			t.Errorf("%s: %+v", c.name, m)
		}
		if !strings.Contains(i.Doubt, c.doubt) || (i.Doubt != "") != (c.doubt != "") || (i.Key != "") != (c.doubt != "") {
			t.Errorf("%s: doubt %q, key %q", c.name, i.Doubt, i.Key)
		}
	}
}

// The key of an answer changes with all that the answer depends on.
func TestKey(t *testing.T) {
	base := func(change ...func(*system)) *system { return fake(t, nil, append(change, filtered)...) }
	write := func(path, text string) func(*system) {
		return func(s *system) {
			_ = os.MkdirAll(filepath.Dir(s.root+path), 0o755)
			if err := os.WriteFile(s.root+path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	one := base()
	seen := map[string]string{one.look().Key: "nothing changed"}
	if again := one.look().Key; seen[again] == "" {
		t.Errorf("the key of one system changed to %q", again)
	}
	for name, change := range map[string]func(*system){
		"boot":    write("/proc/sys/kernel/random/boot_id", "other"),
		"limit":   write(maxUser, "2"),
		"profile": write("/proc/self/attr/current", "jphost (enforce)"),
		"program": func(s *system) { s.program = func() string { return "/elsewhere" } },
		"rights":  privileged,
	} {
		// The same root otherwise: another one has another inode.
		s := *one
		change(&s)
		key := s.look().Key
		if other := seen[key]; other != "" {
			t.Errorf("%s: the key is that of %s: %q", name, other, key)
		}
		seen[key] = name
	}
}

func TestSettle(t *testing.T) {
	i := fake(t, nil, filtered).look()
	if m := i.Settle(Attempt{}); !m.Namespaces || len(m.Why) != 0 {
		t.Errorf("after an attempt that worked: %+v", m)
	}
	if m := i.Settle(Attempt{StepMount, int(unix.EPERM)}); m.Namespaces || m.Why[Namespaces] == "" {
		t.Errorf("after an attempt that failed: %+v", m)
	}
	if !i.Machine.Namespaces || len(i.Machine.Why) != 0 {
		t.Errorf("the look was changed: %+v", i.Machine)
	}
	// A look that knows they are missing is not overruled.
	no := fake(t, files{maxUser: "0"}).look()
	if m := no.Settle(Attempt{}); m.Namespaces {
		t.Error("an attempt gave what the look had denied")
	}
}

func TestWhyAttempt(t *testing.T) {
	none := func(string) string { return "" }
	eperm := int(unix.EPERM)
	inner := fake(t, files{"/.dockerenv": ""}, filtered).whyAttempt(Attempt{StepClone, eperm}, func(k string) string {
		return map[string]string{"TMPDIR": "/tmp/jphost-0/123-abc"}[k]
	})
	if !strings.Contains(inner, "inside of a sandbox of jphost") || strings.Contains(inner, "container") {
		t.Errorf("in a sandbox of jphost in Docker: %s", inner)
	}
	for _, c := range []struct {
		name   string
		system *system
		a      Attempt
		want   []string
	}{
		{"docker", fake(t, files{"/.dockerenv": ""}, filtered), Attempt{StepClone, eperm}, []string{"operation not permitted", "--security-opt seccomp=unconfined", "systempaths=unconfined", "weaker"}},
		{"podman", fake(t, files{"/run/.containerenv": "engine=\"podman-5.0\"\n"}, filtered), Attempt{StepProc, eperm}, []string{"mounting /proc", "unmask=ALL"}},
		{"another sandbox", fake(t, nil, filtered), Attempt{StepClone, eperm}, []string{"inside of a sandbox"}},
		{"a security module", fake(t, nil), Attempt{StepMount, int(unix.EACCES)}, []string{"SELinux"}},
		{"a used up limit", fake(t, nil), Attempt{StepClone, int(unix.ENOSPC)}, []string{"user.max_net_namespaces"}},
		{"a kernel without", fake(t, nil), Attempt{StepClone, int(unix.EINVAL)}, []string{"CONFIG_PID_NS"}},
		{"a profile that takes rights", fake(t, files{appArmorUser: "1", "/proc/self/attr/current": "vscode (unconfined)"}), Attempt{StepMap, eperm}, []string{"userns,", "apparmor_parser"}},
	} {
		why := c.system.whyAttempt(c.a, none)
		for _, w := range c.want {
			if !strings.Contains(why, w) {
				t.Errorf("%s: %q is not in\n%s", c.name, w, why)
			}
		}
	}
	if text := (Attempt{StepMap, eperm}).String(); text != "mapping the user into the namespace: operation not permitted" {
		t.Error(text)
	}
}

func TestContainer(t *testing.T) {
	for _, c := range []struct {
		name    string
		files   files
		env     map[string]string
		release string
		want    string
	}{
		{"a machine", nil, nil, "", ""},
		{"Docker's file", files{"/.dockerenv": ""}, nil, "", "docker"},
		{"Docker's group", files{"/proc/self/cgroup": "12:pids:/docker/6b1f\n0::/docker/6b1f\n"}, nil, "", "docker"},
		{"Docker under systemd", files{"/proc/1/cgroup": "0::/system.slice/docker-6b1f.scope\n"}, nil, "", "docker"},
		{"Podman with a root", files{"/run/.containerenv": "engine=\"podman-4.3.1\"\nname=\"x\"\n"}, nil, "", "podman"},
		{"Podman", files{"/run/.containerenv": ""}, nil, "", "podman"},
		{"Docker in a name with an escape", files{"/proc/1/cgroup": "0::/system.slice/docker\\x2d6b1f.scope\n"}, nil, "", "docker"},
		{"LXC", files{"/proc/1/cgroup": "0::/lxc+web\n"}, nil, "", "lxc"},
		{"a name with more letters", files{"/proc/1/cgroup": "0::/lxc_web:/dockerX\n"}, nil, "", ""},
		{"Podman's group", files{"/proc/self/cgroup": "0::/machine.slice/libpod-77.scope/container\n"}, nil, "", "podman"},
		{"Kubernetes", files{"/proc/self/cgroup": "0::/kubepods/besteffort/pod1/2\n"}, nil, "", "kubernetes"},
		{"Kubernetes' variable", files{"/.dockerenv": ""}, map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "", "kubernetes"},
		{"LXC", files{"/run/systemd/container": "lxc-libvirt\n"}, nil, "", "lxc"},
		{"nspawn", nil, map[string]string{"container": "systemd-nspawn"}, "", "systemd-nspawn"},
		{"Flatpak", files{"/.flatpak-info": "[Application]\n"}, nil, "", "flatpak"},
		{"gVisor", files{"/proc/version": "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"}, nil, "", "gvisor"},
		{"jphost in Docker", files{"/.dockerenv": ""}, map[string]string{"TMPDIR": "/tmp/jphost-1000/123-abc"}, "", "jphost"},
		{"jphost where its directory is taken", nil, map[string]string{"TMPDIR": "/var/tmp/jphost-123-abc"}, "", "jphost"},
		{"jphost with namespaces", files{"/proc/self/mounts": "/dev/vda /usr ext4 ro 0 0\nprivate / tmpfs ro,nosuid 0 0\n"}, map[string]string{"TMPDIR": "/tmp"}, "", "jphost"},
		{"jphost with namespaces and a /tmp", files{"/proc/1/comm": "jphost\n"}, map[string]string{"TMPDIR": "/tmp"}, "", "jphost"},
		{"jphost as all of a container", files{"/.dockerenv": "", "/proc/1/comm": "jphost\n"}, nil, "", "docker"},
		{"WSL 2", nil, nil, "6.6.87.2-microsoft-standard-WSL2", "wsl2"},
		{"WSL 1", nil, nil, "4.4.0-19041-Microsoft", "wsl1"},
		{"Docker on WSL 2", files{"/.dockerenv": ""}, nil, "6.6.87.2-microsoft-standard-WSL2", "docker"},
		{"a name that looks like one", files{"/proc/self/cgroup": "0::/user.slice/app-dockery.scope\n"}, nil, "", ""},
	} {
		s := fake(t, c.files, filtered)
		if c.release != "" {
			s.release = func() string { return c.release }
		}
		name, by := s.container(func(k string) string { return c.env[k] })
		if name != c.want || (by == "") != (name == "") {
			t.Errorf("%s: %q by %q, want %q", c.name, name, by, c.want)
		}
	}
	// What was only left in the environment says nothing where nothing is forbidden.
	if name, _ := fake(t, nil).container(func(string) string { return "/tmp/jphost-0/1-a" }); name == "jphost" {
		t.Error("TMPDIR alone makes a sandbox")
	}
}

func TestDescribe(t *testing.T) {
	s := fake(t, files{"/etc/os-release": "NAME=\"X\"\nPRETTY_NAME=\"X Linux 1\"\n", "/proc/self/attr/current": "unconfined\n"})
	d := s.describe(func(string) string { return "" })
	if d.Distribution != "X Linux 1" || d.AppArmor != "unconfined" || !slices.Equal(d.Errata, []int{1, 3}) || d.Kernel != "6.18.1" {
		t.Errorf("%+v", d)
	}
	old := fake(t, files{"/usr/lib/os-release": "NAME=Y\n"}, landlock(unix.EINVAL, "6.1.0"))
	if d := old.describe(func(string) string { return "" }); d.Distribution != "Y" || len(d.Errata) != 0 {
		t.Errorf("%+v", d)
	}
}

func TestProfilePath(t *testing.T) {
	for path, want := range map[string]string{
		"/usr/bin/jphost": "/usr/bin/jphost", "/a b/x": `"/a b/x"`, "/a*/{x}@1": `/a\*/\{x\}\@1`,
	} {
		if got := profilePath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestLimit(t *testing.T) {
	full := fake(t, nil).look().Machine
	for _, c := range []struct{ text, simulated, machine string }{
		{"", "", `{"landlock":7,"namespaces":true,"seccomp":true,"notify":true}`},
		{"abi=2,namespaces=no", "abi=2, namespaces=no", `{"landlock":2,"namespaces":false,"seccomp":true,"notify":true,"why":{"namespaces":"taken away by JPHOST_SANDBOX_LIMIT\nunset it"}}`},
		{" abi=0 , seccomp=no", "abi=0, seccomp=no", `{"landlock":0,"namespaces":true,"seccomp":false,"notify":false,"why":{"landlock":"taken away by JPHOST_SANDBOX_LIMIT\nunset it","seccomp":"taken away by JPHOST_SANDBOX_LIMIT\nunset it"}}`},
		{"notify=no", "notify=no", `{"landlock":7,"namespaces":true,"seccomp":true,"notify":false,"why":{"notify":"taken away by JPHOST_SANDBOX_LIMIT\nunset it"}}`},
		{"abi=99", "abi=99", `{"landlock":7,"namespaces":true,"seccomp":true,"notify":true}`},
	} {
		l, err := ParseLimit(c.text)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		got, _ := json.Marshal(l.Apply(full))
		if string(got) != c.machine || l.Simulated() != c.simulated {
			t.Errorf("%q: %s, %q", c.text, got, l.Simulated())
		}
	}
	for _, text := range []string{"abi", "abi=", "abi=-1", "abi=+3", "abi=1e3", "abi=2,abi=7", "namespaces=yes", "namespaces", "seccomp=on", "notify", "notify=yes", "tier=none", "abi=2,", "abi=99999999999"} {
		if l, err := ParseLimit(text); err == nil || l != (Lesser{}) {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
	if len(full.Why) != 0 {
		t.Errorf("the machine that was limited changed: %+v", full)
	}
}

// Whatever is limited, and by whatever, has nothing that it did not have.
func TestLimitOnlyTakes(t *testing.T) {
	poor := fake(t, files{maxUser: "0"}, landlock(unix.ENOSYS, "5.4.0"), func(s *system) { s.seccomp = func() error { return unix.EINVAL } }).look().Machine
	rich := fake(t, nil).look().Machine
	for _, m := range []struct{ abi int }{{-1}, {0}, {3}, {99}} {
		for bits := range 4 {
			ns, sc := bits&1 != 0, bits&2 != 0
			if got := (Lesser{ABI: m.abi, HasABI: true, NoNamespaces: !ns, NoSeccomp: !sc}).Apply(poor); got.Landlock != 0 || got.Namespaces || got.Seccomp || got.Why[Namespaces] != poor.Why[Namespaces] {
				t.Errorf("%+v", got)
			}
			got := (Lesser{ABI: m.abi, HasABI: true, NoNamespaces: !ns, NoSeccomp: !sc}).Apply(rich)
			if got.Landlock != max(0, min(m.abi, rich.Landlock)) || got.Namespaces != ns || got.Seccomp != sc {
				t.Errorf("%d %t %t: %+v", m.abi, ns, sc, got)
			}
		}
	}
}

func BenchmarkLook(b *testing.B) {
	for b.Loop() {
		Look()
	}
}

func BenchmarkLookInDoubt(b *testing.B) {
	s := kernel
	s.filtered = func() bool { return true }
	for b.Loop() {
		s.look()
	}
}
