module github.com/jptools/jptools/tools/fs_delete_file

go 1.26.0

require (
	github.com/jptools/jptools/jptool v0.0.0
	github.com/jptools/jptools/tools/fskit v0.0.0
)

require (
	github.com/alecthomas/kong v1.17.0 // indirect
	github.com/aymanbagabas/go-udiff v0.4.1 // indirect
)

require (
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/net v0.62.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/term v0.47.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

replace (
	github.com/jptools/jptools/jptool => ../../jptool
	github.com/jptools/jptools/tools/fskit => ../fskit
)
