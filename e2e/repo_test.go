package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const prefix = "github.com/jptools/jptools/"

// repo is the repository's root.
const repo = ".."

// goList runs `go list -f format patterns…` and returns its lines.
func goList(t *testing.T, format string, args ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-f", format}, args...)...)
	cmd.Dir, cmd.Env = repo, append(os.Environ(), "CGO_ENABLED=0") // as the programs are built
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %v: %v", args, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) == 0 || lines[0] == "" && len(lines) == 1 {
		t.Fatalf("go list %v found only %q", args, lines)
	}
	return lines
}

// layer is what a package may import of this repository; each rule has its reason.
var layers = []struct {
	of, may, reason string
}{
	{"jptool/wspath", `^jptool/wspath$|^jptool/internal/testhook$`, "paths know nothing of policy"},
	{"jptool/toolmain", `^jptool$|^jptool/`, "the frame serves any tool"},
	{"jptool/ignore", `^jptool/wspath$`, "patterns know nothing of policy"},
	{"jptool/netrule", `^jptool/netrule`, "net rules know nothing of files or of the wire"},
	{"jptool", `^jptool/(wspath|netrule|ignore|strictjson|nearest)(/|$)|^jptool/internal/`, "the library must not depend on the frame, whose dependencies are for binaries"},
	{"tools/fskit", `^jptool|^tools/fskit`, "what tools share knows no tool"},
	{"tools/", `^jptool|^tools/fskit|^SELF`, "no tool imports a tool: each is installed alone"},
	{"sandbox", `^jptool$|^jptool/wspath$|^sandbox/`, "other programs confine programs with it, without the host"},
	{"host", `^jptool|^sandbox(/|$)|^host/`, "the host runs tools as programs and knows none of their code"},
	{"e2e", `^jptool`, "the end-to-end tests see tools as binaries"},
}

func TestImportDirection(t *testing.T) {
	used := map[string]bool{}
	check := func(list string, mayToo func(own string) bool) {
		for _, line := range goList(t, "{{.ImportPath}} "+list, "work") {
			fields := strings.Fields(line)
			pkg := strings.TrimPrefix(fields[0], prefix)
			for _, l := range layers {
				if pkg != l.of && !strings.HasPrefix(pkg, strings.TrimSuffix(l.of, "/")+"/") {
					continue
				}
				used[l.of] = true
				parts := strings.SplitN(pkg, "/", 3)
				self := strings.Join(parts[:min(2, len(parts))], "/")
				may := regexp.MustCompile(strings.ReplaceAll(l.may, "SELF", regexp.QuoteMeta(self)))
				for _, imp := range fields[1:] {
					own, ok := strings.CutPrefix(imp, prefix)
					if ok && own != pkg && !may.MatchString(own) && !mayToo(own) {
						t.Errorf("%s imports %s, but %s", pkg, own, l.reason)
					}
				}
				break
			}
		}
	}
	check(`{{join .Imports " "}}`, func(string) bool { return false })
	check(`{{join .TestImports " "}} {{join .XTestImports " "}}`, func(own string) bool { return strings.HasPrefix(own, "jptool") })
	for _, l := range layers {
		if !used[l.of] {
			t.Errorf("the rule for %s matches no package any more: remove or mend it", l.of)
		}
	}
}

// The library is used by hosts in other programs: it may not bring much along.
func TestLibraryDependencies(t *testing.T) {
	allowed := regexp.MustCompile(`^golang\.org/x/(sys|net/idna|text)(/|$)|^vendor/`)
	for _, pkg := range goList(t, `{{if not .Standard}}{{.ImportPath}}{{end}}`, "-deps", prefix+"jptool") {
		if pkg != "" && !strings.HasPrefix(pkg, prefix) && !allowed.MatchString(pkg) {
			t.Errorf("package jptool depends on %s; it may use the standard library, x/sys and x/net/idna only", pkg)
		}
	}
}

// What is linked is paid for at each start: these compile, fill tables or start goroutines before main.
// jphost is not in the list: the libraries that it is built from bring some of them along.
func TestNothingHeavyIsLinked(t *testing.T) {
	heavy := []string{"regexp", "net", "net/netip", "net/http", "text/template", "go/doc", "log", "flag", "testing", "crypto/tls", "os/user", "runtime/cgo"}
	needed := []string{"regexp", "net/netip", "go/doc", "os/user", "log"} // by the parser of command lines, and for differences
	for _, program := range []string{"tools/fs_read_file", "tools/fs_create_file", "tools/fs_move_file", "tools/fs_delete_file", "tools/fs_list_files"} {
		for _, pkg := range goList(t, `{{.ImportPath}}`, "-deps", prefix+program) {
			if slices.Contains(heavy, pkg) && !slices.Contains(needed, pkg) {
				t.Errorf("%s links %s: the importers are shown by `go list -deps -f '{{.ImportPath}}: {{.Imports}}' ./%s`", program, pkg, program)
			}
		}
	}
}

// goFiles calls f for each Go file of the repository.
func goFiles(t *testing.T, f func(path string, file *ast.File, fset *token.FileSet)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(repo, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == ".tools" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		n++
		f(path, file, fset)
		return nil
	})
	if err != nil || n < 50 {
		t.Fatalf("%d Go files: %v", n, err)
	}
}

func TestPackageComments(t *testing.T) {
	docs := map[string][]string{}
	goFiles(t, func(path string, file *ast.File, _ *token.FileSet) {
		dir := filepath.Dir(path)
		testsOnly := dir == filepath.Join(repo, "e2e") || dir == filepath.Join(repo, "sandbox/internal/agreement")
		if strings.HasSuffix(path, "_test.go") && !testsOnly {
			return
		}
		docs[dir] = append(docs[dir], nil...)
		if file.Doc != nil {
			docs[dir] = append(docs[dir], filepath.Base(path))
		}
	})
	for dir, files := range docs {
		if len(files) != 1 {
			t.Errorf("%s: package comments in %q; want exactly one, so that there is one place to read", dir, files)
		}
	}
}

// A helper process has no main of its own: it takes over in the middle of that of any program.
const helperMain = "sandbox/internal/engine/helper_linux.go"

func TestMainFiles(t *testing.T) {
	goFiles(t, func(path string, file *ast.File, fset *token.FileSet) {
		base, test := filepath.Base(path), strings.HasSuffix(path, "_test.go")
		if base == "main.go" {
			if n := fset.Position(file.End()).Line; n > 30 {
				t.Errorf("%s has %d lines; a main.go only hands over (30)", path, n)
			}
			return
		}
		if test || strings.Contains(path, "toolmain/") || strings.HasSuffix(filepath.ToSlash(path), helperMain) {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" &&
				slices.Contains([]string{"Exit", "Args", "Stdin", "Stdout", "Stderr"}, sel.Sel.Name) {
				t.Errorf("%s uses os.%s; only main.go and toolmain touch the process's own streams", fset.Position(sel.Pos()), sel.Sel.Name)
			}
			return true
		})
	})
}

// The kernel takes pointers to these: a filter, the name of a process, what an observer receives, an address as it
// was copied.
var mayBeUnsafe = []string{
	"sandbox/internal/engine/starter_linux.go", "sandbox/internal/engine/frame_linux_test.go", "sandbox/internal/linux/restrict_linux.go",
	"sandbox/internal/notify/notify_linux.go", "sandbox/internal/sockets/connect_linux.go", "sandbox/machine/look_linux.go",
	"sandbox/observe/task_linux_test.go",
}

func TestNoUnsafe(t *testing.T) {
	goFiles(t, func(path string, file *ast.File, _ *token.FileSet) {
		if slices.ContainsFunc(mayBeUnsafe, func(name string) bool { return strings.HasSuffix(filepath.ToSlash(path), name) }) {
			return
		}
		for _, imp := range file.Imports {
			if imp.Path.Value == `"unsafe"` || imp.Path.Value == `"C"` {
				t.Errorf("%s imports %s: no cgo, and no unsafe outside of what the kernel needs", path, imp.Path.Value)
			}
		}
	})
}

// page is what a comment names: a page of this repository, with a heading perhaps.
var page = regexp.MustCompile(`\b((?:docs/)?[A-Za-z_-]+\.md)(?:, "([^"]+)")?`)

// Comments send readers to what comes with the code: pages that exist, and headings in them.
func TestCommentsNamePages(t *testing.T) {
	pages := map[string]string{}
	n := 0
	goFiles(t, func(path string, file *ast.File, fset *token.FileSet) {
		for _, group := range file.Comments {
			text := strings.ReplaceAll(group.Text(), "\n", " ")
			for _, m := range page.FindAllStringSubmatch(text, -1) {
				if !strings.HasPrefix(m[1], "docs/") && m[1] != strings.ToUpper(strings.TrimSuffix(m[1], ".md"))+".md" {
					continue // an example
				}
				n++
				content, ok := pages[m[1]]
				if !ok {
					data, err := os.ReadFile(filepath.Join(repo, filepath.FromSlash(m[1])))
					if err != nil {
						t.Errorf("%s: there is no page %s", fset.Position(group.Pos()), m[1])
						continue
					}
					content = "\n" + string(data) + "\n"
					pages[m[1]] = content
				}
				if h := m[2]; h != "" && !regexp.MustCompile(`\n#+ `+regexp.QuoteMeta(h)+`\n`).MatchString(strings.ReplaceAll(content, "`", "")) {
					t.Errorf("%s: %s has no heading %q", fset.Position(group.Pos()), m[1], h)
				}
			}
		}
	})
	if n < 20 {
		t.Fatalf("only %d pages are named", n)
	}
}

func TestToolsHaveScripts(t *testing.T) {
	for _, tool := range tools {
		dir := filepath.Join(repo, "tools", tool)
		scripts, _ := filepath.Glob(filepath.Join(dir, "testdata", "script", "*.txtar"))
		if len(scripts) < 4 {
			t.Errorf("%s has %d scripts; want its behaviours as testdata/script/*.txtar", tool, len(scripts))
		}
		if !slices.ContainsFunc(scripts, func(s string) bool { return strings.HasPrefix(filepath.Base(s), "attack") }) {
			t.Errorf("%s has no testdata/script/attack*.txtar", tool)
		}
		for _, file := range []string{"main.go", "go.mod"} {
			if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
				t.Errorf("%s: %v", tool, err)
			}
		}
	}
}

// A script that is skipped says what is missing.
func TestSkipsSayWhy(t *testing.T) {
	n := 0
	for _, dir := range []string{"host", "tools/*", "e2e"} {
		scripts, err := filepath.Glob(filepath.Join(repo, filepath.FromSlash(dir), "testdata", "script", "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range scripts {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(data), "\n") {
				if strings.HasSuffix(line, "] skip") || line == "skip" {
					t.Errorf("%s:%d: write why, as in [!symlink] skip 'symlinks cannot be made here'", name, i+1)
				}
			}
			n++
		}
	}
	if n < 50 {
		t.Fatalf("only %d scripts were looked at", n)
	}
}

// A module's replace lines lead to siblings only, and every outside dependency has its
// reason in docs/decisions.md.
func TestModules(t *testing.T) {
	decisions, err := os.ReadFile(filepath.Join(repo, "docs", "decisions.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range goList(t, "{{.Dir}}", "-m") {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(data), "\n") {
			line = strings.TrimSpace(line)
			if _, to, ok := strings.Cut(line, "=>"); ok && !regexp.MustCompile(`^\.\./[a-z_./]+$`).MatchString(strings.TrimSpace(to)) {
				t.Errorf("%s: %q replaces with something that is no sibling", dir, line)
			}
			f := strings.Fields(strings.TrimPrefix(line, "require "))
			direct := len(f) >= 2 && strings.HasPrefix(f[1], "v") && !strings.Contains(line, "// indirect") && f[0] != "module"
			if direct && !strings.HasPrefix(f[0], prefix) && !strings.Contains(string(decisions), "`"+f[0]+"`") {
				t.Errorf("%s depends on %s, which has no reason in docs/decisions.md", dir, f[0])
			}
		}
	}
}

// The table of codes in docs/wire.md and the constants are the same set.
func TestCodesAreDocumented(t *testing.T) {
	source, err := os.ReadFile(filepath.Join(repo, "jptool", "outcome.go"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(repo, "docs", "wire.md"))
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, m := range regexp.MustCompile(`Code = "([a-z_]+)"`).FindAllStringSubmatch(string(source), -1) {
		want = append(want, m[1])
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|.*\\| [12] \\|$").FindAllStringSubmatch(string(doc), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 10 || !slices.Equal(want, got) {
		t.Errorf("codes in outcome.go %q\nin docs/wire.md %q", want, got)
	}
}

func TestDocLinks(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(repo, "*.md"))
	more, _ := filepath.Glob(filepath.Join(repo, "docs", "*.md"))
	if len(more) < 4 {
		t.Errorf("docs holds only %q", more)
	}
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(string(data), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", file, m[1], err)
			}
		}
	}
}

// A promise of the threat model is worth what its test shows, so each names tests that are here.
func TestPromisesHaveTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repo, "THREAT_MODEL.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## Promises\n")
	section, _, _ = strings.Cut(section, "\n## ")
	promises := regexp.MustCompile(`(?m)^\d+\. `).Split(section, -1)
	if !ok || len(promises) < 2 {
		t.Fatal("THREAT_MODEL.md has no list of promises")
	}
	files, err := filepath.Glob("*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	var tests strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(data)
	}
	for i, promise := range promises[1:] {
		named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(promise, -1)
		if len(named) == 0 {
			t.Errorf("promise %d names no test", i+1)
		}
		for _, n := range named {
			if !strings.Contains(tests.String(), "func "+n[1]+"(t *testing.T)") {
				t.Errorf("promise %d names %s, which is no test of e2e", i+1, n[1])
			}
		}
	}
}
