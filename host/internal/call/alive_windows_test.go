package call

import (
	"os"
	"strconv"
	"testing"
)

func alive(t *testing.T, pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	if err == nil {
		p.Release()
	}
	return err == nil
}
