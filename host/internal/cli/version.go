package cli

import (
	"runtime"

	"github.com/jptools/jptools/jptool/version"
)

type versionCmd struct{}

func (c *versionCmd) Run(a *app) error {
	b := version.Read()
	if a.out.json {
		return a.out.value(map[string]string{
			"version": b.Version, "revision": b.Revision, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	a.out.printf("%s", b.Line("jphost"))
	return nil
}
