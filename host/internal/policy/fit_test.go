package policy_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/fit/testdata/fittest"
)

var update = flag.Bool("update", false, "write what came out to testdata/fit; read the difference")

// TestTable fits what testdata/fit says, one archive a case:
//
//	tree     what is in $DIR, as jptooltest.Tree reads it; the workspace is $DIR/ws
//	tool     a tool of the built-in layer, or t; every external path is approved
//	user     the user's own configuration
//	options  landlock N, no namespaces, no seccomp, tier X, required, runtime PATH CAPS, unmade PATH,
//	         argument TEXT
//	want     the effective policy, the plan, and what is said about it
func TestTable(t *testing.T) {
	t.Setenv("TMPDIR", "/var/tmp") // around a workspace below /tmp there is a private /tmp, which takes further mounts
	if probe, err := os.MkdirTemp("", "table"); err != nil {
		t.Skipf("not run: workspaces lie in /var/tmp: %v", err)
	} else if real, err := filepath.EvalSymlinks(probe); err != nil || os.Remove(probe) != nil || real != probe {
		t.Skipf("not run: a sandbox around this process has no /var/tmp but a link: %s, %v", real, err)
	}
	files, err := filepath.Glob("testdata/fit/*.txtar")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			section := map[string]string{}
			for _, f := range a.Files {
				section[f.Name] = string(f.Data)
			}
			dir := jptooltest.TempRoot(t)
			got := strings.ReplaceAll(table(t, dir, section), dir, "$DIR")
			if *update {
				for i := range a.Files {
					if a.Files[i].Name == "want" {
						a.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(section["want"], got); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

func table(t *testing.T, dir string, section map[string]string) string {
	jptooltest.Tree(t, dir, "dir ws", "dir home")
	jptooltest.Tree(t, dir, lines(section["tree"])...)
	d := compile(t, dir, strings.TrimSpace(section["tool"]), strings.ReplaceAll(section["user"], "$DIR", dir))
	m := fit.Machine{Landlock: 7, Namespaces: true, Seccomp: true, Notify: true, Why: map[string]string{"namespaces": "user namespaces are switched off"}}
	var o fit.Options
	for _, line := range lines(strings.ReplaceAll(section["options"], "$DIR", dir)) {
		f := strings.Fields(line)
		switch {
		case f[0] == "landlock":
			if _, err := fmt.Sscan(f[1], &m.Landlock); err != nil {
				t.Fatal(err)
			}
		case line == "no namespaces":
			m.Namespaces = false
		case line == "no seccomp":
			m.Seccomp = false
		case f[0] == "tier":
			o.Tier = fit.Tier(f[1])
		case f[0] == "unmade":
			o.NoMake = map[string]error{f[1]: syscall.EROFS}
		case f[0] == "argument":
			o.Arguments = append(o.Arguments, f[1])
		case line == "required":
			o.Required = true
		case f[0] == "runtime":
			g := fit.Grant{Node: fit.Node{Path: f[1], Kind: fit.Dir}}
			if fi, err := os.Stat(f[1]); err == nil && !fi.IsDir() {
				g.Kind = fit.File
			}
			for _, name := range f[2:] {
				c, ok := jptool.ParseCapability(name)
				if !ok {
					t.Fatalf("option %q", line)
				}
				g.Caps |= c
			}
			o.Runtime = append(o.Runtime, g)
		default:
			t.Fatalf("option %q", line)
		}
	}
	p, err := fit.Prepare(context.Background(), d.ForFit(), m, o)
	var refused *fit.RefusedError
	if err != nil && !errors.As(err, &refused) {
		return "ERROR " + err.Error() + "\n"
	}
	text := fittest.Show(p.Fitted)
	if n := p.Plan.Net; n.Open {
		text += fmt.Sprintf("NET %v\n", n.Ports)
	} else if n.Own {
		text += "NET own\n"
	}
	if refused != nil {
		text += "REFUSED " + refused.Error() + "\n"
	}
	for _, r := range p.Rules {
		if !strings.Contains(r.Rule, "{ name") {
			text += "BY " + r.Rule + ": " + r.EnforcedBy + "\n"
		}
	}
	if err := p.Undo(); err != nil {
		t.Error(err)
	}
	return text
}

func lines(text string) []string {
	var list []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

// compile is a tool's policy as the host compiles it, with the user's configuration.
func compile(t testing.TB, dir, tool, user string) *policy.Declared {
	t.Helper()
	root, mine := dir+"/ws", dir+"/home/config.toml"
	user = "conversation.tools.t.source = \"local\"\nconversation.tools.t.command = \"t\"\n" + user
	if err := os.WriteFile(mine, []byte(user), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Options{Root: root, Cwd: root, UserGlobal: mine, Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		t.Fatal(err)
	}
	local, ok := cfg.Tool(tool)
	if !ok {
		t.Fatalf("no tool %q", tool)
	}
	d, err := policy.Compile(context.Background(), policy.Request{
		Workspace: ws, Config: cfg, Tool: local, Home: dir + "/home", StateDir: dir + "/home/state", OSSandbox: true,
		Approve: func(_ context.Context, r consent.Request) (consent.Result, error) {
			return consent.Result{Approved: true}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
