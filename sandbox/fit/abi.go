package fit

import "fmt"

// The first versions of Landlock that hold something (reported as the ABI); all hold files.
const (
	MoveABI     = 2 // moving and linking across directories; refused before
	TruncateABI = 3
	NetABI      = 4 // TCP ports
	IoctlABI    = 5 // commands to devices
	ScopeABI    = 6 // signals to processes outside, and their abstract sockets
	ResolveABI  = 9 // local sockets, by their paths
)

// linux is the kernel that a version of Landlock came with, of those that plans ask for.
var linux = [ScopeABI + 1]string{MoveABI: "5.19", TruncateABI: "6.2", NetABI: "6.7", IoctlABI: "6.10", ScopeABI: "6.12"}

// older says that the machine's Landlock is too old, and what to do.
func older(abi int) (why, remedy string) {
	return fmt.Sprintf("the kernel's Landlock is older than version %d", abi), "use Linux " + linux[abi] + " or newer"
}
