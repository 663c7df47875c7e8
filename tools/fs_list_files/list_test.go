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
	l := listing{most: 1_000_000_000}
	dir := strings.Repeat("d", 200)
	const files = 120_000
	for i := range files {
		l.add([]string{fmt.Sprintf("%s/%06d", dir, i)})
	}
	out := l.outcome(&walk.Result{}, false, false)
	if n := len(out.Content); n < maxBytes/2 || n > maxBytes+1000 {
		t.Errorf("%d bytes are shown", n)
	}
	if l.files != files || len(l.lines) >= files || len(l.lines) < files/2 {
		t.Errorf("%d of %d shown", len(l.lines), l.files)
	}
	last := fmt.Sprintf("%s/%06d", dir, len(l.lines)-1)
	if !strings.Contains(out.Content, last+"\n\nNote: ") || !strings.Contains(out.Content, "`after` = \""+last) {
		t.Errorf("it ends with %q", out.Content[len(out.Content)-500:])
	}
}
