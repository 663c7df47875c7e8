package jptool

import "testing"

// System calls take the lower half of such a number for another descriptor.
func TestStagedDescriptorIsOne(t *testing.T) {
	for fd, ok := range map[int]bool{3: true, 1<<32 + 3: false} {
		c := Context{Root: t.TempDir(), Access: &AccessPolicy{Staged: []StagedFile{{Path: "new", FD: fd}}}}
		ws, err := c.Open()
		if (err == nil) != ok || err != nil && CodeOf(err) != CodeInvalidPolicy {
			t.Errorf("%d: %v", fd, err)
		}
		if ws != nil {
			ws.Close()
		}
	}
}
