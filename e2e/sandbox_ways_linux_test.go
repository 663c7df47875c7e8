package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// meanwhile starts a program, which says that it is ready and waits for good/go, has somebody outside do something, and
// returns how the program ended. It is told to go on if it was not ended for a while.
func (w *world) meanwhile(argv []string, does string, patience time.Duration) ran {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), w.limit)
	defer cancel()
	cmd := w.command(ctx, argv...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	stdout := bufio.NewReader(pipe)
	if line, err := stdout.ReadString('\n'); err != nil {
		w.t.Fatalf("%q said %q: %v\n%s", argv, line, err, stderr.String())
	}
	if a, b, swap := strings.Cut(does, " <-> "); swap {
		if err := exchange(filepath.Join(w.root, a), filepath.Join(w.root, b)); err != nil {
			w.t.Fatal(err)
		}
	} else if r := w.run("/bin/sh", "-ec", does); r.code != 0 {
		w.t.Fatalf("%s: %s", does, r)
	}
	var rest []byte
	ended := make(chan struct{})
	go func() {
		rest, _ = io.ReadAll(stdout)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
	}
	w.files(map[string]string{"ws/good/go": ""})
	<-ended
	_ = cmd.Wait()
	return ran{cmd.ProcessState.ExitCode(), string(rest), stderr.String()}
}

// waiting reads a file when it is told to.
func waiting(name string) []string {
	return []string{"/bin/sh", "-c", "echo ready; until [ -e good/go ]; do sleep 0.02; done; cat " + name + "; echo over"}
}

// Somebody outside who exchanges a link or a directory on the way to what is withheld does not move the rule elsewhere:
// the call ends at once, whatever stands there then, and also when it is gone again.
func TestSandboxWayExchanged(t *testing.T) {
	for _, c := range []struct {
		name, path string
		does       string // {S} is the secret
		lost       string
	}{
		{"link replaced", "sub/.env", "rm sub; mkdir sub; echo {S} > sub/.env", "sub"},
		{"link to elsewhere", "sub/.env", "echo {S} > other/.env; ln -sfn other sub", "sub"},
		{"link exchanged", "sub/.env", "sub <-> full", "sub"},
		{"granted directory in the place of the link", "sub/.env", "rm sub; mv other sub; echo {S} > sub/.env", "sub"},
		{"second link", "chain/.env", "rm sub; mkdir sub; echo {S} > sub/.env", "sub"},
		{"link to what is missing", "sub/new", "rm sub; mkdir sub; echo {S} > sub/new", "sub"},
		{"link in a directory", "in/sub/.env", "mv in old; mkdir -p in/sub; echo {S} > in/sub/.env", "in"},
		{"directory replaced", "real/deep/.env", "mv real old; mkdir -p real/deep; echo {S} > real/deep/.env", "real"},
		{"directory exchanged", "real/deep/.env", "real <-> full", "real"},
		{"granted directory in its place", "real/deep/.env", "mv real old; mv other real; mkdir real/deep; echo {S} > real/deep/.env", "real"},
		{"withheld directory itself", "real", "mv real old; mv other real; mkdir real/deep; echo {S} > real/deep/.env", "real"},
		{"for a moment", "real/deep/.env", "mv real old; mv old real", "real"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			eachUser(t, func(t *testing.T, user string) {
				try := func(tier string, grants ...string) ran {
					w := newWorld(t, user)
					w.files(map[string]string{
						"ws/real/.env": w.secret, "ws/real/deep/.env": w.secret, "ws/other/f": "", "ws/in/f": "",
						"ws/full/.env": w.secret, "ws/full/deep/.env": w.secret,
					})
					for link, to := range map[string]string{"sub": "real", "chain": "sub", "in/sub": "../real"} {
						if err := os.Symlink(to, filepath.Join(w.root, link)); err != nil {
							t.Fatal(err)
						}
					}
					w.own()
					name := c.path
					if name == "real" {
						name += "/deep/.env"
					}
					w.files(map[string]string{
						"reads":  `{"fs":[{"path":".","read":true,"execute":true},{"path":"` + c.path + `"}]}`,
						"writes": `{"fs":[{"path":".","read":true,"write":true,"execute":true},{"path":"` + c.path + `"}]}`,
					})
					if !slices.Contains(grants, "--policy") {
						grants = append(grants, "--deny", c.path)
					}
					argv := contain(tier, grants, waiting(name)...)
					patience := 5 * time.Second
					if tier == uncontained {
						patience = 0
					}
					r := w.meanwhile(argv, strings.ReplaceAll(c.does, "{S}", w.secret), patience)
					r.stdout = strings.ReplaceAll(r.stdout, w.secret, "SECRET")
					return r
				}
				if r := try(uncontained); !strings.Contains(r.stdout, "SECRET") || r.code != 0 {
					t.Fatalf("the control did not work: %s", r)
				}
				eachTier(t, user, func(t *testing.T, tier string) {
					all := [][]string{{"--policy", "../reads"}, {"--policy", "../writes"}, {"--required", "--policy", "../reads"}}
					if !strings.HasSuffix(c.path, "/new") { // a flag withholds what is there
						all = append(all, []string{"--ro", "."}, []string{"--rw", "."})
					}
					for _, grants := range all {
						r := try(tier, grants...)
						says := fmt.Sprintf("the call was ended: %s was replaced, moved or removed", c.lost)
						// Of a directory that is moved, what is in it may be named.
						inside := fmt.Sprintf("the call was ended: %s/", c.lost)
						if r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, says) && !strings.Contains(r.stderr, inside) {
							t.Errorf("%q: %s", grants, r)
						}
					}
				})
			})
		})
	}
}

// The ways of rules that take nothing away, and the links of mounts, may be exchanged while a call runs.
func TestSandboxOtherWaysExchanged(t *testing.T) {
	const does = "mv docs old; mkdir docs; rm m; ln -s outside2 m; rm fork; ln -s ../outside/dir fork"
	eachUser(t, func(t *testing.T, user string) {
		eachTier(t, user, func(t *testing.T, tier string) {
			w := newWorld(t, user)
			for link, to := range map[string]string{"m": "docs", "fork": "../outside"} {
				if err := os.Symlink(to, filepath.Join(w.root, link)); err != nil {
					t.Fatal(err)
				}
			}
			w.files(map[string]string{"policy": `{"fs":[{"path":".","read":true,"execute":true},{"path":"docs","read":true,"execute":true},
				{"path":"fork","external":true,"approved_target":"` + w.outside + `","read":true},{"path":"fork/dir/f"},{"path":"src/private"}]}`})
			w.own()
			for _, grants := range [][]string{{"--policy", "../policy"}, {"--ro", ".", "--ro", "docs", "--deny", "src/private"}} {
				if r := w.meanwhile(contain(tier, slices.Concat(grants, []string{"-q"}), waiting("good/f")...), does, time.Second); r.code != 0 || r.stdout != "harmless\nover\n" {
					t.Errorf("%q: %s", grants, r)
				}
				if r := w.run("/bin/sh", "-ec", "rm -r docs good/go; mv old docs"); r.code != 0 {
					t.Fatal(r)
				}
			}
		})
	})
}

// A directory on the way that this user can neither read nor change cannot be watched. All else is.
func TestSandboxWayUnreadable(t *testing.T) {
	const user = "ordinary"
	needTier(t, user, namespaces) // Landlock alone cannot list what is in the directory, and grants nothing
	if os.Geteuid() != 0 {
		t.Skip("not run: only root can make a directory of somebody else")
	}
	w := newWorld(t, user)
	w.files(map[string]string{"ws/a/b/s": w.secret})
	w.own()
	if err := errors.Join(os.Chown(w.root+"/a", 0, 0), os.Chmod(w.root+"/a", 0o711)); err != nil {
		t.Fatal(err)
	}
	w.files(map[string]string{"policy": `{"fs":[{"path":".","read":true,"execute":true},{"path":"a/b/s"},{"path":"new"}]}`})
	argv := contain(namespaces, []string{"--required", "--policy", "../policy"}, waiting("new")...)
	if r := w.meanwhile(argv, "echo "+w.secret+" > new", 5*time.Second); r.code != 1 || r.stdout != "" || !strings.Contains(r.stderr, "the call was ended: new appeared") {
		t.Error(r)
	}
}
