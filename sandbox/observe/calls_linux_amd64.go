package observe

import "golang.org/x/sys/unix"

// alwaysHere and privateHere are calls that other architectures do not have.
var alwaysHere = []numbered{
	{unix.SYS_OPEN, call{opening, none, 0, 1, none, none}},
	{unix.SYS_CREAT, call{creating, none, 0, none, none, none}},
	{unix.SYS_MKDIR, call{making, none, 0, none, none, none}},
	{unix.SYS_SYMLINK, call{making, none, 1, none, none, none}},
	{unix.SYS_MKNOD, call{makingNode, none, 0, 1, none, none}},
	{unix.SYS_RMDIR, call{removing, none, 0, none, none, none}},
	{unix.SYS_UNLINK, call{removing, none, 0, none, none, none}},
	{unix.SYS_RENAME, call{moving, none, 0, none, none, 1}},
	{unix.SYS_LINK, call{linking, none, 0, none, none, 1}},
}

var privateHere = []numbered{
	{unix.SYS_STAT, call{seeing, none, 0, none, none, none}},
	{unix.SYS_ACCESS, call{seeing, none, 0, none, none, none}},
	{unix.SYS_CHMOD, call{changing, none, 0, none, none, none}},
	{unix.SYS_CHOWN, call{changing, none, 0, none, none, none}},
	{unix.SYS_UTIME, call{changing, none, 0, none, none, none}},
	{unix.SYS_UTIMES, call{changing, none, 0, none, none, none}},
}
