module github.com/jptools/jptools/sandbox

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/jptools/jptools/jptool v0.0.0
	github.com/landlock-lsm/go-landlock v0.11.0
	golang.org/x/net v0.62.0
	golang.org/x/sys v0.49.0
	pgregory.net/rapid v1.3.0
)

require (
	golang.org/x/text v0.43.0 // indirect
	kernel.org/pub/linux/libs/security/libcap/psx v1.2.77 // indirect
)

replace github.com/jptools/jptools/jptool => ../jptool
