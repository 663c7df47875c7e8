package jptool_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/internal/testhook"
)

const portable = "JPTOOLS_TEST_PORTABLE"

func TestMain(m *testing.M) {
	testhook.Portable.Store(os.Getenv(portable) != "")
	os.Exit(m.Run())
}

// TestPortable runs every test of this package on the backend for systems without
// openat2: the same contract holds there.
func TestPortable(t *testing.T) {
	if os.Getenv(portable) != "" {
		return
	}
	cmd := exec.Command(os.Args[0], "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), portable+"=1", "JPTOOLS_RACES=2000")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestRaces") {
		t.Errorf("%v (alone: %s=1 go test .)\n%s", err, portable, out)
	}
}
