package sysprog

import "syscall"

const execve = syscall.SYS_EXECVE
