package baseline

import (
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

func TestDebian(t *testing.T) {
	root := debian.tree(t)
	b, err := root.find("/bin/sh", []string{"sh", "-c", "true"}, options())
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(b); !slices.Equal(got, debianGrants) {
		t.Errorf("grants\n%q, want\n%q", got, debianGrants)
	}
	if !slices.Equal(linked(b), debianLinks) {
		t.Errorf("links\n%v, want\n%v", b.Links, debianLinks)
	}
	if want := []string{"/usr/bin/bash", "/usr/lib/x86_64-linux-gnu/ld-2.36.so"}; !slices.Equal(b.Chain, want) || b.Static {
		t.Errorf("chain %q, static %t", b.Chain, b.Static)
	}
	for _, g := range b.Grants {
		info, err := os.Lstat(root.root + g.Path)
		if err != nil || g.Caps != jptool.Read|jptool.Execute || g.ID.Ino == 0 || info.IsDir() != (g.Kind == fit.Dir) {
			t.Errorf("%+v: %v", g, err)
		}
	}
	if !slices.Equal(b.Devices, []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
		t.Errorf("devices %q", b.Devices)
	}

	o := options()
	o.Network = true
	if b, err = root.find("/bin/sh", nil, o); err != nil {
		t.Fatal(err)
	}
	got := paths(b)
	for _, want := range []string{"/etc/hosts", "/run/systemd/resolve/stub-resolv.conf"} {
		if !slices.Contains(got, want) || slices.Contains(debianGrants, want) {
			t.Errorf("with a network %q has no %s", got, want)
		}
	}
	if !slices.Contains(linked(b), "/etc/resolv.conf") {
		t.Errorf("links %v", b.Links)
	}
}

// Nothing that holds secrets is granted, on the fake system and on this one.
func TestNoSecrets(t *testing.T) {
	for name, root := range map[string]tree{"fake": debian.tree(t), "this": {}} {
		b, err := root.find("/bin/sh", nil, &Options{Workspace: "/ws", Path: "/usr/bin", Network: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{
			"/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers", "/etc/sudoers.d/x", "/etc/ssh/ssh_host_key", "/etc/ssl/private/key.pem",
			"/etc/pki/tls/private/key.pem", "/etc/krb5.keytab", "/etc/npmrc", "/etc/pip.conf", "/root/.ssh/id_rsa", "/home/u/.ssh/id_rsa", "/etc/security/opasswd", "/etc/machine-id",
			"/run/docker.sock", "/var/lib/x", "/proc/1/environ", "/sys/x", "/dev/sda",
		} {
			for _, g := range b.Grants {
				if fit.Holds(g.Path, secret) {
					t.Errorf("%s system: %s is granted by %s", name, secret, g.Path)
				}
			}
		}
		for _, g := range b.Grants {
			if g.Caps&jptool.Write != 0 {
				t.Errorf("%s system: %s can be written", name, g.Path)
			}
			if name == "fake" && g.Path == "/etc/gitconfig" {
				t.Error("a file that only root reads is granted")
			}
		}
	}
}

func TestStatic(t *testing.T) {
	root := with(debian, files{"/opt/tools/fs_read*": makeELF(""), "/home/u/bin/fs_read": "-> /opt/tools/fs_read", "/opt/tools/sh*": "#!/opt/tools/fs_read\n", "/usr/share/ca-certificates/a.crt": ""}).tree(t)
	b, err := root.find("/home/u/bin/fs_read", nil, options())
	if err != nil {
		t.Fatal(err)
	}
	if got := paths(b); !slices.Equal(got, []string{"/opt/tools/fs_read"}) || !b.Static {
		t.Errorf("%q, static %t", got, b.Static)
	}
	if want := []string{"/home/u/bin/fs_read"}; !slices.Equal(linked(b), want) {
		t.Errorf("links %v", b.Links)
	}
	o := options()
	o.Network = true
	if b, err = root.find("/opt/tools/fs_read", nil, o); err != nil {
		t.Fatal(err)
	}
	want := []string{"/etc/hosts", "/etc/nsswitch.conf", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/opt/tools/fs_read", "/run/systemd/resolve/stub-resolv.conf", "/usr/share/ca-certificates"}
	if got := paths(b); !slices.Equal(got, want) {
		t.Errorf("with a network %q, want %q", got, want)
	}
	// Asked for, it gets what other programs get, for those that it starts.
	o = options()
	o.System = true
	if b, err = root.find("/opt/tools/fs_read", nil, o); err != nil || !b.Static || !slices.Contains(paths(b), "/usr") || !slices.Contains(paths(b), "/etc/passwd") {
		t.Errorf("%q, %v", paths(b), err)
	}
	// A script starts programs, whatever runs it.
	if b, err = root.find("/opt/tools/sh", nil, options()); err != nil || b.Static || !slices.Contains(paths(b), "/usr") {
		t.Errorf("%v, %v", b, err)
	}
}

// What starts a program is found behind scripts, links and env.
func TestChain(t *testing.T) {
	root := with(debian, files{
		"/ws/a.sh*": "#!/bin/sh -e\n", "/ws/b.py*": "#!/usr/bin/env python3\nprint()\n", "/ws/c*": "#! /usr/bin/env -S -u Y X=1 bash --flag\n", "/ws/d*": "#!/usr/bin/env mine\n",
		"/home/u/bin/mine*": "#!/usr/bin/env -S bash -e\n", "/ws/nonl*": "#!/bin/sh", "/ws/rel*": "#!tools/run\n", "/ws/tools/run*": makeELF(""),
		"/ws/one*": "#!/ws/two\n", "/ws/two*": "#!/ws/three\n", "/ws/three*": "#!/ws/four\n", "/ws/four*": "#!/bin/sh\n", "/ws/zero*": "#!/ws/one\n",
		"/ws/self*": "#!/ws/self\n", "/home/u/bin/hidden*": makeELF(""),
		"/ws/gone*": "#!/usr/bin/gone\n", "/ws/noenv*": "#!/usr/bin/env gone\n", "/ws/steal*": "#!/home/u/.ssh/id_rsa\n", "/ws/stealdir*": "#!/home/u/.ssh\n",
		"/ws/stealelf*": makeELF("/home/u/.ssh/id_rsa"), "/ws/stealenv*": "#!/usr/bin/env /home/u/.ssh/id_rsa\n", "/ws/relelf*": makeELF("ld.so"), "/ws/text": "x", "/ws/dir/x": "",
		"/ws/empty*": "", "/ws/data*": "\x00\x01binary", "/ws/windows*": "#!/bin/sh\r\n", "/ws/winenv*": "#!/usr/bin/env gone\r\n",
	}).tree(t)
	loader := "/usr/lib/x86_64-linux-gnu/ld-2.36.so"
	bash := []string{"/usr/bin/bash", loader}
	env := []string{"/usr/bin/env", loader}
	for _, c := range []struct {
		program string
		argv    string
		chain   []string
		err     string
	}{
		{"/ws/a.sh", "", joined([]string{"/ws/a.sh"}, bash), ""},
		{"/ws/nonl", "", joined([]string{"/ws/nonl"}, bash), ""},
		{"/ws/b.py", "", joined([]string{"/ws/b.py"}, env, []string{"/usr/bin/python3.11", loader}), ""},
		{"/ws/c", "", joined([]string{"/ws/c"}, env, bash), ""},
		{"/home/u/bin/mine", "", joined([]string{"/home/u/bin/mine"}, env, bash), ""},
		// What else lies in the workspace the rules grant, or do not.
		{"/ws/rel", "", []string{"/ws/rel"}, ""},
		{"/ws/one", "", joined([]string{"/ws/one"}, bash), ""},
		{"/usr/bin/env", "env A=1 bash /ws/x", joined(env, bash), ""},
		// An argument gives no file by its path, and need not mean a program at all.
		{"/usr/bin/env", "env /home/u/bin/hidden", env, ""},
		{"/usr/bin/env", "env nothing", env, ""},
		{"/usr/bin/env", "env", env, ""},
		{"/bin/sh", "sh hidden", bash, ""},
		{"/ws/empty", "", []string{"/ws/empty"}, ""},
		{"/ws/data", "", []string{"/ws/data"}, ""},
		{"/ws/relelf", "", []string{"/ws/relelf"}, ""},

		{"/ws/zero", "", nil, "/ws/zero cannot be started: it is more than 4 interpreters deep"},
		{"/ws/self", "", nil, "more than 4 interpreters deep"},
		{"/ws/gone", "", nil, "the first line of /ws/gone names /usr/bin/gone: no such file or directory\ninstall it"},
		{"/ws/windows", "", nil, "the first line of /ws/windows names \"/bin/sh\\r\": no such file or directory\nend its lines as Unix does"},
		{"/ws/winenv", "", nil, "asks env for \"gone\\r\", which is not in PATH\nend its lines as Unix does"},
		{"/ws/noenv", "", nil, "the first line of /ws/noenv asks env for gone, which is not in PATH"},
		{"/ws/steal", "", nil, "names /home/u/.ssh/id_rsa: permission denied"},
		{"/ws/stealdir", "", nil, "permission denied"},
		{"/ws/stealelf", "", nil, "the loader of /ws/stealelf, /home/u/.ssh/id_rsa: permission denied"},
		{"/ws/stealenv", "", nil, "permission denied"},
		{"/ws/text", "", nil, "/ws/text cannot be started: permission denied"},
		{"/ws/dir", "", nil, "permission denied"},
		{"/ws/none", "", nil, "/ws/none cannot be started: no such file or directory"},
		{"ws/a.sh", "", nil, "is not absolute"},
	} {
		b, err := root.find(c.program, strings.Fields(c.argv), options())
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.program, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.program, err)
			continue
		}
		if !slices.Equal(b.Chain, c.chain) {
			t.Errorf("%s %s:\n%q, want\n%q", c.program, c.argv, b.Chain, c.chain)
		}
		for _, file := range c.chain {
			if !slices.ContainsFunc(b.Grants, func(g fit.Grant) bool { return fit.Holds(g.Path, file) }) {
				t.Errorf("%s: %s is not granted", c.program, file)
			}
		}
		if slices.ContainsFunc(b.Links, func(l fit.Grant) bool { return fit.Holds("/ws", l.Path) || fit.Holds("/usr", l.Path) }) {
			t.Errorf("%s: links %v", c.program, b.Links)
		}
	}
}

// What a program says of itself opens nothing outside of the system's directories, whether the kernel would
// start it so or not.
func TestClaimsOpenNothing(t *testing.T) {
	const loader, hidden = "/usr/lib/x86_64-linux-gnu/ld-2.36.so", "/home/u/bin/hidden"
	narrow := []byte(makeELF(hidden))
	narrow[4] = 1 // a program for 32 bits, to who looks here only
	binary.LittleEndian.PutUint32(narrow[28:], 64)
	binary.LittleEndian.PutUint16(narrow[42:], 32)
	binary.LittleEndian.PutUint16(narrow[44:], 1)
	binary.LittleEndian.PutUint32(narrow[64:], uint32(elf.PT_INTERP))
	binary.LittleEndian.PutUint32(narrow[64+4:], 64+2*56)
	binary.LittleEndian.PutUint32(narrow[64+16:], uint32(len(hidden)+1))
	root := with(debian, files{
		hidden + "*": "#!/bin/sh\npassword=1\n", "/ws/line*": "#!" + hidden + "\n", "/ws/env1*": "#!/usr/bin/env hidden\n", "/ws/env2*": "#!/usr/bin/env " + hidden + "\n",
		"/ws/env3*": "#!/usr/bin/env -S -iu " + hidden + " sh\n", "/ws/env4*": "#!/usr/bin/env -S --uns " + hidden + " sh\n", "/ws/env5*": "#!/usr/bin/env -vS-iu " + hidden + " sh\n",
		"/ws/env*": makeELF(""), "/ws/own*": "#!/ws/env " + hidden + "\n", "/ws/elf*": makeELF(hidden), "/ws/narrow*": string(narrow), "/ws/link": "-> " + hidden, "/ws/line2*": "#!/ws/link\n",
		"/ws/.env*": "TOKEN=1", "/ws/inside*": "#!/ws/.env\n", "/ws/inside2*": makeELF("/ws/.env"),
		"/usr/local/bin/node": "-> /opt/node/bin/node", "/opt/node/bin/node*": makeELF(""), "/ws/node*": "#!/usr/local/bin/node\n", "/ws/node2*": "#!/usr/bin/env node\n", "/ws/node3*": "#!/opt/node/bin/node\n",
	}).tree(t)
	env := []string{"/usr/bin/env", loader}
	for program, c := range map[string]struct{ chain, outside []string }{
		"/ws/line":   {nil, []string{hidden}},
		"/ws/line2":  {nil, []string{hidden}},
		"/ws/env1":   {env, []string{hidden}},
		"/ws/env2":   {env, []string{hidden}},
		"/ws/env3":   {joined(env, []string{"/usr/bin/bash", loader}), nil},
		"/ws/env4":   {joined(env, []string{"/usr/bin/bash", loader}), nil},
		"/ws/env5":   {joined(env, []string{"/usr/bin/bash", loader}), nil},
		"/ws/own":    {nil, []string{hidden}},
		"/ws/elf":    {nil, []string{hidden}},
		"/ws/narrow": {nil, []string{hidden}},
		"/ws/link":   {nil, []string{hidden}},
		"/ws/inside": {}, "/ws/inside2": {},
		// The administrator's links are believed.
		"/ws/node":  {[]string{"/opt/node/bin/node"}, nil},
		"/ws/node2": {joined(env, []string{"/opt/node/bin/node"}), nil},
		"/ws/node3": {nil, []string{"/opt/node/bin/node"}},
	} {
		b, err := root.find(program, nil, options())
		if err != nil {
			t.Errorf("%s: %v", program, err)
			continue
		}
		want := c.chain
		if program != "/ws/link" {
			want = joined([]string{program}, c.chain)
		}
		if !slices.Equal(b.Chain, want) || !slices.Equal(b.Outside, c.outside) {
			t.Errorf("%s: %q, %q outside, want %q and %q", program, b.Chain, b.Outside, want, c.outside)
		}
		for _, g := range b.Grants {
			if fit.Holds(g.Path, hidden) || fit.Holds(g.Path, "/ws/.env") {
				t.Errorf("%s: %s is granted", program, g.Path)
			}
		}
	}
}

func joined(parts ...[]string) []string { return slices.Concat(parts...) }

func TestNixOS(t *testing.T) {
	glibc, bash, profile := "/nix/store/aaa-glibc/lib/ld-linux.so", "/nix/store/bbb-bash/bin/bash", "/nix/store/ccc-profile"
	root := files{
		glibc + "*": makeELF(""), bash + "*": makeELF(glibc), profile + "/bin/bash": "-> " + bash, "/bin/sh": "-> " + bash,
		"/nix/var/nix/profiles/system": "-> " + profile, "/run/current-system": "-> /nix/var/nix/profiles/system", "/etc/static": "-> " + profile, "/etc/passwd": "",
		"/ws/x*": "#!/usr/bin/env bash\n", "/usr/bin/env": "-> " + bash, "/nix/secret": "",
	}.tree(t)
	o := &Options{Workspace: "/ws", Path: "/run/current-system/bin:/usr/local/bin"}
	b, err := root.find("/ws/x", nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"/bin", "/etc/passwd", "/nix/store", "/usr", "/ws/x"}; !slices.Equal(paths(b), want) {
		t.Errorf("%q, want %q", paths(b), want)
	}
	want := []string{"/etc/static", "/nix/var/nix/profiles/system", "/run/current-system"}
	if !slices.Equal(linked(b), want) {
		t.Errorf("%v, want %v", b.Links, want)
	}
	// Elsewhere the store is nobody's business.
	if b, err = with(debian, files{"/nix/store/x": ""}).tree(t).find("/bin/sh", nil, options()); err != nil || slices.Contains(paths(b), "/nix/store") {
		t.Errorf("%v, %v", b, err)
	}
}

func TestFedora(t *testing.T) {
	root := with(debian, files{
		"/etc/pki/tls/certs/ca-bundle.crt": "-> /etc/pki/ca-trust/extracted/pem/ca.pem", "/etc/pki/ca-trust/extracted/pem/ca.pem": "", "/etc/pki/tls/private/k!": "",
		"/etc/crypto-policies/back-ends/openssl.config": "",
	}).tree(t)
	b, err := root.find("/bin/sh", nil, options())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"/etc/pki/tls/certs", "/etc/pki/ca-trust", "/etc/crypto-policies"} {
		if !slices.Contains(paths(b), want) {
			t.Errorf("%q has no %s", paths(b), want)
		}
	}
}

func TestExtra(t *testing.T) {
	root := with(debian, files{"/home/u/.cargo/bin/x*": "", "/opt/go": "-> /data/go", "/data/go/bin/go*": "", "/bad": "-> /", "/usr/share/x": "", "/loop": "-> loop"}).tree(t)
	o := options()
	o.Extra = []Extra{
		{"/home/u/.cargo", jptool.Read | jptool.Execute, "a:1"},
		{"/opt/go", jptool.Read, "a:2"},
		{"/not/there", jptool.Read, "a:3"},
		{"/home/u/.cargo/bin", jptool.Read | jptool.Write, "a:4"},
		{"/usr/share", jptool.Read, "a:5"},
		{"/etc/passwd", jptool.Update, "a:6"},
	}
	b, err := root.find("/bin/sh", nil, o)
	if err != nil {
		t.Fatal(err)
	}
	caps := map[string]jptool.Caps{}
	for _, g := range b.Grants {
		caps[g.Path] = g.Caps
	}
	for path, want := range map[string]jptool.Caps{
		"/home/u/.cargo": run, "/data/go": jptool.Read, "/home/u/.cargo/bin": jptool.Read | jptool.Write, "/usr/share": 0, "/usr": run, "/etc/passwd": run | jptool.Update,
	} {
		if caps[path] != want {
			t.Errorf("%s: %s, want %s", path, caps[path], want)
		}
	}
	if !slices.Contains(linked(b), "/opt/go") || len(b.Missing) != 1 || b.Missing[0].Origin != "a:3" {
		t.Errorf("links %v, missing %v", b.Links, b.Missing)
	}
	if !slices.IsSortedFunc(b.Grants, func(a, b fit.Grant) int { return comparePaths(a.Path, b.Path) }) {
		t.Errorf("not in order: %q", paths(b))
	}
	for path, want := range map[string]string{"/bad": "/ is everything", "/proc/self": "other processes", "rel": "not absolute", "/loop": "too many levels"} {
		o.Extra = []Extra{{path, run, "config.toml:3"}}
		if _, err := root.find("/bin/sh", nil, o); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "config.toml:3: sandbox.paths: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// Each look finds what is there now.
func TestReplaced(t *testing.T) {
	root := debian.tree(t)
	find := func() *Baseline {
		b, err := root.find("/bin/sh", nil, &Options{Workspace: "/ws", Network: true})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	id := func(b *Baseline, path string) fit.ID {
		for _, g := range b.Grants {
			if g.Path == path {
				return g.ID
			}
		}
		return fit.ID{}
	}
	first, _ := json.Marshal(find())
	if again, _ := json.Marshal(find()); string(again) != string(first) {
		t.Errorf("%s, then %s", first, again)
	}
	for _, path := range []string{"/etc/ld.so.cache", "/run/systemd/resolve/stub-resolv.conf", "/etc/ssl/certs", "/usr"} {
		before := id(find(), path)
		at := filepath.Join(root.root, path)
		if err := os.Rename(at, at+".old"); err != nil {
			t.Fatal(err)
		}
		if info, _ := os.Lstat(at + ".old"); info.IsDir() {
			// Its content as before: a copy of the directory.
			if err := os.CopyFS(at, os.DirFS(at+".old")); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(at, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if after := id(find(), path); after == before || after.Ino == 0 {
			t.Errorf("%s: %v before, %v after it was replaced", path, before, after)
		}
	}
	if err := os.WriteFile(root.root+"/etc/services", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if id(find(), "/etc/services").Ino == 0 {
		t.Error("a new file was not noticed")
	}
}
