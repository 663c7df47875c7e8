//go:build unix

package call

import (
	"strconv"
	"syscall"
	"testing"
)

func alive(t *testing.T, pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(n, 0) == nil
}
