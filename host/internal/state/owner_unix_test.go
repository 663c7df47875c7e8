//go:build unix

package state

import (
	"os"
	"strings"
	"testing"
)

func TestStateDirectoryOfAnotherUser(t *testing.T) {
	data := t.TempDir()
	sys := OS(func(name string) string {
		if name == "XDG_DATA_HOME" {
			return data
		}
		return ""
	})
	ws, err := OpenWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d, err := sys.Workspace(ws)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Write("f", []byte("mine")); err != nil {
		t.Fatal(err)
	}
	me := os.Geteuid()
	euid = func() int { return me + 1 }
	defer func() { euid = os.Geteuid }()
	if _, err := sys.Workspace(ws); err == nil || !strings.Contains(err.Error(), "belongs to another user") {
		t.Errorf("opening: %v", err)
	}
	if err := d.Write("f", []byte("theirs")); err == nil {
		t.Error("it was written to")
	}
}
