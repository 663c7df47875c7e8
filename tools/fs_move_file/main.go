// Command fs_move_file moves or renames a file, symlink or directory, also from one file system
// to another. See docs/wire.md for the request.
package main

import (
	"os"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() { os.Exit(toolmain.Main(tool)) }
