package safewrite

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

const (
	tempPrefix = ".jptool-"
	tempSuffix = ".tmp"
	tempDigits = 16 // of the digest of the target's name
	// maxTemps bounds the names tried for one target.
	maxTemps = 64
	// maxSwept bounds how many entries of a directory are looked at for stale
	// temporaries, so that writing one file stays cheap in a huge directory.
	maxSwept = 20_000
)

// What not every file system can do; tests force both branches.
var (
	unnamedFile = (*wspath.Dir).TempFile
	exchange    = (*wspath.Dir).Exchange
)

// onStep lets tests stop or fail a write between any two steps.
var onStep func(step string) error

func step(name string) error {
	if onStep == nil {
		return nil
	}
	return onStep(name)
}

// temp is a new file in the making. It is locked, so that a sweep leaves it alone, and
// keeps that lock when it becomes the file.
type temp struct {
	f      *os.File
	dir    *wspath.Dir
	target string
	name   string // "" while it has none
	lazy   bool   // do not wait for the disk
}

// tempName is `.jptool-<hash>-<n>.tmp`: short whatever the target is called.
func tempName(target string, n int) string {
	sum := sha256.Sum256([]byte(target))
	return tempPrefix + hex.EncodeToString(sum[:tempDigits/2]) + "-" + strconv.Itoa(n) + tempSuffix
}

// isTemp reports whether name is exactly of the form of tempName.
func isTemp(name string) bool {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	if !ok {
		return false
	}
	rest, ok = strings.CutSuffix(rest, tempSuffix)
	hash, n, found := strings.Cut(rest, "-")
	if !ok || !found || len(hash) != tempDigits || strings.Trim(hash, "0123456789abcdef") != "" {
		return false
	}
	i, err := strconv.Atoi(n)
	return err == nil && i >= 0 && i < maxTemps && strconv.Itoa(i) == n
}

// newTemp makes an empty file, without a name where that is possible.
func newTemp(dir *wspath.Dir, target string) (*temp, error) {
	f, err := unnamedFile(dir)
	if err == nil {
		if err = tryLock(f); err != nil {
			f.Close()
			return nil, err
		}
		return &temp{f: f, dir: dir, target: target}, nil
	}
	if !errors.Is(err, wspath.ErrUnsupported) {
		return nil, err
	}
	return namedTemp(dir, target, 0o600)
}

func namedTemp(dir *wspath.Dir, target string, perm fs.FileMode) (*temp, error) {
	for n := range maxTemps {
		name := tempName(target, n)
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		tmp := &temp{f: f, dir: dir, target: target, name: name}
		err = tryLock(f)
		if err == nil && is(dir, name, f) {
			return tmp, nil
		}
		// Before it was locked a sweep took it for stale.
		if err != nil && err != errLocked {
			tmp.discard()
			return nil, err
		}
		f.Close()
	}
	return nil, fs.ErrExist
}

// is reports whether the entry name is the open file.
func is(dir *wspath.Dir, name string, f *os.File) bool {
	now, err := dir.Lstat(name)
	if err != nil {
		return false
	}
	mine, err := f.Stat()
	return err == nil && os.SameFile(now, mine)
}

// write fills the file and brings it to the disk. It goes in pieces, so that there is
// a place to stop a large one.
func (t *temp) write(content io.Reader) error {
	if err := step("temporary made"); err != nil {
		return err
	}
	const piece = 1 << 20
	for {
		n, err := io.CopyN(t.f, content, piece)
		if n > 0 {
			if err := step("temporary partly written"); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	return t.sync()
}

// writeBytes is write without a buffer between.
func (t *temp) writeBytes(content []byte) error {
	if err := step("temporary made"); err != nil {
		return err
	}
	for piece := range slices.Chunk(content, 1<<20) {
		if _, err := t.f.Write(piece); err != nil {
			return err
		}
		if err := step("temporary partly written"); err != nil {
			return err
		}
	}
	return t.sync()
}

func (t *temp) sync() error {
	if t.lazy {
		return nil
	}
	if err := t.f.Sync(); err != nil {
		return err
	}
	return step("temporary written")
}

// link gives the file a temporary name.
func (t *temp) link() error {
	if t.name != "" {
		return nil
	}
	for n := range maxTemps {
		name := tempName(t.target, n)
		err := t.dir.LinkFile(t.f, name)
		if err == nil {
			t.name = name
			return step("temporary named")
		}
		if errors.Is(err, fs.ErrNotExist) {
			return wspath.ErrUnsupported // no /proc, which linking goes through
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fs.ErrExist
}

// discard removes what is left of the file.
func (t *temp) discard() {
	if t.name != "" && is(t.dir, t.name, t.f) {
		// What cannot be removed is locked no longer, and goes with the next sweep.
		_ = t.dir.Remove(t.name)
	}
	t.f.Close()
}

func (t *temp) syncDir() error {
	if t.lazy {
		return nil
	}
	return syncDir(t.dir, t.f)
}

// syncDir brings the directory's entries to the disk. Where it may not be opened,
// syncing a file that was just renamed in it does the same on journalling file systems.
func syncDir(dir *wspath.Dir, renamed *os.File) error {
	d, err := dir.OpenDirFile("")
	if err != nil {
		return renamed.Sync()
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// Sweep removes the temporaries that killed calls left in a directory: those whose lock
// can be had, with `delete` granted on them. Every tool that writes in a directory calls
// it, most of them through this package. It never fails: what cannot be removed stays. Without
// `read` on the directory, or behind its first 20 000 entries, they are not found.
func Sweep(dir *jptool.Target) {
	base, path, err := dir.Base()
	if err != nil {
		return
	}
	held, err := base.Sub(path)
	if err != nil {
		return
	}
	defer held.Close()
	sweep(held, dir, "")
}

// sweep is Sweep in a held directory. The names that target would have are tried
// also where the directory cannot be listed.
func sweep(held *wspath.Dir, dir *jptool.Target, target string) {
	if !dir.Child(tempName(target, 0)).Granted().Has(jptool.Delete) {
		return
	}
	if target != "" {
		for n := range 2 {
			sweepOne(held, dir, tempName(target, n))
		}
	}
	if !dir.Granted().Has(jptool.Read) {
		return
	}
	list, err := held.OpenDirFile("")
	if err != nil {
		return
	}
	defer list.Close()
	for left := maxSwept; left > 0; {
		names, err := list.Readdirnames(1024)
		for _, name := range names {
			if isTemp(name) {
				sweepOne(held, dir, name)
			}
		}
		if left -= len(names); err != nil || len(names) == 0 {
			return // io.EOF at the end
		}
	}
}

func sweepOne(held *wspath.Dir, dir *jptool.Target, name string) {
	if !dir.Child(name).Granted().Has(jptool.Delete) {
		return
	}
	f, err := held.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = held.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return
	}
	defer f.Close()
	// The lock first: a live writer has it. Then the name: it may be another file's by now,
	// and cannot become one while this file is there and locked.
	if tryLock(f) == nil && is(held, name, f) {
		_ = held.Remove(name)
	}
}
