package gitstate

import (
	"flag"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	oracleSeed  = flag.Uint64("oracle.seed", 1, "first seed of TestOracle")
	oracleRuns  = flag.Int("oracle.runs", 8, "how many seeds TestOracle takes")
	oracleSteps = flag.Int("oracle.steps", 25, "edits per seed")
)

// TestOracle makes random edits and asks git after each about every path.
func TestOracle(t *testing.T) {
	needGit(t)
	for i := range *oracleRuns {
		seed := *oracleSeed + uint64(i)
		t.Run("", func(t *testing.T) {
			t.Parallel()
			o := newOracle(t, seed)
			for step := range *oracleSteps {
				what := o.edit()
				if !o.compare() {
					t.Fatalf("seed %d, step %d: after %s", seed, step, what)
				}
			}
		})
	}
}

type oracle struct {
	gitRepo
	rnd  *rand.Rand
	crlf bool
	seen map[string]bool // every path that ever was
}

func newOracle(t *testing.T, seed uint64) *oracle {
	rnd := rand.New(rand.NewPCG(seed, 0))
	var args []string
	if rnd.IntN(3) == 0 {
		args = []string{"--object-format=sha256"}
	}
	o := &oracle{initRepo(t, realTemp(t), args...), rnd, false, map[string]bool{}}
	if rnd.IntN(3) == 0 {
		o.git("config", "index.version", "4")
	}
	if rnd.IntN(4) == 0 {
		o.crlf = true
		o.git("config", "core.autocrlf", "true")
	}
	return o
}

var oracleNames = []string{"a", "b", "a.x", "a-b", "é", "sp ace", "n\nl", ":(top)", "a*", "#h", "!n", "x.log", "keep.log", "dir", "out"}

func (o *oracle) pick(s []string) string { return s[o.rnd.IntN(len(s))] }

// name is mostly an existing path, so that edits meet.
func (o *oracle) name() string {
	if len(o.seen) > 0 && o.rnd.IntN(3) > 0 {
		all := o.paths()
		return o.pick(all)
	}
	parts := []string{}
	for range 1 + o.rnd.IntN(3) {
		parts = append(parts, o.pick(oracleNames))
	}
	return strings.Join(parts, "/")
}

func (o *oracle) paths() []string {
	all := []string{}
	for p := range o.seen {
		all = append(all, p)
	}
	slices.Sort(all)
	return all
}

// clear makes room for a file or link at name and remembers it.
func (o *oracle) clear(name string) string {
	p := filepath.Join(o.dir, name)
	for i := range len(name) {
		if name[i] == '/' {
			if info, err := os.Lstat(filepath.Join(o.dir, name[:i])); err == nil && !info.IsDir() {
				o.must(os.Remove(filepath.Join(o.dir, name[:i])))
			}
		}
	}
	o.must(os.RemoveAll(p))
	o.must(os.MkdirAll(filepath.Dir(p), 0o755))
	o.seen[name] = true
	return p
}

func (o *oracle) edit() string {
	name := o.name()
	literal := ":(literal)" + name
	switch n := o.rnd.IntN(20); {
	case n < 6:
		content := o.pick([]string{"x", "y", "", "long\n", "cr\r\nlf\r\n", "cr\nlf\n", "mix\r\ned\n", "nul\x00\r\n"})
		mode := fs.FileMode(0o644)
		if o.rnd.IntN(5) == 0 {
			mode = 0o755
		}
		o.must(os.WriteFile(o.clear(name), []byte(content), mode))
		return "write " + name
	case n == 6:
		o.must(os.Symlink(o.pick([]string{".", "nowhere"}), o.clear(name))) // never in a circle: git stops at those
		return "link " + name
	case n == 7:
		_ = os.RemoveAll(filepath.Join(o.dir, name)) // fails below a file
		return "remove " + name
	case n == 8:
		dir := o.pick([]string{"", "a/", "dir/", "out/", "dir/a/"})
		o.must(os.WriteFile(o.clear(dir+".gitignore"), []byte(o.pick([]string{
			"*.log\n!keep.log\n", "out/\n", "/a\n", "dir/*\n!dir/a\n", "\\#h\n", "**/b\n", "",
		})), 0o644))
		return "ignore in " + dir
	case n == 9:
		o.write(".git/info/exclude", o.pick([]string{"a-b\n", "", "dir\n"}))
		return "exclude"
	case n < 13:
		o.try("add", "-f", "--", literal)
		return "add " + name
	case n == 13:
		o.try("add", "-N", "--", literal)
		return "add -N " + name
	case n == 14:
		o.try("rm", "-r", "-q", "--cached", "--", literal)
		return "rm --cached " + name
	case n == 15:
		o.try("add", "-A")
		return "add -A"
	case n == 16:
		o.try("commit", "-q", "-m", "c")
		return "commit"
	case n == 17:
		o.try("commit", "-q", "-a", "-m", "c")
		return "commit -a"
	case n == 18:
		o.try("gc", "-q")
		return "gc"
	default:
		o.try("reset", "-q", "--hard")
		return "reset --hard"
	}
}

// sameAsAdded says whether adding the file would change nothing and nothing is staged for it. With conversions
// git lists such files as modified when their size is not the one at the time of adding.
func (o *oracle) sameAsAdded(path string) bool {
	info, err := os.Lstat(filepath.Join(o.dir, path))
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	literal := ":(literal)" + path
	line, name, _ := strings.Cut(o.git("ls-files", "-s", "-z", "--", literal), "\t")
	added := strings.Fields(line)
	if len(added) != 3 || name != path+"\x00" || added[2] != "0" || (added[0] == "100755") != (info.Mode()&0o100 != 0) || added[0] == "120000" {
		return false
	}
	hash := strings.TrimSpace(o.git("hash-object", "--path="+path, "--", path))
	return hash == added[1] && o.cmd("diff-index", "--cached", "--quiet", "HEAD", "--", literal).Run() == nil
}

// compare asks git and us about everything. What git lists is dirty, all else is clean, except directories.
func (o *oracle) compare() bool {
	o.Helper()
	ok := true
	dirty := o.porcelain()
	for p := range dirty {
		o.seen[p] = true
		if o.crlf && o.sameAsAdded(p) {
			delete(dirty, p)
		}
	}
	fsys := dirFS{root: o.dir}
	for p := range o.seen {
		info, err := fsys.Lstat(p)
		if err == nil && info.IsDir() {
			continue
		}
		got := Status(o.Context(), fsys, p, Options{})
		linked := got.State == Unknown && strings.Contains(got.Reason, "cannot be read")
		if linked { // the path leads through a symbolic link
			continue
		}
		if got.Dirty() != dirty[p] || got.State == Unknown {
			o.Errorf("%q: %+v, git lists it: %v", p, got, dirty[p])
			ok = false
		}
	}
	for _, dir := range []string{"", "dir", "a", "out", "dir/a"} {
		want := 0
		for p := range dirty {
			if dir == "" || strings.HasPrefix(p, dir+"/") {
				want++
			}
		}
		if info, err := fsys.Lstat(dir); err != nil || !info.IsDir() {
			continue
		}
		if got := CountDirty(o.Context(), fsys, dir, 0, Options{}); got.Dirty != want || got.Unknown {
			o.Errorf("below %q: %+v, git lists %d: %q", dir, got, want, slices.Sorted(maps.Keys(dirty)))
			ok = false
		}
	}
	return ok
}

// String gives the state as one lower-case word.
func (s State) String() string {
	switch s {
	case Clean:
		return "clean"
	case Modified:
		return "modified"
	case Staged:
		return "staged"
	case Untracked:
		return "untracked"
	default:
		return "unknown"
	}
}

// Dirty reports whether the caller should ask before the path is lost: every state but Clean.
func (v Verdict) Dirty() bool { return v.State != Clean }
