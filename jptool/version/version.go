// Package version says which build a program is, for people who report something about it.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build is what a program was built from.
type Build struct {
	// Version is that of the module, "devel" if the build had none.
	Version string
	// Revision is the commit, empty if the build did not know it.
	Revision string
}

// Read says how the running program was built.
func Read() Build {
	b := Build{Version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

// Line is one line of text, with the version of Go and the machine that the program is for.
func (b Build) Line(program string) string {
	which := b.Version
	if b.Revision != "" {
		which += " " + b.Revision
	}
	return fmt.Sprintf("%s %s (%s, %s/%s)\n", program, which, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
