module github.com/jptools/jptools/host

go 1.26.0

require (
	github.com/alecthomas/kong v1.17.0
	github.com/aymanbagabas/go-udiff v0.4.1
	github.com/bmatcuk/doublestar/v4 v4.10.4
	github.com/gofrs/flock v0.13.1
	github.com/google/go-cmp v0.7.0
	github.com/google/jsonschema-go v0.4.3
	github.com/jptools/jptools/jptool v0.0.0
	github.com/pelletier/go-toml/v2 v2.4.3
	github.com/rogpeppe/go-internal v1.16.0
	github.com/spf13/afero v1.15.0
	golang.org/x/sys v0.49.0
	golang.org/x/term v0.47.0
	golang.org/x/text v0.43.0
	mvdan.cc/sh/v3 v3.14.1
	pgregory.net/rapid v1.3.0
)

require (
	github.com/landlock-lsm/go-landlock v0.11.0 // indirect
	golang.org/x/net v0.62.0 // indirect
	kernel.org/pub/linux/libs/security/libcap/psx v1.2.77 // indirect
)

require (
	github.com/jptools/jptools/sandbox v0.0.0
	golang.org/x/tools v0.51.0 // indirect
)

replace github.com/jptools/jptools/jptool => ../jptool

replace github.com/jptools/jptools/sandbox => ../sandbox
