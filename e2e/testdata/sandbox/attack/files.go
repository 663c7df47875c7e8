package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"read":   func(a []string) (string, error) { return read(a[0]) },
	"list":   list,
	"write":  func(a []string) (string, error) { return "", write(a[0]) },
	"create": func(a []string) (string, error) { return "", create(a[0]) },
	"mkdir":  func(a []string) (string, error) { return "", unix.Mkdir(a[0], 0o755) },
	"unlink": func(a []string) (string, error) { return "", unix.Unlink(a[0]) },
	"rmdir":  func(a []string) (string, error) { return "", unix.Rmdir(a[0]) },
	"rename": func(a []string) (string, error) { return "", unix.Rename(a[0], a[1]) },
	"exchange": func(a []string) (string, error) {
		return "", unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE)
	},
	"truncate": func(a []string) (string, error) { return "", unix.Truncate(a[0], 0) },
	"mknod":    func(a []string) (string, error) { return mknod(a[0]) },
	// The content of a file, by giving it a second name where everything is allowed.
	"link": func(a []string) (string, error) {
		if err := unix.Link(a[0], a[1]); err != nil {
			return "", err
		}
		return "", write(a[1])
	},
	"link-proc-fd":     linkProcFD,
	"link-empty":       linkEmpty,
	"opath-reopen":     opathReopen,
	"inotify":          inotify,
	"tmpfile":          tmpfile,
	"symlink-write":    symlinkWrite,
	"symlink-read":     symlinkRead,
	"renamed-ancestor": renamedAncestor,
	"swap":             swap,
	"dirfd":            dirfd,
	"dotdot":           dotdot,
	"fchdir":           fchdir,
	"handle":           handle,
	"stdin-dir":        stdinDir,
	"reopen":           reopen,
	"vandal":           vandal,

	"chmod":       func(a []string) (string, error) { return "", unix.Chmod(a[0], 0o751) },
	"chmod-fd":    chmodFD,
	"setuid":      func(a []string) (string, error) { return "", unix.Chmod(a[0], unix.S_ISUID|0o755) },
	"setuid-fd":   setuidFD,
	"setuid-made": setuidMade,
	"marked":      marked,
	"fchmodat2":   fchmodat2,
	"chown":       func(a []string) (string, error) { return "", unix.Chown(a[0], os.Getuid(), os.Getgid()) },
	"lchown":      func(a []string) (string, error) { return "", unix.Lchown(a[0], os.Getuid(), os.Getgid()) },
	"utime":       utime,
	"futime":      futime,
	"xattr": func(a []string) (string, error) {
		return "", unix.Setxattr(a[0], "user.attack", []byte("x"), 0)
	},
	"xattr-read": func(a []string) (string, error) {
		return "", asked(unix.Lgetxattr(a[0], "user.attack", make([]byte, 64)))
	},
	"xattr-list": func(a []string) (string, error) { return "", asked(unix.Listxattr(a[0], make([]byte, 64))) },
	"fxattr":     fxattr,
	"verity":     verity,
	"setflags":   setflags,
	"setversion": setversion,
	"subvolume":  subvolume,
	"lease":      lease,

	"peek": peek,
})

func read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, err := f.Read(b)
	if n > 0 {
		return string(b[:n]), nil
	}
	if err == nil {
		err = refused("nothing there")
	}
	return "", err
}

func list(a []string) (string, error) {
	entries, err := os.ReadDir(a[0])
	if err != nil {
		return "", err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if len(names) == 0 {
		return "", refused("empty")
	}
	return strings.Join(names, " "), nil
}

func write(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("# owned\n")
	return err
}

func create(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString("# owned\n")
	return err
}

// mknod makes the device of the first disk, or a FIFO for those who may not.
func mknod(path string) (string, error) {
	if os.Geteuid() == 0 {
		return "", unix.Mknod(path, unix.S_IFBLK|0o600, int(unix.Mkdev(7, 0)))
	}
	return "", unix.Mkfifo(path, 0o600)
}

// linkProcFD names a file that it may only look at: link-proc-fd FILE NAME.
func linkProcFD(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_PATH, 0)
	if err != nil {
		return "", err
	}
	if err := unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW); err != nil {
		return "", err
	}
	return "", write(a[1])
}

// linkEmpty does the same without the way through /proc.
func linkEmpty(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_PATH, 0)
	if err != nil {
		return "", err
	}
	if err := unix.Linkat(fd, "", unix.AT_FDCWD, a[1], unix.AT_EMPTY_PATH); err != nil {
		return "", err
	}
	return "", write(a[1])
}

// opathReopen writes to a file that it may look at, by the name of its own descriptor.
func opathReopen(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_PATH, 0)
	if err != nil {
		return "", err
	}
	return "", write(fmt.Sprintf("/proc/thread-self/fd/%d", fd))
}

// inotify watches what others do with a directory.
func inotify(a []string) (string, error) {
	fd, err := unix.InotifyInit1(0)
	if err != nil {
		return "", err
	}
	_, err = unix.InotifyAddWatch(fd, a[0], unix.IN_ALL_EVENTS)
	return "", err
}

// tmpfile makes an unnamed file in a directory, and names it: tmpfile DIR NAME.
func tmpfile(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_TMPFILE|unix.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	return "", unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, a[1], unix.AT_SYMLINK_FOLLOW)
}

// symlinkWrite writes through a link of its own: symlink-write LINK TARGET BELOW.
func symlinkWrite(a []string) (string, error) {
	if err := os.Symlink(a[1], a[0]); err != nil {
		return "", err
	}
	path := a[0]
	if a[2] != "" {
		path += "/" + a[2]
	}
	return "", write(path)
}

func symlinkRead(a []string) (string, error) {
	if err := os.Symlink(a[1], a[0]); err != nil {
		return "", err
	}
	return read(a[0])
}

// renamedAncestor moves away the directory that holds a denied one and makes it anew:
// renamed-ancestor DIR NAME. It worked if the denied path is there again with content of ours, or
// the old content can be read at its new place.
func renamedAncestor(a []string) (string, error) {
	away := a[0] + "-away"
	if err := os.Rename(a[0], away); err != nil {
		return "", err
	}
	if got, err := read(filepath.Join(away, a[1], "secret")); err == nil {
		return got, nil
	}
	if err := os.MkdirAll(filepath.Join(a[0], a[1]), 0o755); err != nil {
		return "", err
	}
	return "", create(filepath.Join(a[0], a[1], "planted"))
}

// swap exchanges a harmless directory and a link to a forbidden one while it reads through the
// name of both: swap DIR LINK FILE ROUNDS. It worked if anything but the harmless content came.
func swap(a []string) (string, error) {
	rounds, err := strconv.Atoi(a[3])
	if err != nil {
		return "", err
	}
	harmless, err := os.ReadFile(filepath.Join(a[0], a[2]))
	if err != nil {
		return "", err
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	swaps := 0
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if unix.Renameat2(unix.AT_FDCWD, a[0], unix.AT_FDCWD, a[1], unix.RENAME_EXCHANGE) == nil {
					swaps++
				}
			}
		}
	}()
	found := ""
	for range rounds {
		if got, err := os.ReadFile(filepath.Join(a[0], a[2])); err == nil && string(got) != string(harmless) {
			found = string(got)
			break
		}
	}
	close(stop)
	<-stopped
	if found != "" {
		return found, nil
	}
	if swaps < 10 {
		return "", fmt.Errorf("only %d swaps", swaps)
	}
	return "", refused("%d rounds and %d swaps", rounds, swaps)
}

// dirfd goes from a descriptor on a directory that can be looked at: dirfd DIR REL.
func dirfd(a []string) (string, error) {
	dir, err := unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.Openat(dir, a[1], unix.O_WRONLY|unix.O_APPEND, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte("# owned\n"))
	return "", err
}

// dotdot leaves by the working directory: dotdot REL.
func dotdot(a []string) (string, error) {
	for range 64 {
		if err := os.Chdir(".."); err != nil {
			return "", err
		}
	}
	return "", write(a[0])
}

func fchdir(a []string) (string, error) {
	dir, err := unix.Open(a[0], unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	if err := unix.Fchdir(dir); err != nil {
		return "", err
	}
	return "", write(a[1])
}

// handle opens by a file handle, which asks no directory on the way: handle FILE MOUNTPOINT.
func handle(a []string) (string, error) {
	h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, a[0], 0)
	if err != nil {
		return "", err
	}
	mount, err := unix.Open(a[1], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	fd, err := unix.OpenByHandleAt(mount, h, unix.O_WRONLY|unix.O_APPEND)
	if err != nil {
		return "", err
	}
	_, err = unix.Write(fd, []byte("# owned\n"))
	return "", err
}

// stdinDir goes on from a directory that came as standard input.
func stdinDir(a []string) (string, error) {
	fd, err := unix.Openat(0, a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	b := make([]byte, 100)
	n, err := unix.Read(fd, b)
	return string(b[:n]), err
}

// reopen opens standard input, which is open for reading, for writing.
func reopen([]string) (string, error) { return "", write("/proc/self/fd/0") }

// vandal does to a path all that would change it, or make it: the effect is judged by those
// who sent it. It worked if anything did.
func vandal(a []string) (string, error) {
	var done []string
	var last error
	try := func(what string, err error) {
		if err == nil {
			done = append(done, what)
		} else {
			last = err
		}
	}
	p := a[0]
	_ = os.MkdirAll(filepath.Dir(p), 0o755)
	try("write", write(p))
	try("truncate", unix.Truncate(p, 1))
	try("create", create(p))
	try("create below", create(filepath.Join(p, "planted")))
	try("rename over", func() error {
		tmp := filepath.Join(a[1], "vandal.tmp")
		if err := os.WriteFile(tmp, []byte("# owned\n"), 0o755); err != nil {
			return err
		}
		return os.Rename(tmp, p)
	}())
	try("away", func() error {
		if err := os.Rename(p, p+"-away"); err != nil {
			return err
		}
		return os.WriteFile(p, []byte("# owned\n"), 0o755)
	}())
	try("parent away", func() error {
		dir := filepath.Dir(p)
		if dir == a[1] {
			return refused("its parent is the workspace")
		}
		if err := os.Rename(dir, dir+"-away"); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		return os.WriteFile(p, []byte("# owned\n"), 0o755)
	}())
	if len(done) == 0 {
		return "", last
	}
	return strings.Join(done, ", "), nil
}

func chmodFD(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_PATH, 0)
	if err != nil {
		return "", err
	}
	return "", unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o751)
}

const sysFchmodat2 = 452

func fchmodat2(a []string) (string, error) {
	_, err := raw(sysFchmodat2, minus100, text(a[0]), 0o751, 0)
	return "", err
}

func utime(a []string) (string, error) {
	return "", unix.UtimesNanoAt(unix.AT_FDCWD, a[0], []unix.Timespec{{Sec: 1}, {Sec: 1}}, unix.AT_SYMLINK_NOFOLLOW)
}

// futime changes the times through a descriptor that is open for reading.
func futime(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = raw(unix.SYS_UTIMENSAT, uintptr(fd), 0, at(&[2]unix.Timespec{{Sec: 1}, {Sec: 1}}), 0)
	return "", err
}

func fxattr(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	return "", unix.Fsetxattr(fd, "user.attack", []byte("x"), 0)
}

// setflags marks a file as not worth dumping, through a descriptor open for reading.
func setflags(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return "", err
	}
	return "", unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|0x40) // FS_NODUMP_FL
}

func setuidFD(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	return "", unix.Fchmod(fd, unix.S_ISUID|0o755)
}

// setuidMade makes a file with the mark on it, and content. The kernel takes the mark away when somebody
// without capabilities writes to it.
func setuidMade(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_CREAT|unix.O_EXCL|unix.O_RDWR, unix.S_ISUID|0o755)
	if err != nil {
		return "", err
	}
	if _, err := unix.Write(fd, []byte("x")); err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return "", err
	}
	if st.Mode&unix.S_ISUID == 0 {
		return "", unix.EPERM
	}
	return "", nil
}

// marked makes an empty file with a mark on it: marked CALL PATH. Who has capabilities and writes to it later keeps
// the mark.
func marked(a []string) (string, error) {
	for _, mark := range []uint32{unix.S_ISUID, unix.S_ISGID} {
		_ = os.Remove(a[1])
		var err error
		switch a[0] {
		case "openat":
			_, err = unix.Openat(unix.AT_FDCWD, a[1], unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, mark|0o755)
		case "mknodat":
			err = unix.Mknodat(unix.AT_FDCWD, a[1], unix.S_IFREG|mark|0o755, 0)
		default:
			err = markedHere(a[0], a[1], mark|0o755)
		}
		if err != nil {
			return "", err
		}
		if is, err := os.Stat(a[1]); err != nil || is.Mode()&(os.ModeSetuid|os.ModeSetgid) == 0 {
			return "", refused("%v, %v", is.Mode(), err)
		}
	}
	return "", nil
}

// asked is no error if there was an answer, also that there is none.
func asked(_ int, err error) error {
	if err == unix.ENODATA {
		return nil
	}
	return err
}

// setversion changes the generation of an inode, through a descriptor open for reading.
func setversion(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	const ext4SetVersion = 0x40086604
	generation := uint64(77)
	_, err = raw(unix.SYS_IOCTL, uintptr(fd), ext4SetVersion, at(&generation))
	return "", err
}

// subvolume makes an entry in a directory that is open for reading.
func subvolume(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return "", err
	}
	const btrfsSubvolume = 0x5000940e
	var arg [4096]byte // struct btrfs_ioctl_vol_args: a descriptor and a name
	copy(arg[8:], "planted")
	_, err = raw(unix.SYS_IOCTL, uintptr(fd), btrfsSubvolume, at(&arg))
	return "", err
}

// lease holds up everybody who opens a file.
func lease(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_WRLCK)
	return "", err
}

// verity makes a file immutable for good, through a descriptor open for reading.
func verity(a []string) (string, error) {
	fd, err := unix.Open(a[0], unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	arg := [16]uint64{0: 1 | 1<<32, 1: 4096} // version 1, SHA-256, blocks of 4096 bytes
	_, err = raw(unix.SYS_IOCTL, uintptr(fd), 0x40806685, at(&arg))
	return "", err
}

// peek reads a file that somebody else swaps: peek FILE HARMLESS ROUNDS. It worked if anything
// but the harmless content came.
func peek(a []string) (string, error) {
	rounds, err := strconv.Atoi(a[2])
	if err != nil {
		return "", err
	}
	for range rounds {
		if got, err := os.ReadFile(a[0]); err == nil && strings.TrimSpace(string(got)) != a[1] {
			return string(got), nil
		}
	}
	return "", refused("%d rounds", rounds)
}
