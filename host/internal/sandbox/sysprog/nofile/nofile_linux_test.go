//go:build amd64 || arm64

package nofile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/host/internal/sandbox/sysprog/nofile"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 1 && filepath.Base(os.Args[0]) == "limits" {
		soft, hard := nofile.Limit()
		var now syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &now); err != nil {
			os.Exit(1)
		}
		fmt.Printf("%d %d, now %d\n", soft, hard, now.Cur)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// What the runtime has raised is seen as it was. This is in a package of its own: a test in
// the other would import package syscall there.
func TestLimit(t *testing.T) {
	cmd := exec.Command("/bin/sh", "-c", `ulimit -Sn 123; ulimit -Hn 321; ln -s "$0" "$1/limits"; cd "$1"; PATH=.; exec limits`, exe(t), t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "123 321, now 320" {
		t.Errorf("%v: %s", err, out)
	}
}

func exe(t *testing.T) string {
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
