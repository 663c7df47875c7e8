#include "textflag.h"

// func prlimit(l *[2]uint64) int
TEXT ·prlimit(SB),NOSPLIT,$0-16
	MOVQ	$0, DI // this process
	MOVQ	$7, SI // RLIMIT_NOFILE
	MOVQ	$0, DX
	MOVQ	l+0(FP), R10
	MOVQ	$302, AX // SYS_prlimit64
	SYSCALL
	MOVQ	AX, ret+8(FP)
	RET
