package gitstate

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
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
		if root != "/" {
			if len(target) < len(root) || !sameHead(target[:len(root)], root) {
				return "", false
			}
			target = target[len(root):]
		}
		if target == "" {
			return "", true
		}
		return strings.CutPrefix(target, "/")
	}
	dir := path.Join(base, target)
	if dir == "." {
		dir = ""
	}
	return dir, dir != ".." && !strings.HasPrefix(dir, "../")
}

func sameHead(a, b string) bool {
	return a == b || runtime.GOOS == "windows" && strings.EqualFold(a, b)
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
