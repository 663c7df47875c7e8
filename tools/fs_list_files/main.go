// Command fs_list_files lists the files of a workspace that the access rules let it read.
package main

import (
	"os"
	"runtime/debug"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() {
	// A short life with a result that only grows: collecting garbage seldom pays.
	debug.SetGCPercent(400)
	os.Exit(toolmain.Main(tool))
}
