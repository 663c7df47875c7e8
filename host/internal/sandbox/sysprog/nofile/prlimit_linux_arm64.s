#include "textflag.h"

// func prlimit(l *[2]uint64) int
TEXT ·prlimit(SB),NOSPLIT,$0-16
	MOVD	$0, R0 // this process
	MOVD	$7, R1 // RLIMIT_NOFILE
	MOVD	$0, R2
	MOVD	l+0(FP), R3
	MOVD	$261, R8 // SYS_prlimit64
	SVC
	MOVD	R0, ret+8(FP)
	RET
