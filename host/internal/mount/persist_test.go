package mount

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
)

func TestPersistInAConversation(t *testing.T) {
	w := newWorld(t, nil)
	dir, err := statetest.Dir(t, w.home, nil).Conversation("default")
	must(t, err)
	w.env.Persist = Persist(dir)
	must(t, w.apply(w.plan(t, "fs_read_file:fork=~/code/x")))
	must(t, w.apply(w.plan(t, "fs_modify_file:fork=~/code/x:rw")))
	raw, err := dir.Read(DeltaFile)
	must(t, err)
	got, err := parseDelta(raw, "f")
	must(t, err)
	want := map[string][]string{"fs_read_file": {whole, ro}, "fs_modify_file": {whole, rw}}
	if diff := cmp.Diff(want, shown(got)); diff != "" {
		t.Error(diff)
	}
	// A layer that does not parse stops the mount and is left alone.
	must(t, dir.Write(DeltaFile, []byte("[broken")))
	before := w.tree(t)
	if err := w.apply(w.plan(t, "fs_read_file:other=~/code/y")); err == nil || !strings.Contains(err.Error(), "\nrepair the file") {
		t.Errorf("got %v", err)
	}
	if raw, _ := dir.Read(DeltaFile); string(raw) != "[broken" || w.tree(t) != before {
		t.Errorf("%q\n%s", raw, w.tree(t))
	}
}
