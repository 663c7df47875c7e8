//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
)

// What a killed call left behind does not keep the directory: it has its own inode number
// in its name.
func TestLitterDoesNotKeepTheDirectory(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/f x", "file d/half half")
	fi, err := os.Stat(root + "/d/half")
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf(".jptool-0123456789abcdef-%016x-0000000000000000.tmp", fi.Sys().(*syscall.Stat_t).Ino)
	if err := os.Rename(root+"/d/half", root+"/d/"+name); err != nil {
		t.Fatal(err)
	}
	request := fmt.Sprintf(`{"context": {"root": %q, "action": "run"}, "tool": {"name": "fs_delete_file", "arguments": {"path": "d/f"}}}`, root)
	var stdout, stderr bytes.Buffer
	toolmain.Run(t.Context(), tool, toolmain.Streams{Stdin: strings.NewReader(request), Stdout: &stdout, Stderr: &stderr})
	if _, err := os.Stat(root + "/d"); err == nil || !strings.Contains(stdout.String(), `"removed_parents":["d"]`) {
		t.Errorf("the directory is still there: %s%s", &stdout, &stderr)
	}
}
