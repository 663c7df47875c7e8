// Command fs_read_file shows the lines of a file, numbered. It streams: what it costs
// grows with the lines shown and, for a range far into a file, with the bytes before it,
// never with the size of the file in memory. See docs/wire.md for the request.
package main

import (
	"os"

	"github.com/jptools/jptools/jptool/toolmain"
)

func main() { os.Exit(toolmain.Main(tool)) }
