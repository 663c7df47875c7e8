package policy

import (
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/baseline"
)

func TestSandboxPaths(t *testing.T) {
	yes, no := true, false
	list, err := SandboxPaths([]config.SandboxPath{
		{Path: "~/.cargo"}, {Path: "/opt/x/", Read: &yes}, {Path: "~", Read: &yes, Write: &yes, Execute: &yes}, {Path: "/opt/y", Read: &no, Execute: &yes},
	}, "/home/u")
	want := []baseline.Extra{{Path: "/home/u/.cargo", Caps: jptool.Read | jptool.Execute}, {Path: "/opt/x", Caps: jptool.Read}, {Path: "/home/u", Caps: jptool.AllCaps}, {Path: "/opt/y", Caps: jptool.Execute}}
	for i := range list {
		list[i].Origin = ""
	}
	if err != nil || !slices.Equal(list, want) {
		t.Errorf("%v, %v", list, err)
	}
	for _, c := range []struct{ path, home, want string }{
		{"~/x", "", "HOME"}, {"/", "/h", "everything"}, {"~", "/", "everything"}, {"/proc/1", "/h", "other processes"}, {"x", "/h", "not absolute"},
	} {
		if _, err := SandboxPaths([]config.SandboxPath{{Path: c.path}}, c.home); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for _, p := range []config.SandboxPath{{Path: "/x", Read: &no}, {Path: "/x", Write: &no, Execute: &no}} {
		if list, err := SandboxPaths([]config.SandboxPath{p}, "/h"); err == nil || !strings.Contains(err.Error(), "grants nothing") {
			t.Errorf("what is set to false is granted: %v, %v", list, err)
		}
	}
}
