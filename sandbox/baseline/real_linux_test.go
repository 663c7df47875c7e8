package baseline

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// The reader of headers agrees with the standard library's on every program of this machine.
func TestImagesOfThisMachine(t *testing.T) {
	programs, scripts := 0, 0
	for _, dir := range []string{"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib64"} {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
				continue
			}
			real, err := filepath.EvalSymlinks(path)
			if err != nil {
				t.Fatal(err)
			}
			img := tree{}.image(real)
			if want, ok := oracle(real); ok {
				programs++
				loader := strings.HasPrefix(filepath.Base(real), "ld-")
				if img.interpreter != want || (img.format == static) != (want == "" && !loader) {
					t.Errorf("%s: %+v, want the interpreter %q", real, img, want)
				}
			} else if img.format == script {
				scripts++
			} else if img != (image{}) {
				t.Errorf("%s is no program: %+v", real, img)
			}
		}
	}
	if programs < 20 || scripts < 1 {
		t.Errorf("only %d programs and %d scripts were seen", programs, scripts)
	}
}

func oracle(path string) (interpreter string, ok bool) {
	f, err := elf.Open(path)
	if err != nil {
		return "", false
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			b := make([]byte, p.Filesz)
			if _, err := p.ReadAt(b, 0); err != nil {
				return "", false
			}
			return string(bytes.TrimRight(b, "\x00")), true
		}
	}
	return "", true
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "#!", "#!/bin/sh\n", "#! \t/usr/bin/env\t-S a b \nx", makeELF(""), makeELF("/lib/ld.so"), "\x7fELF\x01\x02\x01" + strings.Repeat("\xff", 200)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		img := parse(bytes.NewReader(b))
		switch img.format {
		case dynamic:
			if img.interpreter[0] != '/' || !bytes.Contains(b, []byte(img.interpreter)) {
				t.Errorf("the interpreter is %q", img.interpreter)
			}
		case script:
			if img.interpreter == "" || strings.ContainsAny(img.interpreter, " \t\n\x00") || strings.ContainsAny(img.argument, "\n\x00") {
				t.Errorf("%+v", img)
			}
		default:
			if img.interpreter != "" || img.argument != "" {
				t.Errorf("%+v", img)
			}
		}
	})
}

// TestStarts starts real programs in a root that has what the baseline says and nothing else.
func TestStarts(t *testing.T) {
	bwrap, err := exec.LookPath("bwrap")
	if err != nil {
		t.Skip("bwrap is not installed: real programs were not started")
	}
	ws := t.TempDir()
	if out, err := exec.Command(bwrap, "--ro-bind", "/", "/", "--", "/bin/true").CombinedOutput(); err != nil {
		t.Skipf("bwrap does not work here, so that real programs were not started: %v\n%s", err, out)
	}
	script := func(name, text string) string {
		path := filepath.Join(ws, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ran := 0
	for _, c := range []struct{ needs, program, want string }{
		{"sh", script("a", "#!/bin/sh\nid -un; date +%Z; ls -l /usr/bin/sh | cut -c1; awk 'BEGIN{print 1}'\n"), ""},
		{"bash", script("b", "#!/usr/bin/env bash\necho $((1+1))\n"), "2\n"},
		{"python3", script("c", "#!/usr/bin/env python3\nimport ssl, json, pwd, os\nprint(pwd.getpwuid(os.getuid()).pw_uid == os.getuid(), len(ssl.create_default_context().get_ca_certs()) > 0)\n"), "True True\n"},
		{"perl", script("d", "#!/usr/bin/perl -w\nuse strict; use POSIX; print strftime('%Z', localtime(0)) ne '', \"\\n\"\n"), "1\n"},
		{"git", script("e", "#!/bin/sh\ngit --version | cut -c1-11; git init -q x && git -C x status -s\n"), "git version\n"},
		{"java", script("f", "#!/bin/sh\njava -version 2>&1 | grep -c version\n"), "1\n"},
		{"sh", script("g", "#!/bin/sh\nfor f in /etc/shadow /etc/ssh /root /home /var /etc/hosts /run /sys /boot; do test -e $f && echo $f; done; true\n"), ""},
	} {
		if _, err := exec.LookPath(c.needs); err != nil {
			t.Logf("%s is not installed", c.needs)
			continue
		}
		b, err := For(c.program, nil, Options{Workspace: ws, Path: "/usr/local/bin:/usr/bin:/bin"})
		if err != nil {
			t.Errorf("%s: %v", c.program, err)
			continue
		}
		args := []string{"--clearenv", "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--proc", "/proc", "--unshare-pid", "--chdir", ws}
		for _, g := range b.Grants {
			args = append(args, "--ro-bind", g.Path, g.Path)
		}
		args = append(args, "--bind", ws, ws)
		for _, l := range b.Links {
			to, err := os.Readlink(l.Path)
			if err != nil {
				t.Fatal(err)
			}
			args = append(args, "--symlink", to, l.Path)
		}
		for _, d := range b.Devices {
			args = append(args, "--dev-bind", d, d)
		}
		cmd := exec.Command(bwrap, append(args, "--", c.program)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 || c.want != "" && string(out) != c.want {
			t.Errorf("%s: %v\n%s%s", c.program, err, out, stderr.Bytes())
		}
		if filepath.Base(c.program) == "g" && len(out) > 0 {
			t.Errorf("these should not be there:\n%s", out)
		}
		ran++
	}
	if ran == 0 {
		t.Error("nothing was started")
	}
}

// As an ordinary user nothing is needed that only root can look at.
func TestOrdinaryUser(t *testing.T) {
	const marker = "JPTOOLS_TEST_BASELINE_CHILD"
	if os.Getenv(marker) != "" {
		b, err := For("/bin/sh", nil, Options{Workspace: "/ws", Path: "/usr/bin", Network: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range b.Grants {
			f, err := os.Open(g.Path)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			f.Close()
			if g.Kind != fit.Dir && g.Kind != fit.File {
				t.Errorf("%+v", g)
			}
		}
		return
	}
	if !jptooltest.Root(t) {
		t.Skip("only root can become another user")
	}
	cmd := jptooltest.Ordinary(t, "-test.run=^TestOrdinaryUser$")
	cmd.Env = append(cmd.Env, marker+"=1")
	jptooltest.Passed(t, cmd)
}

func BenchmarkStatic(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	first, err := For(self, nil, Options{Workspace: "/ws"})
	if err != nil || !first.Static {
		b.Skipf("the test binary is not static (build with CGO_ENABLED=0): %v", err)
	}
	for b.Loop() {
		_, _ = For(self, nil, Options{Workspace: "/ws"})
	}
}

func BenchmarkDynamic(b *testing.B) {
	for b.Loop() {
		if _, err := For("/bin/sh", nil, Options{Workspace: "/ws"}); err != nil {
			b.Fatal(err)
		}
	}
}
