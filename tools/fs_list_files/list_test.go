package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jptools/jptools/tools/fskit/walk"
)

// However many paths are asked for, a listing holds a bounded number of bytes, counts the rest, and says
// where to go on.
func TestListingIsBoundedInBytes(t *testing.T) {
	var l listing
	dir := strings.Repeat("d", 200)
	const files = 120_000
	for i := range files {
		l.add([]string{fmt.Sprintf("%s/%06d", dir, i)}, 1_000_000_000)
	}
	out := l.outcome(&walk.Result{})
	if n := len(out.Content); n < maxBytes/2 || n > maxBytes+1000 {
		t.Errorf("%d bytes are shown", n)
	}
	if l.total != files || len(l.paths) >= files || len(l.paths) < files/2 {
		t.Errorf("%d of %d shown", len(l.paths), l.total)
	}
	last := fmt.Sprintf("%s/%06d", dir, len(l.paths)-1)
	if !strings.Contains(out.Content, last+"\n\nNote: ") || !strings.Contains(out.Content, "`after` = \""+last) {
		t.Errorf("it ends with %q", out.Content[len(out.Content)-500:])
	}
}
