// Command fs_create_file makes a new file, or after asking replaces the content of an
// existing one, whole or not at all. See docs/wire.md for the request.
package main

import (
	"os"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() { os.Exit(toolmain.Main(tool)) }
