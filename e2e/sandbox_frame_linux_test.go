package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// The users and tiers that attacks run as and in.
const (
	root        = "root"
	ordinaryID  = jptooltest.OrdinaryID
	namespaces  = "namespace"
	landlocked  = "landlock"
	uncontained = "" // the control
)

var attackBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(bin, "attack")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "./testdata/sandbox/attack")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the attacks: %w\n%s", err, out)
	}
	return path, nil
})

func attackPath(t testing.TB) string {
	t.Helper()
	path, err := attackBinary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// eachUser runs a test as root and as an ordinary user.
func eachUser(t *testing.T, test func(t *testing.T, user string)) {
	for _, user := range []string{root, "ordinary"} {
		t.Run(user, func(t *testing.T) {
			if user == root && os.Geteuid() != 0 {
				t.Skip("not run: the tests were not started by root, so nothing can be tried as root")
			}
			test(t, user)
		})
	}
}

// eachTier runs a test in every tier that this machine has. Whether it has one is found out
// without the program under test.
func eachTier(t *testing.T, user string, test func(t *testing.T, tier string)) {
	for _, tier := range []string{landlocked, namespaces} {
		t.Run(tier, func(t *testing.T) {
			needTier(t, user, tier)
			test(t, tier)
		})
	}
}

// lacking says per user and tier what the machine lacks, found out once.
var lacking sync.Map

// limitVariable makes jphost behave as on a lesser machine; abi=N alone is for these tests, too.
const limitVariable = "JPHOST_SANDBOX_LIMIT"

// landlock is the version that the kernel has, or is to be taken to have, 0 for none.
func landlock() (abi int, err error) {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	if limit, ok := strings.CutPrefix(os.Getenv(limitVariable), "abi="); ok {
		if abi, err = strconv.Atoi(limit); err != nil {
			return 0, err
		}
		return min(abi, int(n)), nil
	}
	return int(n), nil
}

// needTier skips where the machine lacks what a tier is made of.
func needTier(t *testing.T, user, tier string) {
	t.Helper()
	type key struct{ user, tier string }
	why, known := lacking.Load(key{user, tier})
	if !known {
		why = ""
		if abi, err := landlock(); abi < 1 {
			why = fmt.Sprintf("this kernel has no Landlock (%v)", err)
		} else if tier == namespaces {
			w := newWorld(t, user)
			if v := w.attack(uncontained, nil, "mount", w.root); !v.Worked {
				why = fmt.Sprintf("no user and mount namespaces for this user here (%s)", v.Detail)
			}
		}
		lacking.Store(key{user, tier}, why)
	}
	if why != "" {
		t.Skipf("not run: %s", why)
	}
}

// world is a workspace and what must be safe from it.
type world struct {
	t    testing.TB
	user string
	// root is the workspace, outside a directory beside it, home the home directory.
	base, root, outside, home string
	// secret is in all files that must not be read.
	secret string
	// env is what jphost, or the control, is started with.
	env []string
	// stdin, stdout: nil for the default.
	stdin *os.File
	extra []*os.File
	attr  syscall.SysProcAttr
	limit time.Duration
}

func newWorld(t testing.TB, user string) *world {
	t.Helper()
	jptooltest.NotAnnounced(t) // such a sandbox refuses the controls
	// Not below /tmp, which the namespace tier hides in any case.
	base, err := os.MkdirTemp("/var/tmp", "jptools-e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				_ = os.Chmod(p, 0o755)
			}
			return nil
		})
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	w := &world{
		t: t, user: user, base: base, root: base + "/ws", outside: base + "/outside", home: base + "/home",
		secret: "secret-" + strconv.FormatInt(time.Now().UnixNano(), 36), limit: 60 * time.Second,
	}
	w.files(map[string]string{
		"ws/src/a.txt": "content\n", "ws/src/private/secret": w.secret + "\n", "ws/docs/guide": "read me\n", "ws/good/f": "harmless\n",
		"outside/victim.txt": w.secret + "\n", "outside/dir/f": w.secret + "\n", "home/.ssh/id_ed25519": w.secret + "\n", "home/.config/x": w.secret + "\n",
	})
	w.env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + w.home, "LANG=C.UTF-8",
		"XDG_DATA_HOME=" + base + "/data", "XDG_CONFIG_HOME=" + base + "/conf", "JPHOST_SESSION=e2e", "API_TOKEN=" + w.secret,
	}
	if limit := os.Getenv(limitVariable); limit != "" {
		w.env = append(w.env, limitVariable+"="+limit)
	}
	return w
}

// files writes files below the base, all of the user's.
func (w *world) files(files map[string]string) {
	w.t.Helper()
	for name, content := range files {
		path := filepath.Join(w.base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			w.t.Fatal(err)
		}
	}
	w.own()
}

// own gives everything to the user.
func (w *world) own() {
	w.t.Helper()
	if err := os.Chmod(w.base, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if w.user == root || os.Geteuid() != 0 {
		return
	}
	if err := filepath.WalkDir(w.base, func(p string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(p, ordinaryID, ordinaryID)
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}

// ran is how a program ended.
type ran struct {
	code           int
	stdout, stderr string
}

// String is for failures.
func (r ran) String() string {
	return fmt.Sprintf("exit status %d\nstdout: %.2000s\nstderr: %.2000s", r.code, r.stdout, r.stderr)
}

// command is a program as the user, in the workspace.
func (w *world) command(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = w.root, w.env, w.extra
	attr := w.attr
	if w.user != root && os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: ordinaryID, Gid: ordinaryID}
	}
	cmd.SysProcAttr = &attr
	cmd.WaitDelay = 5 * time.Second
	if w.stdin != nil {
		cmd.Stdin = w.stdin
	}
	return cmd
}

// run runs a program as the user to its end.
func (w *world) run(argv ...string) ran {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	cmd := w.command(ctx, argv...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		w.t.Fatalf("%q did not end within %v\nstdout: %s\nstderr: %s", argv, w.limit, stdout.String(), stderr.String())
	}
	if cmd.ProcessState == nil {
		w.t.Fatalf("%q: %v", argv, err)
	}
	code := cmd.ProcessState.ExitCode()
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		code = 128 + int(s.Signal())
	}
	return ran{code, stdout.String(), stderr.String()}
}

// contain is the command line that runs a program under grants.
func contain(tier string, grants []string, argv ...string) []string {
	if tier == uncontained {
		return argv
	}
	return slices.Concat([]string{filepath.Join(bin, "jphost"), "sandbox", "exec", "--tier", tier}, grants, []string{"--"}, argv)
}

// exec runs a program under grants, or without a sandbox.
func (w *world) exec(tier string, grants []string, argv ...string) ran {
	w.t.Helper()
	return w.run(contain(tier, grants, argv...)...)
}

// attempt is the verdict of an attack.
type attempt struct {
	Attack string
	Worked bool
	Errno  string
	Detail string

	ran ran
	// came: there was a verdict at all.
	came bool
}

// String is for failures.
func (v attempt) String() string {
	if !v.came {
		return v.ran.String()
	}
	return fmt.Sprintf("worked %v, %s %s", v.Worked, v.Errno, v.Detail)
}

// attack runs an attack that must come to a verdict.
func (w *world) attack(tier string, grants []string, args ...string) attempt {
	w.t.Helper()
	v := w.attackMayDie(tier, grants, args...)
	if !v.came || v.ran.code != 0 && !v.Worked {
		w.t.Fatalf("the attack %q came to no verdict, which proves nothing: %s", args, v.ran)
	}
	return v
}

// attackMayDie runs an attack that the sandbox may end before its verdict.
func (w *world) attackMayDie(tier string, grants []string, args ...string) attempt {
	w.t.Helper()
	r := w.exec(tier, grants, append([]string{attackPath(w.t)}, args...)...)
	v := attempt{ran: r}
	v.came = json.Unmarshal([]byte(r.stdout), &v) == nil && v.Attack == args[0]
	return v
}

// stamp is all that can be changed about a file.
type stamp struct {
	mode        fs.FileMode
	uid, gid    uint32
	links       uint64
	content     string
	mtime, attr string
}

// state is what stands below directories; the content of the workspace only where it is to
// stay.
func state(t testing.TB, dirs ...string) map[string]stamp {
	t.Helper()
	all := map[string]stamp{}
	for _, dir := range dirs {
		if err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			fi, err := os.Lstat(p)
			if err != nil {
				return err
			}
			st := fi.Sys().(*syscall.Stat_t)
			s := stamp{mode: fi.Mode(), uid: st.Uid, gid: st.Gid, links: uint64(st.Nlink), mtime: fi.ModTime().String()}
			if fi.Mode().IsRegular() {
				b, err := os.ReadFile(p)
				if err != nil {
					return err
				}
				s.content = string(b)
			}
			names := make([]byte, 256)
			if n, err := unix.Llistxattr(p, names); err == nil {
				s.attr = string(names[:n])
			}
			all[p] = s
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// differs names what is not the same any more.
func differs(before, after map[string]stamp) (list []string) {
	for p, s := range before {
		if now, still := after[p]; !still {
			list = append(list, p+" is gone")
		} else if now != s {
			list = append(list, fmt.Sprintf("%s was %+v and is %+v", p, s, now))
		}
	}
	for p := range after {
		if _, known := before[p]; !known {
			list = append(list, p+" is new")
		}
	}
	slices.Sort(list)
	return list
}

// victim is a process outside, of the same user.
type victim struct {
	PID int
	At  string
	Len int

	in   io.Closer
	out  *bufio.Reader
	wait func() error
}

func (w *world) victim() *victim {
	w.t.Helper()
	cmd := w.command(context.Background(), attackPath(w.t), "victim")
	cmd.Env = append(slices.Clone(w.env), "VICTIM_SECRET="+w.secret)
	// It has a file open too.
	file, err := os.Open(w.outside + "/victim.txt")
	if err != nil {
		w.t.Fatal(err)
	}
	defer file.Close()
	cmd.ExtraFiles = []*os.File{file}
	in, err := cmd.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	v := &victim{in: in, out: bufio.NewReader(out), wait: sync.OnceValue(cmd.Wait)}
	w.t.Cleanup(func() { _ = in.Close(); _ = cmd.Process.Kill(); _ = v.wait() })
	line, err := v.out.ReadBytes('\n')
	if err != nil || json.Unmarshal(line, v) != nil {
		w.t.Fatalf("the victim said %q, %v", line, err)
	}
	return v
}

// end lets the victim end and returns what happened to it.
func (v *victim) end() string {
	_ = v.in.Close()
	rest, _ := io.ReadAll(v.out)
	if err := v.wait(); err != nil {
		return string(rest) + err.Error()
	}
	return string(rest)
}
