package preset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// patience is how long a program may take to answer.
var patience = 5 * time.Second

const (
	// mostAnswer bounds what it may print, in bytes.
	mostAnswer = 16 << 10
	// mostSettings bounds what is read of a file of settings, in bytes.
	mostSettings = 1 << 20
	// neutral is the directory in which programs are asked: the system's, so that they find no settings of a project.
	neutral = "/usr"
)

// errUnconfined: nothing is asked without a sandbox.
var errUnconfined = errors.New("there is no sandbox to ask it in")

// answers asks a program for places and other settings, and adds what it says. The program reads itself, the system and its settings; it
// writes nothing, has no network, and gets no variable that nobody named. That it is not there is no error.
func (s *finder) answers(ctx context.Context, a *ask, to map[string]answer) error {
	if !s.worthAsking(a) {
		return nil
	}
	program := s.program(a.Command[0])
	if program == "" {
		return nil
	}
	environ := []string{"PATH=" + jptool.LookupEnv(s.Environ, "PATH"), "HOME=" + s.home, "LANG=C"}
	if xdg := jptool.LookupEnv(s.Environ, "XDG_CONFIG_HOME"); xdg != "" {
		environ = append(environ, "XDG_CONFIG_HOME="+xdg)
	}
	for _, name := range a.Env {
		if value := jptool.LookupEnv(s.Environ, name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	for name, value := range a.Set {
		environ = append(environ, name+"="+value)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	helpers := sandbox.NewHelpers(sandbox.HelperOptions{Once: true})
	defer helpers.Close()
	prepared, err := sandbox.Prepare(ctx, &jptool.AccessPolicy{
		FS:  []jptool.FsRule{sandbox.Grant("", jptool.Read|jptool.Execute)},
		Env: []jptool.EnvRule{{Name: "*", Read: true}},
	}, neutral, sandbox.Options{
		Machine: s.Machine, Environ: environ, Paths: s.needed(a, program), TempDir: s.TempDir, Helpers: helpers,
	})
	if err != nil {
		return err
	}
	cmd := prepared.Command(ctx, program, a.Command[1:]...)
	cmd.BeforeStart = func(at *sandbox.Attempt) error {
		if at.Plan.Tier == fit.TierNone {
			return errUnconfined
		}
		return nil
	}
	out := &bounded{}
	cmd.Stdout = out
	if err := cmd.Run(); err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSuffix(string(out.kept), "\n"), "\n")
	if len(lines) != len(a.Answers) {
		return fmt.Errorf("it answered %d lines instead of %d", len(lines), len(a.Answers))
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		// What has an @ may have a password: a program that is confined does not learn it.
		if !strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) && (filepath.IsAbs(line) || !strings.Contains(line, "@")) {
			to[a.Answers[i]] = answer{line, strings.Join(a.Command[:min(2, len(a.Command))], " ")}
		}
	}
	return nil
}

// worthAsking reports whether there are settings that only the program understands.
func (s *finder) worthAsking(a *ask) bool {
	return a.Mentions == "" || slices.ContainsFunc(a.Reads, func(spec string) bool {
		f, err := os.OpenFile(s.expand(spec), os.O_RDONLY|syscall.O_NONBLOCK, 0) // a FIFO does not hold it up
		if err != nil {
			return false
		}
		defer f.Close()
		data, _ := io.ReadAll(io.LimitReader(f, mostSettings))
		return bytes.Contains(data, []byte(a.Mentions))
	})
}

// Meant is the name of a program, if what is started is the program that PATH has under this name; "" if not. A file of
// that name in the workspace, or where programs may write, is somebody else's.
func Meant(program, root string, environ []string) string {
	s := newFinder(Request{Workspace: filepath.ToSlash(root), Environ: environ})
	name := filepath.Base(program)
	known := s.program(name)
	started, err := sandbox.LookPath(program, filepath.FromSlash(root), jptool.LookupEnv(environ, "PATH"))
	if known == "" || err != nil {
		return ""
	}
	a, errA := os.Stat(known)
	b, errB := os.Stat(started)
	if errA != nil || errB != nil || !os.SameFile(a, b) || s.planted(started) {
		return ""
	}
	return name
}

// planted reports whether a program is reached where a repository or a program may have put something.
func (s *finder) planted(program string) bool {
	to, err := wspath.CanonicalizeAbs(program, nil)
	return err != nil || s.theirs(to.Abs) || slices.ContainsFunc(to.Hops, func(h wspath.Hop) bool { return s.theirs(h.Entry) })
}

// program finds a program by its name; "" if there is none that may be asked. One that lies in the workspace, or where
// programs may write, is not: what it says would be what a repository says.
func (s *finder) program(name string) string {
	for _, dir := range filepath.SplitList(jptool.LookupEnv(s.Environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		program := filepath.Join(dir, name)
		found, err := sandbox.LookPath(program, neutral, "")
		if err != nil {
			continue
		}
		if !s.planted(found) {
			return found
		}
	}
	return ""
}

// theirs reports whether a path lies where a repository or a program may have put something.
func (s *finder) theirs(abs string) bool {
	return slices.ContainsFunc(append(slices.Clone(s.Writable), s.Workspace), func(dir string) bool {
		_, in := wspath.WithinAbs(dir, abs)
		return in && dir != ""
	})
}

// needed are the places that a program reads to answer: what it is installed with, if that is no place of secrets, and
// its files of settings. Links among them are followed only if they are the person's or the system's.
func (s *finder) needed(a *ask, program string) (list []baseline.Extra) {
	add := func(at string, exact bool) {
		to, err := wspath.CanonicalizeAbs(at, nil)
		if err != nil || to.Missing || s.theirs(to.Abs) {
			return
		}
		if _, in := wspath.WithinAbs(neutral, to.Abs); in || !exact && places.Never(to.Abs, false, false, s.homes()...) != "" {
			return
		}
		list = append(list, baseline.Extra{Path: to.Abs, Caps: jptool.Read | jptool.Execute, Origin: "presets"})
	}
	to, err := wspath.CanonicalizeAbs(program, nil)
	if err == nil {
		add(path.Dir(path.Dir(to.Abs)), false) // as bin/go in a toolchain
	}
	add(path.Dir(path.Dir(filepath.ToSlash(program))), false) // as bin/npm, a link to lib/…, in a version of Node.js
	for _, spec := range a.Reads {
		if at := s.expand(spec); at != "" {
			add(at, true)
		}
	}
	return list
}

// bounded keeps the beginning of what is written to it, and takes the rest too.
type bounded struct{ kept []byte }

// Write never fails.
func (b *bounded) Write(p []byte) (int, error) {
	b.kept = append(b.kept, p[:min(len(p), mostAnswer-len(b.kept))]...)
	return len(p), nil
}
