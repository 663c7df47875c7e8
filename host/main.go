// Command jphost runs tools for language models under typed, declared limits. See
// docs/host.md.
package main

import (
	"os"

	"github.com/jptools/jptools/host/internal/cli"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox"
)

func main() { os.Exit(jphost()) }

func jphost() int {
	sandbox.Main()
	return int(exit.Of(cli.Process(os.Environ(), os.Stdin, os.Stdout, os.Stderr, os.Args)))
}
