package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// Each capability allows its operations and no others, in every tier.
func TestCapabilities(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		for _, c := range []struct {
			caps  jptool.Caps
			allow string
		}{
			{0, ""},
			{r, "read list"},
			{c, "create mkdir symlink link"},
			{u, "update truncate"},
			{d, "unlink rmdir"},
			{x, ""}, // the kernel reads what it executes
			{r | x, "read list exec"},
			{c | d, "create mkdir symlink link unlink rmdir rename"},
			{jptool.Write, "update truncate create mkdir symlink link unlink rmdir rename"},
			{all, "read list update truncate create mkdir symlink link unlink rmdir rename exec"},
		} {
			t.Run(c.caps.String(), func(t *testing.T) {
				ws := jptooltest.OpenRoot(t)
				for _, name := range []string{"read", "update", "truncate", "unlink", "rename", "link"} {
					write(t, filepath.Join(ws, "in", name), "content", 0o644)
				}
				if err := os.Mkdir(filepath.Join(ws, "in/rmdir"), 0o755); err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(ws, "in/exec"), content(t, "/bin/true"), 0o755)
				p := plan(t, tier, ws)
				p.Grants = []fit.Grant{grant(t, filepath.Join(ws, "in"), c.caps)}
				var lines []string
				for _, op := range []string{
					"read in/read", "list in", "update in/update", "truncate in/truncate", "create in/created", "mkdir in/made",
					"symlink in/pointing /", "link in/link in/linked", "unlink in/unlink", "rmdir in/rmdir", "rename in/rename in/renamed", "exec in/exec",
				} {
					want := "EACCES"
					if strings.HasPrefix(op, "truncate ") {
						want = since(t, fit.TruncateABI, want, "ok")
					}
					if name, _, _ := strings.Cut(op, " "); strings.Contains(" "+c.allow+" ", " "+name+" ") {
						want = "ok"
					}
					lines = append(lines, op+" = "+want)
				}
				// Never: not granted to anybody, or above the grant.
				wantProbes(t, p, append(lines, "mkfifo in/fifo = EACCES", "create beside = EACCES", "read "+os.Args[0]+"x = EACCES|ENOENT")...)
				if content(t, filepath.Join(ws, "in/read")) != "content" {
					t.Error("a file that was only read changed")
				}
			})
		}
	})
}

// The shell, which is dynamic, and a static program run; nothing outside can be seen.
func TestOutside(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/root"
	}
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		write(t, filepath.Join(ws, "a"), "content\n", 0o644)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, ws, all)}
		if got := mustRun(t, p, "cat a; echo more >> a; cp a b; mv b c; rm c; echo > /dev/null; head -c 3 /dev/zero | wc -c"); got != "content\n3" {
			t.Errorf("got %q", got)
		}
		if content(t, filepath.Join(ws, "a")) != "content\nmore\n" {
			t.Error("what was written is not there")
		}
		denied := "EACCES|ENOENT"
		wantProbes(t, p,
			"read a = ok", "list / = EACCES", "read /etc/shadow = "+denied, "read /etc/hostname = "+denied, "list "+home+"/.ssh = "+denied,
			"read /proc/1/environ = "+denied, "list /proc/1/root/ = "+denied, "list /proc/1/cwd/ = "+denied, "read /proc/1/mem = "+denied,
			"list /sys = "+denied, "create /usr/x = EACCES|EROFS", "create /x = EACCES|EROFS", "create /dev/x = EACCES|EROFS", "create /tmp/no-such-x = EACCES|EROFS|ENOENT",
			"update /proc/self/oom_score_adj = EACCES|EROFS", "read /proc/self/status = ok", "read /dev/kmsg = "+denied, "create ../x = EACCES|EROFS")
		if tier == fit.TierNamespace {
			wantProbes(t, p, "create "+p.Temp+"/x = ok", "mkfifo "+p.Temp+"/fifo = ok", "chmod /usr = EROFS", "chmod / = EROFS", "chmod /dev/null = EROFS", "chmod /proc/self/comm = EROFS", "update /dev/null = ok", "stat "+home+"/.profile = ENOENT", "chmod "+p.Temp+" = ok")
			if got := mustRun(t, p, `ls /proc | grep -c '^[0-9]'; sort -k2 /proc/mounts | cut -d' ' -f2 | grep -v dev/ | grep -v ^/usr | tr '\n' ' '`); !strings.HasPrefix(got, "4\n/ ") && !strings.HasPrefix(got, "5\n/ ") {
				t.Errorf("processes and mounts: %q", got)
			}
		}
	})
}

// coverTree is a workspace for covers and pins, all granted but for the places that tests cover.
func coverTree(t *testing.T) (ws string, p *fit.Plan, at func(string) fit.Node) {
	ws = jptooltest.OpenRoot(t)
	for _, name := range []string{"hidden/secret", "hidden/deep/open/file", "hidden/deep/one", "ro/file", "ro/sub/file", "ro/rw/file", "noexec/x", "dir/sub/file", "plain", "secret"} {
		write(t, filepath.Join(ws, name), "content", 0o755)
	}
	write(t, filepath.Join(ws, "noexec/true"), content(t, "/bin/true"), 0o755)
	if err := os.Symlink("dir", filepath.Join(ws, "link")); err != nil {
		t.Fatal(err)
	}
	p = plan(t, fit.TierNamespace, ws)
	p.Grants = []fit.Grant{grant(t, ws, all)}
	return ws, p, func(name string) fit.Node { return node(t, filepath.Join(ws, name)) }
}

func TestCovers(t *testing.T) {
	ws, p, at := coverTree(t)
	p.Covers = []fit.Cover{
		{Node: at("hidden"), Hide: true},
		{Node: at("hidden/deep/open"), Again: true},
		{Node: at("hidden/deep/one"), Again: true, ReadOnly: true},
		{Node: at("secret"), Hide: true},
		{Node: at("ro"), ReadOnly: true},
		{Node: at("ro/rw"), Again: true},
		{Node: at("noexec"), NoExec: true},
	}
	p.Pins = []fit.Node{at("dir"), at("dir/sub"), at("link"), at("ro")}
	wantProbes(t, p,
		// Hidden, but for what is mounted again.
		"list hidden = ok", "read hidden/secret = ENOENT", "create hidden/x = EROFS", "chmod hidden = EROFS", "rmdir hidden = EBUSY", "rename hidden x = EBUSY",
		"read hidden/deep/open/file = ok", "update hidden/deep/open/file = ok", "create hidden/deep/open/new = ok", "create hidden/deep/new = EROFS",
		"rename hidden/deep/open hidden/deep/x = EBUSY|EROFS", "read hidden/deep/one = ok", "update hidden/deep/one = EROFS",
		// A file that root cannot open either, nor give itself rights on.
		"read secret = EACCES", "update secret = EACCES|EROFS", "chmod secret = EROFS|EPERM", "unlink secret = EBUSY", "rename secret x = EBUSY", "rename plain secret = EBUSY", "link secret x = EXDEV|EPERM",
		"exec ./secret = EACCES",
		// Read-only, recursively, metadata too.
		"read ro/file = ok", "update ro/file = EROFS", "update ro/sub/file = EROFS", "chmod ro/file = EROFS", "create ro/x = EROFS", "unlink ro/file = EROFS",
		"update ro/rw/file = ok", "create ro/rw/new = ok", "rename ro x = EBUSY",
		"exec noexec/true = EACCES", "update noexec/x = ok",
		// Pins keep their place and nothing else.
		"rename dir x = EBUSY", "rename dir/sub x = EBUSY|EXDEV", "rename dir/sub dir/x = EBUSY", "rmdir dir/sub = EBUSY", "swap dir hidden/deep/open = EBUSY|EXDEV", "create dir/new = ok", "unlink dir/sub/file = ok", "chmod dir/sub = ok",
		"unlink link = EBUSY", "rename link x = EBUSY", "rename plain link = EBUSY", "readlink link dir = ok", "create link/through = ok",
		"unlink plain = ok")
	mustRun(t, p, "! mv hidden gone; ! rm -rf ro/sub; mkdir -p a/b; mv a c; rm -r c")
	for name, want := range map[string]bool{
		"hidden/secret": true, "hidden/x": false, "hidden/deep/open/new": true, "ro/file": true, "dir/new": true, "dir/through": true,
		"dir/sub/file": false, "plain": false, "c": false,
	} {
		if _, err := os.Lstat(filepath.Join(ws, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"hidden", "secret", "ro", "dir"} { // modes of the host's are as they were
		if st, err := os.Stat(filepath.Join(ws, name)); err != nil || st.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v %v", name, st.Mode(), err)
		}
	}
}

// Each part of what holds a program does what it is there for: without it, tests notice.
func TestWithoutCoversAndPins(t *testing.T) {
	_, p, at := coverTree(t)
	p.Covers = []fit.Cover{{Node: at("hidden"), Hide: true}}
	p.Pins = []fit.Node{at("dir")}
	noCovers, noPins := *p, *p
	noCovers.Covers, noPins.Pins = nil, nil
	narrow := &[5]uint64{unix.LANDLOCK_ACCESS_FS_READ_FILE, 0, 0, 0, unix.LANDLOCK_ACCESS_FS_EXECUTE}
	for _, c := range []struct {
		plan    *fit.Plan
		mapping *[5]uint64
		want    string
	}{
		{p, nil, "ENOENT EBUSY"},
		{&noCovers, nil, "ok EBUSY"},
		{&noPins, nil, "ENOENT ok"},
		{p, narrow, "ENOENT EACCES"},
	} {
		cmd := sh(p, "")
		cmd.Path, cmd.Args = self(t), []string{probeName, "read hidden/secret", "rename dir moved"}
		res, err := runWith(t, c.plan, cmd, Faults{Mapping: c.mapping})
		if got := strings.Join(strings.Fields(res.out), " "); err != nil || res.status != 0 || got != c.want+" end" {
			t.Errorf("status %#x, %v: %s, want %s", res.status, err, got, c.want)
		}
		_ = os.Rename(filepath.Join(p.Trees[0].Path, "moved"), filepath.Join(p.Trees[0].Path, "dir"))
	}
	// With its capabilities, a program may do what modes forbid.
	if !jptooltest.Root(t) {
		return
	}
	cmd := sh(p, "grep -c 'Cap[EB][fn][fd]:.0000000000000000' /proc/self/status")
	if res, err := runWith(t, p, cmd, Faults{}); err != nil || res.out != "2" {
		t.Errorf("capabilities: %v, %+v", err, res)
	}
	if res, err := runWith(t, p, cmd, Faults{KeepCapabilities: true}); err != nil || res.out != "0" {
		t.Errorf("with capabilities: %v, %+v", err, res)
	}
}

// Files above a tree, links among the runtime paths, trees in runtime paths and in /tmp.
func TestPlaces(t *testing.T) {
	outer := jptooltest.OpenRoot(t)
	write(t, filepath.Join(outer, "lib/tool/file"), "content", 0o644)
	write(t, filepath.Join(outer, "lib/other"), "content", 0o644)
	write(t, filepath.Join(outer, "mounted/by/host/file"), "content", 0o644)
	if err := os.Symlink("lib", filepath.Join(outer, "lib64")); err != nil {
		t.Fatal(err)
	}
	ws, second := filepath.Join(outer, "lib/tool"), filepath.Join(outer, "mounted/by")
	p := plan(t, fit.TierNamespace, ws)
	p.Trees = append(p.Trees, node(t, second))
	p.Runtime = append(p.Runtime, grant(t, filepath.Join(outer, "lib"), r), grant(t, filepath.Join(outer, "lib64"), r))
	p.Grants = []fit.Grant{grant(t, ws, all), grant(t, second, all)}
	wantProbes(t, p, "create new = ok", "read ../other = ok", "update ../other = EACCES|EROFS", "create ../new = EACCES|EROFS",
		"read "+outer+"/lib64/other = ok", "update "+outer+"/lib64/tool/file = ok", "update "+second+"/host/file = ok", "list "+outer+" = EACCES", "create "+outer+"/new = EROFS|EACCES")
}

// What may be written besides the workspace is writable as far as it is granted, wherever it
// lies: beside, in a runtime path, a file alone, and where the private /dev has something.
func TestWritablePlaces(t *testing.T) {
	shm, err := os.MkdirTemp("/dev/shm", "confine")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(shm) })
	if real, err := filepath.EvalSymlinks(shm); err != nil || real != shm {
		t.Skipf("not run: the sandbox around this process has no /dev/shm but a link: %s, %v", real, err)
	}
	write(t, filepath.Join(shm, "file"), "content", 0o644)
	tiers(t, func(t *testing.T, tier fit.Tier) {
		outer := jptooltest.OpenRoot(t)
		for _, name := range []string{"ws/file", "cache/file", "cache/sub/file", "lib/file", "lib/state/file", "etc/one", "etc/two"} {
			write(t, filepath.Join(outer, name), "content", 0o644)
		}
		at := func(name string) string { return filepath.Join(outer, name) }
		p := plan(t, tier, at("ws"))
		p.Runtime = append(p.Runtime, grant(t, at("lib"), r|x))
		for path, caps := range map[string]jptool.Caps{at("cache"): r | c, at("lib/state"): all, at("etc/one"): r | u, shm: all} {
			p.Trees = append(p.Trees, node(t, path))
			p.Grants = append(p.Grants, grant(t, path, caps))
		}
		p.Grants = append(p.Grants, grant(t, at("ws"), r))
		const no = "EACCES|EROFS"
		wantProbes(t, p,
			"create ../cache/sub/new = ok", "update ../cache/file = EACCES", "unlink ../cache/file = EACCES", "read ../cache/file = ok",
			"read ../lib/file = ok", "update ../lib/file = "+no, "create ../lib/new = "+no, "update ../lib/state/file = ok", "create ../lib/state/new = ok", "unlink ../lib/state/file = ok",
			"update ../etc/one = ok", "read ../etc/two = EACCES|ENOENT", "create ../etc/new = "+no, "unlink ../etc/one = "+no+"|EBUSY",
			"update "+shm+"/file = ok", "create "+shm+"/new = ok", "unlink "+shm+"/new = ok", "update file = EACCES", "update /dev/null = ok")
		// All of /dev hides the private one, but not what every program needs of it.
		p = plan(t, tier, at("ws"))
		p.Trees, p.Grants = append(p.Trees, node(t, "/dev")), []fit.Grant{grant(t, "/dev", r|u)}
		wantProbes(t, p, "update /dev/null = ok", "read "+shm+"/file = ok", "create "+shm+"/new = EACCES")
	})
}

// Of its own /proc the first process of the Landlock tier reads everything. What it starts has
// others, which no rule can name in advance: links and descriptors work, files do not. Those of
// other processes are out of reach for all.
func TestOwnProc(t *testing.T) {
	ws := jptooltest.OpenRoot(t)
	other := fmt.Sprintf("/proc/%d/", os.Getpid())
	p := plan(t, fit.TierLandlock, ws)
	wantProbes(t, p,
		"read /proc/self/status = ok", "read /proc/self/maps = ok", "list /proc/self/fd = ok", "read /proc/thread-self/stat = ok",
		"read "+other+"cmdline = EACCES", "read "+other+"environ = EACCES", "read "+other+"stat = EACCES", "list "+other+"fd = EACCES", "list /proc = EACCES",
		"readlink "+other+"exe x = EACCES", "readlink "+other+"cwd x = EACCES")
	child := self(t) + " -test.run=^$; exec 3< /dev/null; (readlink /proc/self/exe; cat /dev/fd/3; echo piped | cat /dev/stdin; cat /proc/self/status || echo refused) 2>/dev/null"
	if got := mustRun(t, p, child); !strings.Contains(got, "/readlink\npiped\nrefused") {
		t.Errorf("a child: %q", got)
	}
	t.Run("in a private tree", func(t *testing.T) {
		needs(t, fit.TierNamespace, 1)
		p.Tier, p.Temp = fit.TierNamespace, "/run/jphost"
		if got := mustRun(t, p, "cat /proc/self/comm; readlink /proc/1/exe /proc/1/fd/* || echo refused; cat /proc/1/environ 2>/dev/null || echo refused; ls -d "+other+" 2>/dev/null || echo nobody"); got != "cat\nrefused\nrefused\nnobody" {
			t.Errorf("%q", got)
		}
	})
}

// A descriptor of an unnamed file is enough to create, and only where it belongs.
func TestStaged(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		write(t, filepath.Join(ws, "in/old"), "content", 0o644)
		p := plan(t, tier, ws)
		p.Grants = []fit.Grant{grant(t, filepath.Join(ws, "in"), r|c)}
		p.Staged = []fit.Staged{{Node: node(t, filepath.Join(ws, "in")), FD: 7}}
		cmd := &exec.Cmd{Path: self(t), Args: []string{probeName, "staged 7 in/new", "staged 7 in/old", "update in/new", "staged 6 in/x"}, Dir: ws, Env: []string{}}
		res, err := run(t, p, cmd)
		if err != nil || res.out != "ok\nEEXIST\nEACCES\nENOENT\nend" {
			t.Errorf("%v: %s", err, res.out)
		}
		if got := content(t, filepath.Join(ws, "in/new")); got != "staged" {
			t.Errorf("the new file has %q", got)
		}
	})
}

// Descriptors arrive in their places, whatever numbers they had here, and no others.
func TestDescriptors(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		ws := jptooltest.OpenRoot(t)
		p := plan(t, tier, ws)
		var names [6]string
		files := make([]*os.File, len(names))
		for i := range files {
			names[i] = write(t, filepath.Join(ws, fmt.Sprint("file", i)), "", 0o644)
			var err error
			if files[i], err = os.Open(names[i]); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = files[i].Close() }()
		}
		// One that has no close-on-exec flag.
		fd, err := unix.Open(ws, unix.O_PATH, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(fd) }()
		cmd := sh(p, "")
		cmd.Path, cmd.Args = self(t), []string{probeName, "descriptors"}
		cmd.ExtraFiles = []*os.File{files[5], files[1], nil, files[0], files[5]}
		res, err := run(t, p, cmd)
		want := "0 " + os.DevNull + " 1 out 2 out 3 " + names[5] + " 4 " + names[1] + " 6 " + names[0] + " 7 " + names[5]
		if err != nil || !strings.HasPrefix(res.out, want+"\n") {
			t.Errorf("%v\n got %s\nwant %s", err, res.out, want)
		}
	})
}
