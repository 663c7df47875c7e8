// Command fs_modify_file replaces text in files: patterns in order, over any number of
// files, all or nothing, to the byte. See docs/wire.md for the request.
package main

import (
	"os"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() { os.Exit(toolmain.Main(tool)) }
