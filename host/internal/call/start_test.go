package call

import (
	"context"
	"testing"
)

// A part of a second is no limit of zero, which would be none.
func TestLimitsBelowOneSecond(t *testing.T) {
	for given, want := range map[string]int64{"0.0001": 1, "1": 1, "1.0001": 2} {
		w := newWorld(t, "[conversation.tools.fs_read_file]\nlimits.cpu_seconds = "+given+"\n")
		h := w.host()
		tool, ok := h.Config.Tool("fs_read_file")
		if !ok {
			t.Fatal("no tool")
		}
		s, err := h.Sandbox(context.Background(), tool)
		if err != nil || s.Limits.CPUSeconds != want {
			t.Errorf("cpu_seconds = %s: %d, %v", given, s.Limits.CPUSeconds, err)
		}
	}
}
