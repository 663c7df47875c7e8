// Command fs_delete_file removes one file or symlink, after asking when git could not
// bring it back. See docs/wire.md for the request.
package main

import (
	"os"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() { os.Exit(toolmain.Main(tool)) }
