package agreement

import (
	"runtime"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// throughItself are moves whose paths lead through what is moved.
var throughItself = []struct {
	name string
	tree []string
	op   op
}{
	{"the target through a link in the source", []string{"symlink ws/d/l ../e", "file ws/d/z", "dir ws/e"}, op{Do: "rename", A: "d", B: "d/l/x"}},
	{"the source through a link in itself", []string{"symlink ws/d/up ..", "file ws/d/z", "dir ws/e"}, op{Do: "rename", A: "d/up/d", B: "e/x"}},
	{"both through a link in the source", []string{"symlink ws/a/b/b $ROOT/ws/a", "file ws/a/b/z", "dir ws/a/m"}, op{Do: "rename", A: "a/b/b/b", B: "a/b/b/m/a"}},
	{"the target through the source, a link", []string{"symlink ws/l d", "dir ws/d"}, op{Do: "rename", A: "l", B: "l/x"}},
}

// TestCopyStandsIn shows that copying, which stands in for a rename that is refused, does what the
// rename would have done.
func TestCopyStandsIn(t *testing.T) {
	for _, c := range throughItself {
		t.Run(c.name, func(t *testing.T) {
			base := jptooltest.OpenRoot(t)
			became := map[string]string{}
			for _, how := range []string{"rename", "copy"} {
				dir := base + "/" + how
				build(dir, c.tree)
				was := scan(dir)
				o := c.op
				o.Do = how
				if got := attempt(o.in(dir)); got.Result != "ok" {
					t.Fatalf("%s: %s", o, got.Result)
				}
				became[how] = effect(dir, was, scan(dir), false)
			}
			if became["rename"] == "" || became["copy"] != became["rename"] {
				t.Errorf("a rename gives %s, and a copy %s", became["rename"], became["copy"])
			}
		})
	}
}

// TestReplaceThroughSource shows that what is granted at the target is what was granted when the
// operation began.
func TestReplaceThroughSource(t *testing.T) {
	runtime.LockOSThread()
	r := newRunner(t)
	r.skipWithout(t, "landlock")
	s := &scene{
		Way: "landlock", Tree: []string{"symlink ws/a/l ../b", "file ws/b/f"},
		Access: jptool.AccessPolicy{FS: []jptool.FsRule{jptooltest.Rule("a", "read write"), jptooltest.Rule("b", "read create delete")}},
		Ops:    []op{{Do: "replace", A: "a/l", B: "a/l/f"}},
	}
	list, usable, bad := r.run(s)
	if bad != nil || !usable || len(list) != 1 || !list[0].allowed || list[0].difference != replaces {
		t.Errorf("usable %v, %+v, %v", usable, list, bad)
	}
}
