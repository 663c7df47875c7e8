package safewrite

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// maxSwept bounds how many entries of a directory are looked at for stale temporaries, so
// that writing one file stays cheap in a huge directory.
const maxSwept = 20_000

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
	f    *os.File
	dir  *wspath.Dir
	old  uint64 // stamp.id of what it is to replace, or 0
	name string // "" while it has none
	// done is what it was when it was complete.
	done stamp
	lazy bool // do not wait for the disk
}

// newTemp makes an empty file, without a name where that is possible. old is the stamp.id
// of the file that it is to be exchanged with, or 0.
func newTemp(dir *wspath.Dir, old uint64) (*temp, error) {
	f, err := unnamedFile(dir)
	if err == nil {
		if err = tryLock(f); err != nil {
			f.Close()
			return nil, err
		}
		return &temp{f: f, dir: dir, old: old}, nil
	}
	if !errors.Is(err, wspath.ErrUnsupported) {
		return nil, err
	}
	return namedTemp(dir, old, 0o600)
}

// namedTemp makes the file with a name, which it has to be given a second time: before it
// is there its inode number is not known. An empty file with the first name may be swept by
// anybody, also while this call is between the two.
func namedTemp(dir *wspath.Dir, old uint64, perm fs.FileMode) (*temp, error) {
	for range maxTries {
		name := tempName(0, 0)
		f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			return nil, err
		}
		tmp := &temp{f: f, dir: dir, old: old, name: name}
		if err = tryLock(f); err == nil {
			err = tmp.rename()
		}
		if err == nil {
			return tmp, nil
		}
		tmp.discard()
		if err != errLocked && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, errors.New("the temporary file was removed by another call each time")
}

// rename gives the file a name that proves it to be a temporary of this package.
func (t *temp) rename() error {
	s, err := stampOf(t.f)
	if err != nil || s.inode == 0 {
		return err
	}
	name := tempName(s.inode, t.old)
	if err := t.dir.Rename(t.name, t.dir, name); err != nil {
		return err
	}
	t.name = name
	return nil
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

func (t *temp) writeBytes(content []byte) error { return t.write(bytes.NewReader(content)) }

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
	s, err := stampOf(t.f)
	if err != nil {
		return err
	}
	name := tempName(s.inode, t.old)
	err = t.dir.LinkFile(t.f, name)
	if errors.Is(err, fs.ErrNotExist) {
		return wspath.ErrUnsupported // no /proc, which linking goes through
	}
	if err != nil {
		return err
	}
	t.name = name
	return step("temporary named")
}

// become gives the file its final name, in place of what has that name.
func (t *temp) become(name string) error {
	if err := t.dir.Rename(t.name, t.dir, name); err != nil {
		return err
	}
	t.name = ""
	return t.syncDir()
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

// Sweep removes the temporaries that killed calls left in a directory: files whose name proves that they
// are ours (see tempName), that nobody has locked, and on which `delete` is granted. Every tool
// that writes in a directory calls it, most of them through this package. It never fails. What cannot be
// removed stays. So do files of others with such a name, files that changed since, and all of them
// on file systems without stable inode numbers. Without `read` on the directory, or behind its first 20,000
// entries, temporaries are not found.
func Sweep(dir *jptool.Target) {
	base, path, err := dir.Base()
	if err != nil {
		return
	}
	d, err := base.Sub(path)
	if err != nil {
		return
	}
	defer d.Close()
	sweep(d, dir)
}

// sweep is Sweep in an open directory.
func sweep(d *wspath.Dir, dir *jptool.Target) {
	if !tempIn(dir).Granted().Has(jptool.Delete) || !dir.Granted().Has(jptool.Read) {
		return
	}
	list, err := d.OpenDirFile("")
	if err != nil {
		return
	}
	defer list.Close()
	names, _ := list.Readdirnames(maxSwept) // what could be read
	for _, name := range names {
		if isTemp(name) {
			sweepOne(d, dir, name)
		}
	}
}

// tempIn is a temporary in dir, as far as the policy is concerned.
func tempIn(dir *jptool.Target) *jptool.Target { return dir.Child(tempName(0, 0)) }

func sweepOne(d *wspath.Dir, dir *jptool.Target, name string) {
	if !dir.Child(name).Granted().Has(jptool.Delete) {
		return
	}
	f, err := d.OpenFile(name, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrPermission) {
		f, err = d.OpenFile(name, os.O_WRONLY, 0)
	}
	if err != nil {
		return
	}
	defer f.Close()
	// The lock first: a live writer has it. Then the name: it may be another file's by now,
	// and cannot become one while this file is there and locked.
	if tryLock(f) == nil && ours(name, f) && is(d, name, f) {
		_ = d.Remove(name)
	}
}

const (
	// maxTries bounds how often a temporary may be swept before it has its name.
	maxTries = 8
	// maxName is how long a file's name may be in bytes, nearly everywhere.
	maxName = 255
)

// tempName is `.jptool-RANDOM-NEW-OLD.tmp`. NEW is the inode number of the temporary
// itself, and OLD the [stamp.id] of the file it is to replace, which has this name for a
// moment too; 0 is none. The numbers prove that this package chose the name: a process that
// chooses a name cannot know the inode number that the file will get.
func tempName(self, old uint64) string {
	return fmt.Sprintf(".jptool-%016x-%016x-%016x.tmp", rand.Uint64(), self, old)
}

// tempForm is what tempName makes, and nothing else.
var tempForm = regexp.MustCompile(`^\.jptool-[0-9a-f]{16}-([0-9a-f]{16})-([0-9a-f]{16})\.tmp$`)

// parseTemp is the reverse of tempName; ok only for exactly this form.
func parseTemp(name string) (self, old uint64, ok bool) {
	m := tempForm.FindStringSubmatch(name)
	if m == nil {
		return 0, 0, false
	}
	self, _ = strconv.ParseUint(m[1], 16, 64)
	old, _ = strconv.ParseUint(m[2], 16, 64)
	return self, old, true
}

// isTemp reports whether name is of the form of tempName, whoever made it.
func isTemp(name string) bool { return tempForm.MatchString(name) }

// ours reports whether this package gave the file its temporary name: to a new file, or to an old one as it was
// when it was to be replaced. It is false for a file of another program, and for an old file that was written to
// since. A file whose name has no numbers yet is ours if it is empty: nothing is lost with it.
func ours(name string, f *os.File) bool {
	self, old, ok := parseTemp(name)
	s, err := stampOf(f)
	if !ok || err != nil {
		return false
	}
	if self == 0 && old == 0 {
		return s.size == 0
	}
	return s.inode != 0 && (s.inode == self || s.id() == old)
}

// savedName is a visible name, not that of a temporary, for what another program put at name.
func savedName(name string) string {
	suffix := fmt.Sprintf(".saved-%016x", rand.Uint64())
	return strings.ToValidUTF8(name[:min(len(name), maxName-len(suffix))], "") + suffix
}

// CheckName refuses a new path that is written like a directory's, which is lost in
// the Target, and the names that temporary files have. given is what the caller wrote.
func CheckName(t *jptool.Target, given string) error {
	// A "." that is not alone, and a "..", mean a directory as well.
	i := strings.LastIndexAny(given, "/"+string(os.PathSeparator))
	if last := given[i+1:]; i >= 0 && (last == "" || last == "." || last == "..") {
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s names a directory by its end; give the full path that is to be made, such as %s", jptool.Quote(given), jptool.Quote(t.Path()))
	}
	if isTemp(t.Name()) {
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s has the form of the names of temporary files, which are removed when they are old; choose another one", jptool.Quote(t.Path()))
	}
	return nil
}
