package walk

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"
	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// Who tries names learns nothing of one that is withheld. The same thing stands under
// one of two names that are withheld alike; no call may tell which of them it is. Where rules withhold them, no
// call may tell either that nothing is there at all.
func TestNamesThatAreWithheldCannotBeGuessed(t *testing.T) {
	names := []string{"amber", "quartz.pem"}
	both := func(caps string, below ...string) []jptool.FsRule {
		rules := []jptool.FsRule{jptooltest.Rule("", "read")}
		for _, name := range names {
			rules = append(rules, jptooltest.Rule("src/"+name, caps))
			for _, b := range below {
				rules = append(rules, jptooltest.Rule("src/"+name+"/"+b, "read"))
			}
		}
		return rules
	}
	for _, c := range []struct {
		name     string
		tree     string // %s is the name
		suppress string
		rules    []jptool.FsRule
		deny     string
		secrets  string
	}{
		{name: "a suppressed file", tree: "file src/%s x", suppress: "amber *.pem"},
		{name: "a suppressed directory", tree: "file src/%s/in/file.go x", suppress: "amber/ /src/*.pem/"},
		{name: "a file that may not be read", tree: "file src/%s x", rules: both("")},
		{name: "a directory that may not be read", tree: "file src/%s/file.go x", rules: both("")},
		{name: "a directory that may be passed through, to nothing", tree: "file src/%s/other.go x", rules: both("", "pub")},
		{name: "the same, ignored", tree: "file src/%s/other.go x; file .gitignore *.pem/", rules: both("", "pub")},
		{name: "a link to nothing, suppressed", tree: "symlink src/%s gone", suppress: "amber *.pem"},
		{name: "a denied file", tree: "file src/%s x", deny: "amber *.pem"},
		{name: "a denied directory", tree: "file src/%s/in/file.go x", deny: "amber/ /src/*.pem/"},
		{name: "a place of secrets", tree: "file src/%s/in/file.go x", secrets: "amber **/*.pem"},
		{name: "a place of secrets, ignored", tree: "file src/%s/in/file.go x; file .gitignore *.pem/", secrets: "amber **/*.pem"},
		{name: "a denied link to nothing", tree: "symlink src/%s gone", deny: "amber *.pem"},
		{name: "suppressed and ignored", tree: "file src/%s x; file src/.gitignore *", suppress: "amber *.pem"},
		{name: "suppressed and too deep", tree: "file src/%s/a/b/c x", suppress: "amber *.pem"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ws []*jptool.Workspace
			const always = "file src/list.go x; file src/sub/a.go x; file top.go x"
			for _, name := range names {
				root := tree(t, always+"; "+strings.ReplaceAll(c.tree, "%s", name))
				ws = append(ws, withholding(t, root, c.deny, c.secrets, c.rules...))
			}
			if c.rules != nil {
				_, ignored, _ := strings.Cut(c.tree, ";")
				ws = append(ws, jptooltest.Open(t, tree(t, always+";"+ignored), c.rules...))
			}
			var guesses []string
			for _, name := range names {
				for i := range len(name) {
					guesses = append(guesses, name[:i+1])
				}
			}
			for _, g := range slices.Concat(guesses, []string{"sub", "lis", "zzz"}) {
				at := "src/" + g
				for _, o := range []struct {
					Options
					ext, glob string
				}{
					{glob: g + "*"},
					{glob: at + "*"},
					{glob: at + "*/**"},
					{glob: at + "/*"},
					{glob: at + "/in/*"},
					{glob: at + "/pub/*"},
					{glob: "src/[" + g[:1] + "]*"},
					{glob: "{" + at + ",top}*"},
					{ext: strings.TrimPrefix(g, "quartz.")},
					{Options: Options{Starts: []string{at}}},
					{Options: Options{Starts: []string{at, "src"}}},
					{Options: Options{Starts: []string{at, "src/sub"}, MaxDepth: 1}},
					{Options: Options{Starts: []string{at}}, glob: at + "/**"},
					{Options: Options{Starts: []string{at}}, glob: "top*/**"},
					{Options: Options{Starts: []string{at}}, ext: "go"},
					{Options: Options{Starts: []string{at + "/pub"}}},
					{Options: Options{Starts: []string{at + "/x"}}},
					{Options: Options{After: at}},
					{Options: Options{After: at + "/x"}},
					{Options: Options{After: at, Starts: []string{"src"}, MaxDepth: 1}},
				} {
					o.Suppress = globs(c.suppress)
					told := make([]string, len(ws))
					for i := range ws {
						var err error
						if o.Filter, err = NewFilter(strings.Fields(o.ext), strings.Fields(o.glob)); err != nil {
							t.Fatal(err)
						}
						paths, r, err := collect(ws[i], o.Options)
						told[i] = fmt.Sprintf("%q %v %q %+v", paths, err, r.Notes(), r.Skipped)
						for _, tree := range []bool{false, true} {
							with := o.Options
							with.Tree, with.MaxDepth = tree, max(with.MaxDepth, 1)
							shown, r := lines(t, ws[i], with)
							told[i] += fmt.Sprintf("%q %q %+v", shown, r.Notes(), r.Skipped)
						}
					}
					for i := range told {
						if told[i] != told[0] {
							t.Errorf("starts %q, glob %q, extension %q, after %q:\n%s is there: %s\n%s is there: %s",
								o.Starts, o.glob, o.ext, o.After, names[0], told[0], append(names, "nothing")[i], told[i])
						}
					}
				}
			}
			// It is counted where nothing is asked by its name.
			_, r := listed(t, ws[0], Options{Suppress: globs(c.suppress)})
			if strings.Contains(c.tree, "symlink") {
				return
			}
			suppressed, denied, secrets := int64(0), int64(0), int64(0)
			switch {
			case c.rules != nil:
				denied = int64(len(names)) // the rules, whatever is there
			case c.deny != "":
				denied = 1
			case c.secrets != "":
				secrets = 1
			default:
				suppressed = 1
			}
			if r.Skipped.Suppressed != suppressed || r.Skipped.Denied != denied || r.Skipped.Secrets != secrets {
				t.Errorf("of all: %+v", r.Skipped)
			}
		})
	}
}

// What is withheld is counted by directory, whatever is selected there.
func TestNumbersDoNotDependOnTheSelection(t *testing.T) {
	ws := jptooltest.Open(t, tree(t, `file src/a.go x; file src/s.pem x; file src/in/k.pem x; file src/no/x x; file other/x.pem x`),
		jptooltest.Rule("", "read"), jptooltest.Rule("src/no", ""))
	for _, c := range []struct {
		starts, ext, glob, after string
		suppressed, denied       int64
	}{
		{suppressed: 3, denied: 1},
		{ext: "go", suppressed: 3, denied: 1},
		{glob: "s*", suppressed: 3, denied: 1},
		{glob: "zz*", suppressed: 3, denied: 1},
		{glob: "src/s*", suppressed: 2, denied: 1},
		{glob: "src/zz*", suppressed: 2, denied: 1},
		{glob: "{src/in,other}/*", suppressed: 2},
		{glob: "src/no/*"},
		{glob: "src/s.pem/*"},
		{starts: "src", suppressed: 2, denied: 1},
		{starts: "src/i", suppressed: 1},
		{starts: "src/s"},
		{starts: "src/n"},
		{after: "a"},
		{after: "src/r"},
	} {
		f, err := NewFilter(strings.Fields(c.ext), strings.Fields(c.glob))
		if err != nil {
			t.Fatal(err)
		}
		o := Options{Filter: f, After: c.after, Suppress: globs("*.pem")}
		if c.starts != "" {
			o.Starts = strings.Fields(c.starts)
		}
		if _, r := listed(t, ws, o); r.Skipped != (Skipped{Suppressed: c.suppressed, Denied: c.denied}) {
			t.Errorf("%+v: %+v", c, r.Skipped)
		}
	}
}

// The beginning of names is there if anything that may be known begins so.
func TestBeginningsOfNames(t *testing.T) {
	ws := jptooltest.Open(t, tree(t, `file src/visible x; file src/hidden.pem x; file src/ignored.log x; file src/.gitignore *.log;
		symlink src/link gone; dir src/empty; file src/shut/pub/a x; file src/barred/x x`),
		jptooltest.Rule("", "read"), jptooltest.Rule("src/shut", ""), jptooltest.Rule("src/shut/pub", "read"),
		jptooltest.Rule("src/barred", ""), jptooltest.Rule("src/barred/gone", "read"))
	for _, c := range []struct {
		start, glob string
		nothing     bool
	}{
		{start: "src/v"},
		{start: "src/w", nothing: true},
		{start: "src/h", nothing: true},
		{start: "src/ign"},
		{start: "src/lin"},
		{start: "src/em"},
		{start: "src/s"}, // for what is below it
		{start: "src/b", nothing: true},
		{start: "src/v", glob: "*.none"},
		{start: "src/em", glob: "src/empty/*"},
		{start: "src/v", glob: "src/vanished/*", nothing: true},
		{start: "src/v", glob: "other/*"}, // nobody looked
	} {
		f, err := NewFilter(nil, strings.Fields(c.glob))
		if err != nil {
			t.Fatal(err)
		}
		_, r := listed(t, ws, Options{Starts: []string{c.start}, Filter: f, Suppress: globs("*.pem")})
		if s := r.Starts[0]; !s.Partial || s.Nothing != c.nothing {
			t.Errorf("%s with %q: %+v", c.start, c.glob, s)
		}
	}
}

func TestBracesAreExpanded(t *testing.T) {
	sign := rapid.SampledFrom([]string{"a", "b", "/", "?", "*", "**/", "{", "}", ",", "{a,b}", "{,a}", "{a,{b,*}}", `\{`, `\,`, "[a{,]", "[^}]", "-"})
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		pattern := strings.Join(rapid.SliceOfN(sign, 1, 8).Draw(t, "pattern"), "")
		list, ok := expandBraces(nil, "", globToken.FindAllString(pattern, -1), 1<<20)
		// Doublestar sees `**` only where it stands in the pattern as it is; see newGlobs.
		if !ok || !doublestar.ValidatePattern(pattern) || strings.Contains(pattern+strings.Join(list, " "), "**") {
			return
		}
		for range 10 {
			name := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "/", "{", "}", ",", "-"}), 1, 6).Draw(t, "name"), "")
			got := slices.ContainsFunc(list, func(p string) bool { return doublestar.MatchUnvalidated(p, name) })
			if want := doublestar.MatchUnvalidated(pattern, name); got != want {
				t.Fatalf("%q as %q against %q: %v, want %v", pattern, list, name, got, want)
			}
			if got {
				matched++
			}
		}
	})
	if matched == 0 {
		t.Error("nothing ever matched: the test says nothing")
	}
}

// No glob takes longer than it is worth: those that multiply are refused, the others are
// polynomial, and the time is looked at between two names.
func TestGlobsThatTakeForever(t *testing.T) {
	for _, g := range []string{
		strings.Repeat("{a,aa}", 40) + "x",
		strings.Repeat("{a}", 1000),
		strings.Repeat("{", 30_000) + strings.Repeat("}", 30_000),
		"{" + strings.Repeat("a,", 300) + "b}",
		"{a,b}" + strings.Repeat("x", 40<<10),
		strings.Repeat("x", 70<<10),
	} {
		_, err := NewFilter(nil, []string{g})
		if jptool.CodeOf(err) != jptool.CodeInvalidArguments || len(err.Error()) > 500 {
			t.Errorf("%.20s…: %.1000v", g, err)
		}
	}
	if _, err := NewFilter(nil, []string{strings.Repeat("{a,b}", 7), strings.Repeat("{a,b}", 8)}); err == nil {
		t.Error("the bound is not one of all globs together")
	}
	name, path := strings.Repeat("a", 255), strings.Repeat("a/", 2000)+"a"
	for _, g := range []string{
		strings.Repeat("*a", 300) + "x", strings.Repeat("a*", 120) + "x", strings.Repeat("**/a/", 500) + "x",
		"**/" + strings.Repeat("*a/", 500) + "x", strings.Repeat("**/*[a-z]/", 100) + "x", strings.Repeat("{a,aa}", 8) + "*x",
	} {
		f, err := NewFilter(nil, []string{g})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if f.selects(path) || f.selects(name) {
			t.Errorf("%.20s… matches", g)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%.20s… took %v", g, took)
		}
	}
}

// What a glob begins with is looked up by its name in a held directory; no name may lead
// elsewhere.
func TestGlobsLeadNowhereElse(t *testing.T) {
	root := tree(t, "file ws/a x; file out/s x")
	ws := jptooltest.Open(t, root+"/ws")
	for _, g := range []string{`.\./out/*`, `\../out/*`, `..\/out/*`, `a//b/`, `a//`, `{..,a}/out/*`, `{a,.}./out/*`, `{/,a/}b`, `a/{,b}/*`, `[.][.]/out/*`, "{a,../out/}/", "\x00/*"} {
		f, err := NewFilter(nil, []string{g})
		if err != nil {
			continue
		}
		for _, one := range f.globs {
			if strings.HasPrefix(one.base, ".") || strings.Contains(one.base, "//") || strings.HasSuffix(one.base, "/") {
				t.Errorf("%q begins with %q", g, one.base)
			}
		}
		if paths, _ := listed(t, ws, Options{Filter: f}); len(paths) > 0 {
			t.Errorf("%q: %q", g, paths)
		}
	}
}

// withholding opens a workspace whose policy has patterns, separated by blanks.
func withholding(t *testing.T, root, deny, secrets string, rules ...jptool.FsRule) *jptool.Workspace {
	t.Helper()
	c := jptool.Context{Root: root, Action: jptool.Run, Access: &jptool.AccessPolicy{
		FS: rules, Deny: strings.Fields(deny), Secrets: strings.Fields(secrets),
	}}
	ws, err := c.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.Close() })
	return ws
}

// What patterns withhold is not listed, at any depth, and is counted.
func TestPatternsWithhold(t *testing.T) {
	root := tree(t, "file .env x; file a/.env.local x; file a/b/c x; file a/b/.env/in x; file keys/k x; file a/keys/k x; file a/x.key x; file z x; "+
		"file .ssh/id x; file .ssh/config x; symlink a/.env.l ../z; file named/.env x; file shut/.env x")
	for _, tt := range []struct {
		name, deny, secrets string
		rules               []jptool.FsRule
		want                string
		denied, places      int64
	}{
		{"none", "", "", nil, ".env .ssh/config .ssh/id a/.env.local a/b/.env/in a/b/c a/keys/k a/x.key keys/k named/.env shut/.env z", 0, 0},
		{"names", "**/.env .env.*", "", nil, ".ssh/config .ssh/id a/b/c a/keys/k a/x.key keys/k z", 5, 0},
		{"secrets", "", "**/.env **/.env.*", nil, ".ssh/config .ssh/id a/b/c a/keys/k a/x.key keys/k z", 0, 5},
		{"paths", "/keys a/*.key", "", nil, ".env .ssh/config .ssh/id a/.env.local a/b/.env/in a/b/c a/keys/k named/.env shut/.env z", 2, 0},
		{
			"named", "keys/", "**/.env .ssh",
			[]jptool.FsRule{
				jptooltest.Rule("", "read"), jptooltest.Rule("named/.env", "read"), jptooltest.Rule(".ssh/config", "read"), jptooltest.Rule("shut", ""),
			},
			".ssh/config a/.env.local a/b/c a/x.key named/.env z", 3, 3,
		},
		{"everything", "*", "", nil, "", 7, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, r := listed(t, withholding(t, root, tt.deny, tt.secrets, tt.rules...), Options{NoIgnore: true})
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("listed %s", text)
			}
			if r.Skipped.Denied != tt.denied || r.Skipped.Secrets != tt.places {
				t.Errorf("%+v", r.Skipped)
			}
		})
	}
}
