package walk

import (
	"context"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// variant is a way to run the walk that must not change what it finds.
type variant struct {
	name     string
	portable bool
	procs    int
	ahead    int
	unknown  bool
}

var variants = []variant{
	{name: "parallel", procs: 4, ahead: 1 << 16},
	{name: "serial", procs: 1, ahead: 1 << 16},
	{name: "portable", portable: true, procs: 4, ahead: 1 << 16},
	{name: "hardly ahead", procs: 4, ahead: 3},
	{name: "types unknown", procs: 2, ahead: 1 << 16, unknown: true},
}

func (v variant) set() (restore func()) {
	p, a := portable, aheadEntries
	unknown := setTypesUnknown(v.unknown)
	procs := runtime.GOMAXPROCS(v.procs)
	portable, aheadEntries = v.portable, v.ahead
	return func() {
		portable, aheadEntries = p, a
		setTypesUnknown(unknown)
		runtime.GOMAXPROCS(procs)
	}
}

// collect walks once.
func collect(ws *jptool.Workspace, o Options) (paths []string, r *Result, err error) {
	paths = []string{}
	r, err = Walk(context.Background(), ws, o, func(b *Batch) error {
		paths = append(paths, b.Paths...)
		return nil
	})
	return paths, r, err
}

// listed walks in every variant and fails when they differ.
func listed(t testing.TB, ws *jptool.Workspace, o Options) ([]string, *Result) {
	t.Helper()
	var first []string
	var result *Result
	for _, v := range variants {
		restore := v.set()
		paths, r, err := collect(ws, o)
		restore()
		if err != nil {
			t.Fatalf("%s: %v", v.name, err)
		}
		if !slices.IsSortedFunc(paths, Compare) {
			t.Fatalf("%s: out of order: %q", v.name, paths)
		}
		if result == nil {
			first, result = paths, r
			continue
		}
		if !slices.Equal(paths, first) {
			t.Fatalf("%s lists %q, %s lists %q", v.name, paths, variants[0].name, first)
		}
		if !reflect.DeepEqual(r.Skipped, result.Skipped) {
			t.Fatalf("%s skips %+v, %s skips %+v", v.name, r.Skipped, variants[0].name, result.Skipped)
		}
	}
	return first, result
}

// tree makes a workspace; the lines are those of [jptooltest.Tree] separated by ";".
func tree(t testing.TB, lines string) string {
	t.Helper()
	root := jptooltest.TempRoot(t)
	for line := range strings.SplitSeq(lines, ";") {
		if line = strings.TrimSpace(line); line != "" {
			jptooltest.Tree(t, root, line)
		}
	}
	return root
}

// Walk is Plan and [Planned.Walk] in one.
func Walk(ctx context.Context, ws *jptool.Workspace, o Options, emit func(*Batch) error) (*Result, error) {
	pl, err := Plan(ctx, ws, o)
	if err != nil {
		return &pl.result, err
	}
	return pl.Walk(ctx, emit)
}
