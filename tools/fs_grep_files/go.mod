module github.com/jptools/jptools/tools/fs_grep_files

go 1.26.0

require (
	github.com/jptools/jptools/jptool v0.0.0
	github.com/jptools/jptools/tools/fskit v0.0.0
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/text v0.43.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

replace (
	github.com/jptools/jptools/jptool => ../../jptool
	github.com/jptools/jptools/tools/fskit => ../fskit
)
