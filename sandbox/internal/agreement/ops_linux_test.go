package agreement

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// op is one thing to try. Paths are as a tool names them: relative to the workspace.
type op struct {
	Do string `json:"do"`
	A  string `json:"a"`
	B  string `json:"b,omitempty"`
	// FD is the unnamed file that is given a name; the runner chooses it.
	FD int `json:"fd,omitempty"`
}

func (o op) String() string { return strings.TrimSpace(o.Do + " " + o.A + " " + o.B) }

// operations are done with raw system calls on absolute paths. The text is what was seen.
var operations = map[string]func(a, b string) (string, error){
	"read": func(a, _ string) (string, error) { return readAll(a) },
	"list": func(a, _ string) (string, error) { return listAll(a) },
	"stat": func(a, _ string) (string, error) { return "", unix.Lstat(a, &unix.Stat_t{}) },
	"execute": func(a, _ string) (string, error) {
		for end := time.Now().Add(2 * time.Second); ; {
			pid, err := syscall.ForkExec(a, []string{a}, &syscall.ProcAttr{Files: []uintptr{0, 2, 2}})
			if err == syscall.ETXTBSY && time.Now().Before(end) {
				time.Sleep(time.Millisecond) // another thread has forked while the file was written
				continue
			}
			if err != nil {
				return "", err
			}
			var status syscall.WaitStatus
			for {
				if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
					break
				}
			}
			return fmt.Sprintf("exit status %d", status.ExitStatus()), err
		}
	},
	"update":   func(a, _ string) (string, error) { return "", writeTo(a, unix.O_WRONLY, "updated") },
	"append":   func(a, _ string) (string, error) { return "", writeTo(a, unix.O_WRONLY|unix.O_APPEND, "appended") },
	"edit":     func(a, _ string) (string, error) { return "", writeTo(a, unix.O_RDWR, "edited") },
	"truncate": func(a, _ string) (string, error) { return "", unix.Truncate(a, 3) },
	"empty":    func(a, _ string) (string, error) { return "", writeTo(a, unix.O_RDONLY|unix.O_TRUNC, "") },
	"create":   func(a, _ string) (string, error) { return "", unix.Mknod(a, unix.S_IFREG|0o755, 0) },
	"write": func(a, _ string) (string, error) {
		return "", writeTo(a, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, "written")
	},
	"mkdir":   func(a, _ string) (string, error) { return "", unix.Mkdir(a, 0o755) },
	"symlink": func(a, _ string) (string, error) { return "", unix.Symlink("somewhere", a) },
	"delete":  func(a, _ string) (string, error) { return "", unix.Unlink(a) },
	"rmdir":   func(a, _ string) (string, error) { return "", unix.Rmdir(a) },
	"link":    func(a, b string) (string, error) { return "", unix.Link(a, b) },
	"rename": func(a, b string) (string, error) {
		return "", unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_NOREPLACE)
	},
	"replace": func(a, b string) (string, error) { return "", unix.Rename(a, b) },
	"exchange": func(a, b string) (string, error) {
		return "", unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	},
	"whiteout": func(a, b string) (string, error) {
		return "", unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_NOREPLACE|unix.RENAME_WHITEOUT)
	},
	"device": func(a, _ string) (string, error) { return "", unix.Mknod(a, unix.S_IFCHR|0o600, 0) },
	// What tools do when a rename is refused.
	"copy": func(a, b string) (string, error) {
		a, err := place(a)
		if err == nil {
			b, err = place(b)
		}
		if err == nil {
			err = copyTree(a, b)
		}
		return "", err
	},
	"chmod": func(a, _ string) (string, error) { return "", unix.Chmod(a, 0o711) },
	"utime": func(a, _ string) (string, error) { return "", unix.Utimes(a, make([]unix.Timeval, 2)) },
	"xattr": func(a, _ string) (string, error) { return "", unix.Setxattr(a, "user.x", []byte("x"), 0) },
}

// stage fills a file that was handed down, and gives it a name. Unprotected it is a file like
// any other.
func stage(fd int, p string) error {
	if fd == 0 {
		return writeTo(p, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, "staged")
	}
	if _, err := unix.Pwrite(fd, []byte("staged"), 0); err != nil {
		return err
	}
	return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, p, unix.AT_SYMLINK_FOLLOW)
}

func open(p string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Open(p, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

func readAll(p string) (string, error) {
	fd, err := open(p, unix.O_RDONLY, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var text []byte
	for b := make([]byte, 4096); ; {
		n, err := unix.Read(fd, b)
		if err != nil || n <= 0 {
			return string(text), err
		}
		text = append(text, b[:n]...)
	}
}

func names(p string) ([]string, error) {
	fd, err := open(p, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), p)
	defer f.Close()
	list, err := f.Readdirnames(-1)
	slices.Sort(list)
	return list, err
}

func listAll(p string) (string, error) {
	list, err := names(p)
	return strings.Join(list, " "), err
}

func writeTo(p string, flags int, text string) error {
	fd, err := open(p, flags, 0o755)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if text != "" {
		_, err = unix.Write(fd, []byte(text))
	}
	return err
}

// place is the place of an entry, its directory resolved: the kernel and the tools resolve
// both ends of a move before anything changes, and either may lead through what is moved.
func place(p string) (string, error) {
	dir, err := filepath.EvalSymlinks(path.Dir(p))
	return path.Join(dir, path.Base(p)), err
}

// copyTree copies a to b, which is not there, and removes a. Both are places.
func copyTree(a, b string) error {
	var st unix.Stat_t
	if err := unix.Lstat(a, &st); err != nil {
		return err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		to, err := os.Readlink(a)
		if err == nil {
			err = unix.Symlink(to, b)
		}
		if err == nil {
			err = unix.Unlink(a)
		}
		return err
	case unix.S_IFDIR:
		list, err := names(a)
		if err != nil {
			return err
		}
		if err := unix.Mkdir(b, 0o755); err != nil {
			return err
		}
		for _, name := range list {
			if err := copyTree(path.Join(a, name), path.Join(b, name)); err != nil {
				return err
			}
		}
		return unix.Rmdir(a)
	}
	text, err := readAll(a)
	if err == nil {
		err = writeTo(b, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, text)
	}
	if err == nil {
		err = unix.Unlink(a)
	}
	return err
}
