package term

import (
	"os"

	"golang.org/x/sys/windows"
)

const ttyIn, ttyOut = "CONIN$", "CONOUT$"

// foreground: consoles know no job control.
func foreground(*os.File) bool { return true }

func discardInput(fd int) { _ = windows.FlushConsoleInputBuffer(windows.Handle(fd)) }
