package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
)

// BenchmarkSandboxExec is the start of `true` in each tier against other sandboxes with the same
// grants, as whole processes, in turn: the same parts of the system (of /etc no more
// than programs read), the same devices, one directory writable, no network, and a private /tmp, /proc
// and /dev where there are namespaces. The aims are 2 × landrun for Landlock and 1.2 × bwrap for namespaces. A
// peer that is not installed is named; landlock-restrict, of the library that landrun is made with, stands in for
// landrun. For comparison there is bwrap with all of /etc in one piece, which is how it is mostly used.
//
//	go test -run=NONE -bench=SandboxExec -benchtime=1x
func BenchmarkSandboxExec(b *testing.B) {
	bin, root := b.TempDir(), b.TempDir()
	jphost := filepath.Join(bin, "jphost")
	installed(b, ".", jphost)
	tier := func(name string) []string {
		return []string{jphost, "sandbox", "exec", "-q", "--tier", name, "--rw", root, "--", "true"}
	}
	landrun, restrict, bwrap := peers(b, jphost, root)
	const spaces = "--unshare-all --die-with-parent --new-session -- true"
	ways := []struct {
		name, against string
		args          []string
	}{
		{"plain", "", []string{"true"}},
		{"jphost version", "plain", []string{jphost, "version"}},
		{"landrun", "", append(landrun, "--", "true")},
		{"landlock-restrict", "", append(restrict, "--", "/usr/bin/true")},
		{"jphost landlock", "landrun", tier("landlock")},
		{"bwrap", "", append(bwrap, strings.Fields(spaces)...)},
		{"jphost namespace", "bwrap", tier("namespace")},
		{"bwrap, all of /etc", "", strings.Fields("bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --symlink usr/sbin /sbin " +
			"--ro-bind /etc /etc --proc /proc --dev /dev --tmpfs /tmp --bind " + root + " " + root + " " + spaces)},
		{"firejail", "", strings.Fields("firejail --quiet --noprofile --net=none --private-tmp --private-dev --read-only=/ --read-write=" + root + " -- true")},
		{"minijail0", "", strings.Fields("minijail0 -U -v -p -l -e -n -t -b /usr -b /bin -b /lib -b /lib64 -b /etc -b " + root + "," + root + ",1 -P /var/empty -- /usr/bin/true")},
	}
	run := func(args []string) (time.Duration, error) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir, cmd.Env = root, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + root}
		began := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, fmt.Errorf("%s: %w", args[0], err)
		}
		return time.Since(began), nil
	}
	took := map[string][]time.Duration{}
	for i, w := range ways {
		_, err := exec.LookPath(w.args[0])
		if err == nil {
			_, err = run(w.args)
		}
		if err != nil {
			if w.against != "" || i == 0 {
				b.Fatal(err)
			}
			b.Logf("%-18s missing: %v", w.name, err)
			continue
		}
		took[w.name] = nil
	}
	for b.Loop() {
		for range 200 {
			for _, w := range ways {
				if _, ok := took[w.name]; ok {
					t, err := run(w.args)
					if err != nil {
						b.Fatal(err)
					}
					took[w.name] = append(took[w.name], t)
				}
			}
		}
	}
	median := func(name string) float64 {
		slices.Sort(took[name])
		return took[name][len(took[name])/2].Seconds() * 1e3
	}
	for _, w := range ways {
		if len(took[w.name]) == 0 {
			continue
		}
		if w.against == "landrun" && len(took[w.against]) == 0 {
			w.against = "landlock-restrict"
		}
		ratio := ""
		if len(took[w.against]) > 0 {
			ratio = fmt.Sprintf("  %.2f × %s", median(w.name)/median(w.against), w.against)
			if w.against != "plain" {
				b.ReportMetric(median(w.name)/median(w.against), "×-"+w.against)
			}
		}
		b.Logf("%-18s %6.2f ms  (least %.2f ms)%s", w.name, median(w.name), took[w.name][0].Seconds()*1e3, ratio)
	}
	b.ReportMetric(0, "ns/op")
}

// peers are command lines of other sandboxes, up to the program, with the grants that jphost has in its
// plan for a directory.
func peers(b *testing.B, jphost, root string) (landrun, restrict, bwrap []string) {
	b.Helper()
	out, err := exec.Command(jphost, "sandbox", "plan", "--json", "--tier", "namespace", "--rw", root, "--", "true").Output()
	if err != nil {
		b.Fatalf("jphost sandbox plan: %v", err)
	}
	var profile struct{ Plan fit.Plan }
	if err := json.Unmarshal(out, &profile); err != nil {
		b.Fatalf("jphost sandbox plan: %v\n%s", err, out)
	}
	landrun, bwrap = []string{"landrun"}, []string{"bwrap"}
	restrict = []string{"landlock-restrict", "-3", "-rw", root, "-rwfiles"}
	var trees, files []string
	for _, g := range profile.Plan.Runtime {
		switch {
		case strings.HasPrefix(g.Path, "/proc"):
		case g.Kind == fit.Link:
			to, err := os.Readlink(g.Path)
			if err != nil {
				b.Fatal(err)
			}
			bwrap = append(bwrap, "--symlink", to, g.Path)
		default:
			landrun, bwrap = append(landrun, "--rox", g.Path), append(bwrap, "--ro-bind", g.Path, g.Path)
			if g.Kind == fit.Dir {
				trees = append(trees, g.Path)
			} else {
				files = append(files, g.Path)
			}
		}
	}
	bwrap = append(bwrap, "--proc", "/proc", "--tmpfs", "/tmp")
	for _, dev := range profile.Plan.Devices {
		landrun, bwrap = append(landrun, "--rw", dev), append(bwrap, "--dev-bind", dev, dev)
		restrict = append(restrict, dev)
	}
	restrict = append(append(append(append(restrict, "-ro"), trees...), "-rofiles"), files...)
	bwrap = append(bwrap, "--symlink", "/proc/self/fd", "/dev/fd", "--symlink", "fd/0", "/dev/stdin", "--symlink", "fd/1", "/dev/stdout", "--symlink", "fd/2", "/dev/stderr")
	return append(landrun, "--rwx", root), restrict, append(bwrap, "--cap-drop", "ALL", "--bind", root, root)
}

// installed builds the program in dir as `make build` does, and copies it as `make install` does:
// the linker leaves its output in the page cache in small pieces, which takes most of a
// millisecond more to map than an installed file, such as those of the peers.
func installed(b *testing.B, dir, to string) {
	b.Helper()
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", to+".linked", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("building %s: %v\n%s", to, err, out)
	}
	if out, err := exec.Command("install", "-m", "0755", to+".linked", to).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
}
