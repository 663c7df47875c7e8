package safewrite

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// While somebody swaps a directory with a symlink that leads outside, writes land
// inside or fail. The outcomes allowed: success, or an error that says that the path
// changed, leads outside, is missing, is a link, or that the file is another one now.
func TestSwappedDirectory(t *testing.T) {
	root, outside := jptooltest.TempRoot(t), jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/f old", "symlink l "+outside)
	jptooltest.Tree(t, outside, "file f precious")
	stop := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, root+"/d", unix.AT_FDCWD, root+"/l", unix.RENAME_EXCHANGE)
			}
		}
	}()
	ws := jptooltest.Open(t, root)
	allowed := map[jptool.Code]bool{
		jptool.CodeBusy: true, jptool.CodePathEscape: true, jptool.CodeNotFound: true, jptool.CodeStale: true,
		jptool.CodeWrongType: true, jptool.CodeAlreadyExists: true,
	}
	done, refused := 0, 0
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		tg, err := ws.CheckEntry("d/new", 0)
		if err == nil {
			err = Create(tg, []byte("x"), 0o666)
			if _, err := os.Lstat(outside + "/new"); err == nil {
				t.Fatal("a file was made outside")
			}
			_ = os.Remove(root + "/d/new")
			_ = os.Remove(root + "/l/new")
		}
		if tg, checkErr := ws.CheckContent("d/f", jptool.Update); err == nil && checkErr == nil {
			_, err = edit(t.Context(), tg, to("new"))
		}
		switch {
		case err == nil:
			done++
		case allowed[jptool.CodeOf(err)]:
			refused++
		default:
			t.Fatalf("%v (%s)", err, jptool.CodeOf(err))
		}
	}
	close(stop)
	<-stopped
	wantFile(t, outside+"/f", "precious")
	wantNames(t, outside, "f")
	t.Logf("%d done, %d refused", done, refused)
	if done == 0 || refused == 0 {
		t.Error("the race was not run")
	}
}
