// Command fs_grep_files searches the files of a workspace that the access rules let it read.
package main

import (
	"os"
	"runtime/debug"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() {
	// A short life with little garbage: collecting it seldom pays.
	debug.SetGCPercent(400)
	os.Exit(toolmain.Main(tool))
}
