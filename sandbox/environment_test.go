package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool"
)

func TestEnvironment(t *testing.T) {
	environ := []string{
		"PATH=/old", "PATH=/bin", "HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "LC_=x", "TMPDIR=/t", "LCX=no", "AWS_SECRET=s3cr3t",
		"CARGO_HOME=/c", "EMPTY=", "=C:=x", "broken", "path=lower", "JPHOST_SESSION=1",
	}
	base := []string{"PATH=/bin", "HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "LC_=x", "TMPDIR=/t"}
	others := []string{"AWS_SECRET", "CARGO_HOME", "EMPTY", "JPHOST_SESSION", "LCX", "path"}
	for name, c := range map[string]struct {
		rules          []jptool.EnvRule
		env, forbidden []string
	}{
		"no rules": {nil, base, others},
		"a rule adds to the minimal set": {
			[]jptool.EnvRule{{Name: "CARGO_*", Read: true}},
			append(append([]string{}, base...), "CARGO_HOME=/c"),
			[]string{"AWS_SECRET", "EMPTY", "JPHOST_SESSION", "LCX", "path"},
		},
		"a rule takes from the minimal set": {
			[]jptool.EnvRule{{Name: "LC_*"}, {Name: "HOME"}, {Name: "LC_ALL", Read: true}},
			[]string{"PATH=/bin", "USER=u", "LANG=C", "LC_ALL=C", "TMPDIR=/t"},
			[]string{"AWS_SECRET", "CARGO_HOME", "EMPTY", "HOME", "JPHOST_SESSION", "LCX", "LC_", "path"},
		},
		"nothing": {
			[]jptool.EnvRule{{Name: "*"}},
			[]string{},
			[]string{"AWS_SECRET", "CARGO_HOME", "EMPTY", "HOME", "JPHOST_SESSION", "LANG", "LCX", "LC_", "LC_ALL", "PATH", "TMPDIR", "USER", "path"},
		},
		"everything but one": {
			[]jptool.EnvRule{{Name: "*", Read: true}, {Name: "AWS_*"}},
			[]string{"PATH=/bin", "HOME=/h", "USER=u", "LANG=C", "LC_ALL=C", "LC_=x", "TMPDIR=/t", "LCX=no", "CARGO_HOME=/c", "EMPTY=", "path=lower", "JPHOST_SESSION=1"},
			[]string{"AWS_SECRET"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy, err := jptool.CompileEnv(c.rules)
			if err != nil {
				t.Fatal(err)
			}
			env, withheld := environment(environ, policy, false)
			if diff := cmp.Diff(c.env, env); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.forbidden, withheld); diff != "" {
				t.Error(diff)
			}
		})
	}
	env, withheld := environment(environ, nil, false)
	if diff := cmp.Diff([][]string{base, others}, [][]string{env, withheld}); diff != "" {
		t.Error("a nil policy:", diff)
	}
	env, _ = environment([]string{"Path=C:\\old", "PATH=C:\\new", "SystemRoot=C:\\Windows", "secret=x"}, nil, true)
	if diff := cmp.Diff([]string{"PATH=C:\\new", "SystemRoot=C:\\Windows"}, env); diff != "" {
		t.Error("on Windows:", diff)
	}
}
