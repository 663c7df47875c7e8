package agreement

import (
	"context"
	"errors"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"golang.org/x/sys/unix"
)

// mountTwice mounts ro on pub/d, too.
func mountTwice(root string) { do(unix.Mount(root+"/ro", root+"/pub/d", "", unix.MS_BIND, "")) }

// TestDifferences shows that each known difference is exactly that: what the kernel does, beside
// what it still holds. The numbers are those of docs/known-differences.md. Each line of does is an
// operation and what comes of it, after "!" when the check says otherwise.
func TestDifferences(t *testing.T) {
	rule := jptooltest.Rule
	mount := func(path, target, caps string) jptool.FsRule {
		r := rule(path, caps)
		r.External, r.ApprovedTarget = true, &target
		return r
	}
	tree := []string{"file ws/pub/f", "file ws/ro/f", "file ws/secret/f", "file ws/secret/in/f", "dir ws/pub/d", "symlink ws/secret/l ../pub"}
	for _, c := range []struct {
		name, way string
		rules     []jptool.FsRule
		deny      []string
		before    func(root string)
		does      []string
		// after is what is found after the call, below the workspace.
		after string
	}{
		{
			name: "1 metadata, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("", "read"), rule("pub", "read update")},
			does: []string{"chmod ro/f = ok", "utime ro/f = ok", "append ro/f = EACCES", "truncate ro/f = EACCES"},
		},
		{
			name: "1 metadata, by mounts", way: "namespace", rules: []jptool.FsRule{rule("", "read write"), rule("ro", "read"), rule("secret", "")},
			does: []string{"chmod ro/f = EROFS", "utime ro/f = EROFS", "xattr ro/f = EROFS", "chmod secret/f = ENOENT", "chmod secret = EROFS", "chmod pub/f = ok"},
		},
		{
			name: "1 metadata, beside what is written", way: "namespace", rules: []jptool.FsRule{rule("", "read"), rule("pub", "read update")},
			does: []string{"chmod ro/f = EROFS", "utime ro/f = EROFS", "xattr . = EROFS", "chmod pub/f = ok", "append pub/f = ok", "append ro/f = EROFS"},
		},
		{
			name: "1 metadata, when nothing is written", way: "landlock", rules: []jptool.FsRule{rule("", "read")},
			does: []string{"chmod ro/f = EPERM", "utime ro/f = EPERM", "xattr ro/f = EPERM", "read ro/f = ok"},
		},
		{
			name: "2 names, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("pub", "read")},
			does: []string{"stat secret/f = ok", "stat secret/x = ENOENT", "read secret/f = EACCES", "list secret = EACCES", "mkdir secret/in = EEXIST", "mkdir secret/x = EACCES"},
		},
		{
			name: "2 names, masked", way: "namespace", rules: []jptool.FsRule{rule("", "read"), rule("secret", "")},
			does: []string{"stat secret/f = ENOENT", "stat secret = ok"},
		},
		{
			name: "3 a masked directory", way: "namespace", rules: []jptool.FsRule{rule("", "read write"), rule("secret", ""), rule("secret/in", "read")},
			does: []string{"! list secret = ok in", "read secret/in/f = ok", "read secret/f = ENOENT", "! read secret/l/f = ENOENT", "read pub/f = ok", "create secret/x = EROFS"},
		},
		{
			name: "3 a link outside of what is granted", way: "namespace", rules: []jptool.FsRule{rule("", "read write")},
			before: func(root string) {
				jptooltest.Tree(t, path.Dir(root), "symlink other/via $ROOT/ws/pub", "symlink ws/l $ROOT/other/via")
			},
			does: []string{"! read l/f = ENOENT", "read pub/f = ok"},
		},
		{
			name: "4 replacing, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("", "read create delete")},
			does: []string{"append ro/f = EACCES", "replace pub/f ro/f = ok"},
		},
		{
			name: "4 replacing, in a private tree", way: "namespace", rules: []jptool.FsRule{rule("", "read create delete")},
			does: []string{"append ro/f = EACCES", "exchange pub/f ro/f = ok"},
		},
		{
			name: "5 a hard link, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("", "read"), rule("pub", "read update")},
			before: func(root string) { do(os.Link(root+"/ro/f", root+"/pub/h")) },
			does:   []string{"append ro/f = EACCES", "append pub/h = ok"},
		},
		{
			name: "5 a hard link, in a private tree", way: "namespace", rules: []jptool.FsRule{rule("", "read write"), rule("ro", "read")},
			before: func(root string) { do(os.Link(root+"/ro/f", root+"/pub/h")) },
			does:   []string{"append ro/f = EROFS", "append pub/h = ok", "link ro/f pub/g = EXDEV"},
		},
		{
			name: "5 a file with a rule has another name, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("pub", "read"), rule("ro/f", "update")},
			before: func(root string) { do(os.Link(root+"/ro/f", root+"/pub/h")) },
			does:   []string{"append ro/f = ok", "! append pub/h = ok", "read pub/h = ok", "read ro/f = EACCES", "append pub/f = EACCES"},
		},
		{
			name: "5 mounted twice, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("", "read"), rule("pub/d", "read update")},
			before: mountTwice, does: []string{"append pub/d/f = ok", "! append ro/f = ok", "append pub/f = EACCES"},
		},
		{
			name: "5 mounted twice, in a private tree", way: "namespace", rules: []jptool.FsRule{rule("", "read"), rule("pub/d", "read update")},
			before: mountTwice, does: []string{"append pub/d/f = ok", "append ro/f = EROFS"},
		},
		{
			name: "6 between grants", way: "landlock", rules: []jptool.FsRule{rule("", "read"), rule("pub", "read create")},
			does: []string{"! link ro/f pub/g = EXDEV", "link pub/f pub/g = ok", "link pub/f ro/g = EACCES"},
		},
		{
			name: "6 gaining rights", way: "landlock", rules: []jptool.FsRule{rule("", "read create"), rule("pub", "read create update")},
			does: []string{"link ro/f pub/g = EXDEV", "link pub/f ro/g = ok"},
		},
		{
			name: "6 between mounts", way: "namespace", rules: []jptool.FsRule{rule("", "read write"), rule("ro", "read"), rule("pub/d", "read write")},
			does: []string{"! rename pub/f pub/d/f = EXDEV", "copy pub/f pub/d/f = ok", "! rename pub/d/f secret/g = EXDEV", "rename pub pub2 = EBUSY"},
		},
		{
			name: "7 missing", way: "landlock", rules: []jptool.FsRule{rule("", "read create update"), rule("new", "read")},
			does: []string{"! mkdir new = ok"}, after: "new appeared",
		},
		{
			name: "7 a mount in a mount of the same rights", way: "replacement",
			rules: []jptool.FsRule{mount("m", "$ROOT/ext", "read create delete"), mount("n", "$ROOT/ext/d", "read create delete")},
			before: func(root string) {
				jptooltest.Tree(t, path.Dir(root), "dir ext/d", "dir ext/e", "symlink ws/m $ROOT/ext", "symlink ws/n $ROOT/ext/d")
			},
			does: []string{"rename m/e m/g = ok", "! rename m/d m/e = ok"},
		},
		{
			name: "7 missing, and a link where a rule would be followed", way: "landlock", rules: []jptool.FsRule{rule("", "read create update"), rule("new/f", "read create update execute")},
			does: []string{"symlink new = ok"}, after: "new/f link",
		},
		{
			name: "9 a whiteout, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("", "read"), rule("ro", "read delete"), rule("pub", "read create")},
			does: []string{"device pub/x = EACCES", "create ro/x = EACCES", "! whiteout ro/f pub/g = ok", "create ro/f = EEXIST", "read pub/g = ok", "delete ro/f = ok"},
		},
		{
			name: "9 a whiteout, in a private tree", way: "namespace", rules: []jptool.FsRule{rule("", "read create delete")},
			does: []string{"device pub/x = EACCES", "whiteout pub/f pub/g = ok", "! create pub/f = EEXIST", "append pub/f = EACCES", "read pub/g = ok", "delete pub/f = ok"},
		},
		{
			name: "9 a whiteout, between mounts", way: "namespace", rules: []jptool.FsRule{rule("", "read"), rule("ro", "read delete"), rule("pub", "read create")},
			does: []string{"whiteout ro/f pub/g = EXDEV", "read ro/f = ok"},
		},
		{
			name: "12 what comes to be, by Landlock", way: "landlock", rules: []jptool.FsRule{rule("", "read"), rule("pub", "read create update")}, deny: []string{"new*"},
			does: []string{"! create pub/new = ok", "! read pub/new = ok", "create pub/other = ok", "append pub/f = ok"},
		},
		{
			name: "12 what comes to be, in a private tree", way: "namespace", rules: []jptool.FsRule{rule("", "read write")}, deny: []string{"f", "new*"},
			does: []string{"! create pub/new = ok", "! read pub/new = ok", "read pub/f = EACCES", "delete pub/f = EBUSY", "rename secret secret2 = EBUSY", "create pub/other = ok"},
		},
		{
			name: "13 links, by Landlock", way: "replacement", rules: []jptool.FsRule{rule("", "read")}, deny: []string{"secret", "up*"},
			before: func(root string) { jptooltest.Tree(t, root, "symlink pub/up ..", "symlink pub/up2 ../ro") },
			does: []string{
				"! read secret/l/f = ok", "read pub/f = ok", "read secret/f = EACCES", "! read pub/up/pub/f = ok",
				"read ro/f = EACCES", "read pub/up2/f = EACCES",
			},
		},
		{
			name: "13 links, in a private tree", way: "namespace", rules: []jptool.FsRule{rule("", "read")}, deny: []string{"secret", "up*"},
			before: func(root string) { jptooltest.Tree(t, root, "symlink pub/up ..", "symlink pub/up2 ../ro") },
			does: []string{
				"read secret/l/f = ENOENT", "read pub/f = ok", "read secret/f = ENOENT", "! read pub/up/pub/f = ok",
				"read ro/f = ENOENT", "read pub/up2/f = ENOENT",
			},
		},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			runtime.LockOSThread()
			r := newRunner(t)
			r.skipWithout(t, c.way)
			if strings.Contains(c.name, "mounted") && !mounts() {
				t.Skip("nothing can be mounted: not run as root, or there are no mount namespaces")
			}
			if strings.Contains(c.name, "whiteout") {
				jptooltest.Tree(t, r.base, "file whiteout")
				err := unix.Renameat2(unix.AT_FDCWD, r.base+"/whiteout", unix.AT_FDCWD, r.base+"/renamed", unix.RENAME_WHITEOUT)
				if errors.Is(err, unix.EINVAL) {
					t.Skip("the file system of the tests has no whiteouts")
				}
				do(errors.Join(err, os.Remove(r.base+"/whiteout"), os.Remove(r.base+"/renamed")))
			}
			dir := r.base + "/s"
			build(dir, tree)
			t.Cleanup(func() { do(removeAll(dir)) })
			root := dir + "/ws"
			if c.before != nil {
				c.before(root)
			}
			s := &scene{Way: c.way, Access: jptool.AccessPolicy{FS: c.rules, Deny: c.deny}}
			d := must(s.declared(dir))
			w := r.ways[c.way]
			w.options.Runtime = runtimeOf(r.binary)
			p := must(fit.Prepare(context.Background(), d, w.machine, w.options))
			if p.Plan.Tier != w.tier || !p.Exact() {
				t.Fatalf("held by %s, exact %v", p.Plan.Tier, p.Exact())
			}
			ws := must(open2(root, p.Access))
			defer ws.Close()
			check := &judge{ws: ws, root: root, plan: p.Plan}
			before := must(fit.Snapshot(context.Background(), p.After))
			probe := must(start(engine.Faults{}, p.Plan, r.binary))
			for _, line := range c.does {
				text, differs := strings.CutPrefix(line, "! ")
				text, want, _ := strings.Cut(text, " = ")
				f := append(strings.Fields(text), "")
				o := op{Do: f[0], A: f[1], B: f[2]}
				if judged := !slices.Contains([]string{"stat", "chmod", "utime", "xattr", "copy"}, o.Do); judged {
					if allowed := check.allows(o); allowed == strings.HasPrefix(want, "ok") == differs {
						t.Errorf("%s: the check says %v", line, allowed)
					}
				}
				got, err := probe.attempt(o.in(dir))
				if err != nil {
					t.Fatal(err)
				}
				if o.Do == "list" {
					got.Result = strings.TrimSpace(got.Result + " " + got.Seen)
				}
				if got.Result != want {
					t.Errorf("%s: %s", line, got.Result)
				}
			}
			if err := probe.end(); err != nil {
				t.Error(err)
			}
			var found []string
			for _, ch := range before.Verify(context.Background()) {
				found = append(found, strings.TrimPrefix(ch.Path, root+"/")+" "+ch.What)
			}
			if got := strings.Join(found, ", "); got != c.after {
				t.Errorf("found after the call: %q, want %q", got, c.after)
			}
		})
	}
}
