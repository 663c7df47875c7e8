module github.com/jptools/jptools/sandbox

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/jptools/jptools/jptool v0.0.0
	golang.org/x/sys v0.49.0
	pgregory.net/rapid v1.3.0
)

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace github.com/jptools/jptools/jptool => ../jptool
