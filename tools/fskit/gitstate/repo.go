package gitstate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// repo is one repository with its work tree. It is used by one call only, and keeps pack indexes open meanwhile.
type repo struct {
	fsys      FS
	top       string // the work tree
	gitDir    string // HEAD and index
	commonDir string // objects, refs, config; differs from gitDir in a linked worktree
	cfg       config
	algo      algo

	packs       []*pack
	packsListed bool
}

// find opens the repository of the nearest directory at or above dir that has a ".git"; nil if there is none.
func find(fsys FS, dir string, opt Options) (*repo, error) {
	for {
		r, err := openAt(fsys, dir, opt)
		if r != nil || err != nil || dir == "" {
			return r, err
		}
		dir = wspath.ParentOf(dir)
	}
}

// openAt opens the repository whose work tree is dir; nil if dir has no ".git". A broken ".git" is an error
// although git would look further up: it may be a repository that we fail to read.
func openAt(fsys FS, dir string, opt Options) (*repo, error) {
	dot := wspath.JoinSlash(dir, ".git")
	info, err := lstat(fsys, dot)
	if err != nil || info == nil {
		return nil, err
	}
	r := &repo{fsys: fsys, top: dir, gitDir: dot, commonDir: dot}
	switch {
	case info.IsDir():
	case info.Mode().IsRegular():
		if r.gitDir, err = linkedDir(fsys, dot, "gitdir:", dir, opt); err != nil {
			return nil, err
		}
		if info, err = lstat(fsys, r.gitDir); err != nil {
			return nil, err
		} else if info == nil || !info.IsDir() {
			return nil, unknownf("%q names no directory", dot)
		}
		r.commonDir = r.gitDir
	default:
		return nil, unknownf("%q is neither a directory nor a file", dot)
	}

	common := wspath.JoinSlash(r.gitDir, "commondir")
	switch info, err = lstat(fsys, common); {
	case err != nil:
		return nil, err
	case info != nil:
		if r.commonDir, err = linkedDir(fsys, common, "", r.gitDir, opt); err != nil {
			return nil, err
		}
	}
	if err := r.loadConfig(opt); err != nil {
		return nil, err
	}
	return r, nil
}

// linkedDir reads a one-line file that names a directory relative to base, and gives it relative to the FS
// root. Resolving ".." lexically is sound because an FS follows no symbolic link.
func linkedDir(fsys FS, file, prefix, base string, opt Options) (string, error) {
	data, err := readSmall(fsys, file, maxPath+16)
	if err != nil {
		return "", unreadable(file, err)
	}
	target, ok := bytes.CutPrefix(data, []byte(prefix))
	target = bytes.TrimRight(bytes.TrimLeft(target, " "), "\r\n")
	if !ok || len(target) == 0 || bytes.ContainsAny(target, "\n\x00") {
		return "", unknownf("%q is malformed", file)
	}
	dir, ok := relativeTo(base, string(target), opt.Root)
	if !ok {
		return "", unknownf("%q leads outside the workspace", file)
	}
	return dir, nil
}

// relativeTo resolves target against base, both inside the FS; an absolute target counts from root.
func relativeTo(base, target, root string) (string, bool) {
	if filepath.IsAbs(target) || strings.HasPrefix(target, "/") {
		if root == "" {
			return "", false
		}
		root, target = path.Clean(filepath.ToSlash(root)), path.Clean(filepath.ToSlash(target))
		if n := len(root); runtime.GOOS == "windows" && len(target) >= n && strings.EqualFold(target[:n], root) {
			target = root + target[n:]
		}
		return wspath.WithinAbs(root, target)
	}
	dir := path.Join(base, target)
	if dir == "." {
		dir = ""
	}
	return dir, dir != ".." && !strings.HasPrefix(dir, "../")
}

// loadConfig reads the repository's own config and decides whether we understand this repository at all.
func (r *repo) loadConfig(opt Options) error {
	r.cfg = defaultConfig()
	if err := r.readConfig(wspath.JoinSlash(r.commonDir, "config")); err != nil {
		return err
	}
	if r.cfg.worktreeConfig {
		if err := r.readConfig(wspath.JoinSlash(r.gitDir, "config.worktree")); err != nil {
			return err
		}
	}
	if err := r.cfg.check(); err != nil {
		return err
	}
	r.algo = sha1Algo
	if r.cfg.objectFormat == "sha256" {
		r.algo = sha256Algo
	}
	if r.gitDir != r.commonDir {
		return nil // git ignores both settings below in a linked worktree
	}
	if r.cfg.bare {
		return unknownf("%q is a bare repository", r.gitDir)
	}
	if r.cfg.worktree != "" {
		dir, ok := relativeTo(r.gitDir, r.cfg.worktree, opt.Root)
		if !ok || dir != r.top {
			return unknownf("%q has its work tree elsewhere", r.gitDir)
		}
	}
	return nil
}

// readConfig adds what a config file says, if there is one.
func (r *repo) readConfig(file string) error {
	data, err := readSmall(r.fsys, file, maxConfig)
	switch {
	case notThere(err):
		return nil
	case err != nil:
		return unreadable(file, err)
	}
	if err := r.cfg.parse(data); err != nil {
		return unknownf("%q: %s", file, err)
	}
	return nil
}

// sub gives an FS path inside the work tree as git names it.
func (r *repo) sub(rel string) string {
	if r.top == "" {
		return rel
	}
	return strings.TrimPrefix(strings.TrimPrefix(rel, r.top), "/")
}

func (r *repo) close() {
	for _, p := range r.packs {
		p.close()
	}
	r.packs = nil
}

// lstat gives nil for what is not there.
func lstat(fsys FS, rel string) (fs.FileInfo, error) {
	info, err := fsys.Lstat(rel)
	switch {
	case err == nil:
		return info, nil
	case notThere(err):
		return nil, nil
	default:
		return nil, unreadable(rel, err)
	}
}

var (
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("too large")
)

// openRegular opens a file and makes sure on the open file that it is a regular one.
func openRegular(fsys FS, rel string) (File, int64, error) {
	f, err := fsys.Open(rel)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// readSmall reads a whole file of at most limit bytes.
func readSmall(fsys FS, rel string, limit int64) ([]byte, error) {
	f, _, err := openRegular(fsys, rel)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = errTooLarge
	}
	return data, err
}

const (
	maxRef        = maxPath + 256
	maxRefDepth   = 5 // symbolic refs to symbolic refs, as in git
	maxPackedRefs = 512 << 20
)

// head gives the commit that HEAD names; ok is false on an unborn branch.
func (r *repo) head() (commit oid, ok bool, err error) {
	name := "HEAD"
	for range maxRefDepth {
		data, found, err := r.looseRef(name)
		if err != nil {
			return oid{}, false, err
		}
		if !found {
			if name == "HEAD" {
				return oid{}, false, unknownf("%q is missing", wspath.JoinSlash(r.gitDir, name))
			}
			return r.packedRef(name)
		}
		target, symbolic := bytes.CutPrefix(data, []byte("ref:"))
		if !symbolic {
			digits := bytes.TrimRight(data, " \t\r\n")
			if id, ok := r.algo.parse(digits); ok {
				return id, true, nil
			}
			return oid{}, false, unknownf("the ref %q is malformed", name)
		}
		name = string(bytes.Trim(target, " \t\r\n"))
		if !validRef(name) {
			return oid{}, false, unknownf("HEAD points to the odd name %q", name)
		}
	}
	return oid{}, false, unknownf("HEAD is nested too deep")
}

// perWorktree matches the refs that each worktree has for itself.
var perWorktree = regexp.MustCompile(`^(HEAD$|refs/(worktree|bisect|rewritten)/)`)

// looseRef reads a ref's own file. An empty directory may stand where a packed ref is.
func (r *repo) looseRef(name string) (data []byte, found bool, err error) {
	dir := r.commonDir
	if perWorktree.MatchString(name) {
		dir = r.gitDir
	}
	file := wspath.JoinSlash(dir, name)
	info, err := lstat(r.fsys, file)
	if err != nil {
		return nil, false, err
	}
	if info == nil || info.IsDir() {
		return nil, false, nil
	}
	data, err = readSmall(r.fsys, file, maxRef)
	switch {
	case notThere(err): // packed in the meantime
		return nil, false, nil
	case err != nil:
		return nil, false, unreadable(file, err)
	}
	return data, true, nil
}

// badRef matches what git check-ref-format refuses in the name of a ref.
var badRef = regexp.MustCompile(`\.\.|@\{|//|/\.|\.lock(/|$)|[/.]$|[\x00-\x20\x7f~^:?*\[\\]`)

// validRef makes sure that a ref can only name a file below refs/.
func validRef(name string) bool {
	return strings.HasPrefix(name, "refs/") && len(name) <= maxPath && !badRef.MatchString(name)
}

// packedRef looks a ref up in packed-refs, line by line because that file may hold very many.
func (r *repo) packedRef(name string) (id oid, ok bool, err error) {
	file := wspath.JoinSlash(r.commonDir, "packed-refs")
	f, size, err := openRegular(r.fsys, file)
	if notThere(err) {
		return oid{}, false, nil
	}
	if err != nil {
		return oid{}, false, unreadable(file, err)
	}
	defer f.Close()
	if size > maxPackedRefs {
		return oid{}, false, unknownf("%q is too large", file)
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, 16<<10), maxRef)
	for lines.Scan() {
		line := lines.Bytes()
		if len(line) == 0 || line[0] == '#' || line[0] == '^' {
			continue
		}
		digits, ref, found := bytes.Cut(line, []byte{' '})
		if !found {
			return oid{}, false, unknownf("%q is malformed", file)
		}
		if string(bytes.TrimRight(ref, " \t\r")) != name {
			continue
		}
		if id, ok = r.algo.parse(digits); !ok {
			return oid{}, false, unknownf("%q is malformed", file)
		}
		return id, true, nil
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return oid{}, false, unknownf("%q is malformed", file)
	} else if err != nil {
		return oid{}, false, unreadable(file, err)
	}
	return oid{}, false, nil
}
