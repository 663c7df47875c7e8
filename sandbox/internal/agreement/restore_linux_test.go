package agreement

import (
	"os"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// A symlink that got the number of the one that it replaced is another one.
func TestRestoreLinkWithTheSameNumber(t *testing.T) {
	base := jptooltest.OpenRoot(t)
	dir, spare := base+"/tree", base+"/spare"
	do(os.Mkdir(spare, 0o755))
	build(dir, []string{"symlink l a", "symlink m a"})
	want := scan(dir)
	for _, name := range []string{"l", "m"} {
		do(os.Remove(dir + "/" + name))
		do(os.Symlink("b", dir+"/"+name))
	}
	now := scan(dir)
	for from, to := range map[string]string{"l": "l", "m": "l"} { // in place, and where the other stands
		e := want[from]
		e.ino = now[to].ino
		want[from] = e
	}
	got := restore(dir, spare, want)
	if left := effect(dir, want, got, false); left != "" {
		t.Errorf("%s is left", left)
	}
}
