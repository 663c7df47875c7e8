//go:build !windows && (!unix || solaris || aix)

package safewrite

import (
	"io/fs"
	"os"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

func tryLock(*os.File) error { return wspath.ErrUnsupported }

func compareFiles(a *File, _ fs.FileInfo, b *File, _ fs.FileInfo) int {
	return strings.Compare(a.t.Path(), b.t.Path())
}
