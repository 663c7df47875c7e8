package observe

import (
	"maps"

	"golang.org/x/sys/unix"
)

// Calls that other architectures do not have.
func init() {
	maps.Copy(always, map[uint32]call{
		unix.SYS_OPEN:    {opening, none, 0, 1, none, none},
		unix.SYS_CREAT:   {creating, none, 0, none, none, none},
		unix.SYS_MKDIR:   {making, none, 0, none, none, none},
		unix.SYS_SYMLINK: {making, none, 1, none, none, none},
		unix.SYS_MKNOD:   {making, none, 0, 1, none, none},
		unix.SYS_RMDIR:   {removing, none, 0, none, none, none},
		unix.SYS_UNLINK:  {removing, none, 0, none, none, none},
		unix.SYS_RENAME:  {moving, none, 0, none, none, 1},
		unix.SYS_LINK:    {linking, none, 0, none, none, 1},
	})
	maps.Copy(private, map[uint32]call{
		unix.SYS_STAT:   {seeing, none, 0, none, none, none},
		unix.SYS_ACCESS: {seeing, none, 0, none, none, none},
		unix.SYS_CHMOD:  {changing, none, 0, none, none, none},
		unix.SYS_CHOWN:  {changing, none, 0, none, none, none},
		unix.SYS_UTIME:  {changing, none, 0, none, none, none},
		unix.SYS_UTIMES: {changing, none, 0, none, none, none},
	})
}
