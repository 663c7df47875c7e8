module github.com/jptools/jptools/e2e

go 1.26.0

require github.com/jptools/jptools/jptool v0.0.0

require (
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

require (
	github.com/google/jsonschema-go v0.4.3
	golang.org/x/sys v0.49.0
)

replace github.com/jptools/jptools/jptool => ../jptool
