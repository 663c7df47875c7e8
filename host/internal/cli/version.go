package cli

import (
	"runtime"
	"runtime/debug"
)

type versionCmd struct{ bare }

// Run implements the command.
func (c *versionCmd) Run(a *app) error {
	version, revision := "devel", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		if v := info.Main.Version; v != "" && v != "(devel)" {
			version = v
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = s.Value
			}
		}
	}
	if a.out.json {
		return a.out.value(map[string]string{
			"version": version, "revision": revision, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	if revision != "" {
		version += " " + revision
	}
	a.out.printf("jphost %s (%s, %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return nil
}
