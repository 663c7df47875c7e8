package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/state"
)

// faulty fails one operation on one path.
type faulty struct {
	state.FS
	path, op string
	err      error
}

func (f faulty) Stat(name string) (os.FileInfo, error) {
	if name == f.path && f.op == "stat" {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: f.err}
	}
	return f.FS.Stat(name)
}

func (f faulty) Open(name string) (afero.File, error) {
	if name == f.path && f.op == "open" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: f.err}
	}
	file, err := f.FS.Open(name)
	if name == f.path && f.op == "read" && err == nil {
		return tornFile{file, f.err}, nil
	}
	return file, err
}

// tornFile gives a little and then fails, as a disk does.
type tornFile struct {
	afero.File
	err error
}

func (f tornFile) Read(p []byte) (int, error) {
	if n, err := f.File.Read(p[:min(len(p), 10)]); err == nil && n > 0 {
		return n, f.err
	}
	return 0, f.err
}

// A file that exists and cannot be read is an error in every layer and at every step,
// never an empty layer.
func TestUnreadableFiles(t *testing.T) {
	paths := []string{userFile, workspaceFile, "/ws/.jp.toml", "/ws/a/.jp.toml", dataFile, talkFile, "/ws/a/extra.toml"}
	all := files{}
	for _, p := range paths {
		all[p] = "conversation.tools.x.run = \"ask\"\n"
	}
	faults := map[string][]error{
		"stat": {fs.ErrPermission, syscall.EIO, syscall.ENOTDIR, syscall.ELOOP},
		"open": {fs.ErrPermission, syscall.EIO, fs.ErrNotExist},
		"read": {syscall.EIO, io.ErrUnexpectedEOF},
	}
	n := 0
	for _, path := range paths {
		for op, list := range faults {
			for _, fault := range list {
				if path == "/ws/a/extra.toml" && op == "stat" {
					continue // then it is not known to be a file
				}
				o := options(t, nil)
				o.Cwd, o.Args = "/ws/a", []string{"extra.toml"}
				o.FS = faulty{all.fs(t), path, op, fault}
				_, err := Load(o)
				n++
				var list settings.Errors
				// It may be that there is no file: then neither of its making nor removal can be spoken.
				help := "\n  make it a readable file, or remove it"
				if errors.Is(fault, syscall.ENOTDIR) {
					help = "\n  a file stands where one of its directories should be: move that file away"
				}
				if errors.Is(fault, fs.ErrPermission) {
					help = "\n  see that you may read it and enter the directories on its path"
				}
				if !errors.As(err, &list) || !strings.HasPrefix(err.Error(), path+": cannot read this configuration: ") ||
					!strings.HasSuffix(err.Error(), help) {
					t.Errorf("%s of %s fails with %v: got %v", op, path, fault, err)
				}
			}
		}
	}
	if n < 50 {
		t.Fatalf("only %d faults", n)
	}
}

// swapped does something at the n-th moment: there is one before and one after each look
// at what a path is.
type swapped struct {
	*afero.OsFs
	moment int
	do     func()
}

func (s *swapped) pass() {
	if s.moment--; s.moment == 0 {
		s.do()
	}
}

func (s *swapped) Stat(name string) (fs.FileInfo, error) {
	s.pass()
	defer s.pass()
	return s.OsFs.Stat(name)
}

// Who replaces the file of a repository while it is looked at does not get to read another one.
func TestSwappedForALinkOutside(t *testing.T) {
	for name, c := range map[string]struct{ file, swap, to string }{
		"the file":                    {".jp.toml", ".jp.toml", "secret"},
		"its directory":               {".jp/config.toml", ".jp", "."},
		"what a link inside leads to": {"real.toml", "real.toml", "secret"},
	} {
		swaps := 0
		for moment := 1; moment < 9; moment++ {
			top, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			ws := filepath.Join(top, "ws")
			must(t, os.MkdirAll(filepath.Join(ws, ".jp"), 0o755))
			must(t, os.WriteFile(filepath.Join(ws, filepath.FromSlash(c.file)), nil, 0o644))
			if c.file == "real.toml" {
				must(t, os.Symlink("real.toml", filepath.Join(ws, ".jp.toml")))
			}
			for _, secret := range []string{"secret", "config.toml"} {
				must(t, os.WriteFile(filepath.Join(top, secret), []byte("hunter2 = 1\n"), 0o644))
			}
			s := &swapped{OsFs: &afero.OsFs{}, moment: moment, do: func() {
				swaps++
				must(t, os.RemoveAll(filepath.Join(ws, c.swap)))
				must(t, os.Symlink(filepath.Join(top, c.to), filepath.Join(ws, c.swap)))
			}}
			_, err = Load(Options{FS: s, Root: ws, Cwd: ws})
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s, at moment %d: another file was read: %v", name, moment, err)
			}
		}
		if swaps < 4 {
			t.Errorf("%s: swapped only %d times", name, swaps)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What is no regular file is not opened, and what is no file is no absent one.
func TestStrangeFiles(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, ".jp.toml")
	tests := []struct {
		name, want string
		make       func() error
	}{
		{"a dangling link", "it is, or lies below, a link that leads to nothing", func() error { return os.Symlink("nowhere", file) }},
		{"a loop", "too many levels of symbolic links", func() error { return os.Symlink(".jp.toml", file) }},
		{"a directory", "it is not a regular file", func() error { return os.Mkdir(file, 0o755) }},
		{"a huge file", "it is longer than 4 MiB", func() error { return os.WriteFile(file, make([]byte, maxFile+1), 0o644) }},
	}
	for _, tt := range tests {
		if err := tt.make(); err != nil {
			t.Skipf("%s cannot be made here: %v", tt.name, err)
		}
		_, err := Load(Options{Root: root, Cwd: root})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("nowhere/deep", filepath.Join(root, ".jp")); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{Root: root, Cwd: root}); err == nil || !strings.Contains(err.Error(), "lies below, a link that leads to nothing") {
		t.Errorf(".jp leads to nothing: %v", err)
	}
	if err := os.Remove(filepath.Join(root, ".jp")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".jp"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(Options{Root: root, Cwd: root}); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf(".jp is a file: %v", err)
	}
}

// A repository's file that lies elsewhere is not read: a message about it would quote what the
// person may read and the repository's author may not.
func TestLinksOutOfTheWorkspace(t *testing.T) {
	out, root := t.TempDir(), t.TempDir()
	for _, dir := range []*string{&out, &root} {
		real, err := filepath.EvalSymlinks(*dir)
		if err != nil {
			t.Fatal(err)
		}
		*dir = real
	}
	for _, dir := range []string{out + "/jp", root + "/in", root + "/sub"} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range map[string]string{out + "/secret": "token 12345", out + "/jp/config.toml": "token 12345", root + "/in/config.toml": "inherit = true"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(text, name string) {
		t.Helper()
		if err := os.Symlink(text, filepath.Join(root, name)); err != nil {
			t.Skipf("no symlinks here: %v", err)
		}
	}
	for _, tt := range []struct{ text, name, file string }{
		{out + "/secret", ".jp.toml", ".jp.toml"},
		{out + "/secret", "sub/.jp.toml", "sub/.jp.toml"},
		{"../" + filepath.Base(out) + "/../" + filepath.Base(out) + "/secret", ".jp.toml", ".jp.toml"},
		{out + "/jp", ".jp", ".jp/config.toml"},
	} {
		link(tt.text, tt.name)
		_, err := Load(Options{Root: root, Cwd: filepath.Join(root, "sub")})
		want := filepath.Join(root, tt.file) + ": cannot read this configuration: a link on its path leads out of the workspace\n" +
			"  copy the file into the workspace, or write its settings into your own configuration"
		if err == nil || err.Error() != want {
			t.Errorf("%s → %s: %v", tt.name, tt.text, err)
		}
		if err := os.Remove(filepath.Join(root, tt.name)); err != nil {
			t.Fatal(err)
		}
	}
	link("in", ".jp")
	if c, err := Load(Options{Root: root, Cwd: root}); err != nil || c.Layers()[1].State != Loaded && c.Layers()[2].State != Loaded {
		t.Errorf("a link within the workspace: %v", err)
	}
	// The user's own file may lie wherever they like.
	if err := os.WriteFile(out+"/own.toml", []byte("inherit = true"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(out+"/own.toml", "mine.toml")
	if _, err := Load(Options{Root: root, Cwd: root, Args: []string{"mine.toml"}}); err != nil {
		t.Error(err)
	}
}

// Each layer must parse, also one that sets nothing that matters.
func TestEveryLayerMustParse(t *testing.T) {
	for _, path := range []string{userFile, workspaceFile, "/ws/.jp.toml", dataFile, talkFile} {
		_, err := Load(options(t, files{path: "a = "}))
		if err == nil || !strings.HasPrefix(err.Error(), path+":1:4: not valid TOML: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
