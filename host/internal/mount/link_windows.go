package mount

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"github.com/jptools/jptools/jptool/wspath"
)

// makeLink makes a symlink or, where that is not permitted, a junction to a directory (RFD D43, "Platform notes").
// Weaker than elsewhere: it goes by path, because a held directory cannot make links to
// directories here; Apply compares afterwards where the link leads.
func makeLink(root *wspath.Dir, rootAbs, text string, l Link) error {
	at := filepath.Join(filepath.FromSlash(rootAbs), filepath.FromSlash(l.Path.Slash()))
	err := os.Symlink(text, at)
	if !errors.Is(err, windows.ERROR_PRIVILEGE_NOT_HELD) {
		return wspath.Bare(err)
	}
	if !l.Dir { // junctions are for directories only
		return errors.New("symlinks to files need Developer Mode or administrator rights here\nturn Developer Mode on, or mount the directory that holds the file")
	}
	if err := root.Mkdir(l.Path.Slash(), 0o777); err != nil {
		return err
	}
	if err := setJunction(at, text); err != nil {
		_ = root.RemoveDir(l.Path.Slash())
		return fmt.Errorf("making a junction: %w", err)
	}
	return nil
}

func setJunction(at, target string) error {
	name, err := windows.UTF16PtrFromString(at)
	if err != nil {
		return err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_OPEN_REPARSE_POINT|windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	buf := junctionBuffer(target)
	var n uint32
	return windows.DeviceIoControl(h, windows.FSCTL_SET_REPARSE_POINT, &buf[0], uint32(len(buf)), nil, 0, &n, nil)
}

// removeLink removes the symlink or junction at path if it leads to text; "" takes
// any. os.Remove takes the link, never what it leads to.
func removeLink(_ *wspath.Dir, rootAbs, path, text string) error {
	at := filepath.Join(filepath.FromSlash(rootAbs), filepath.FromSlash(path))
	now, err := os.Readlink(at)
	if err != nil {
		return fmt.Errorf("it is no link: %w", wspath.Bare(err))
	}
	if text != "" && now != text {
		return errors.New("somebody replaced it")
	}
	return wspath.Bare(os.Remove(at))
}
