#include "textflag.h"

// func rawClone(flags uintptr) (pid, errno uintptr)
TEXT ·rawClone(SB),NOSPLIT,$0-24
	MOVD	flags+0(FP), R0
	MOVD	$0, R1
	MOVD	$0, R2
	MOVD	$0, R3
	MOVD	$0, R4
	MOVD	$220, R8 // SYS_clone; the return address stays in R30
	SVC
	CMN	$4095, R0
	BCC	ok
	NEG	R0, R0
	MOVD	ZR, pid+8(FP)
	MOVD	R0, errno+16(FP)
	RET
ok:
	MOVD	R0, pid+8(FP)
	MOVD	ZR, errno+16(FP)
	RET

// func rawCloneOn(flags, stack, local, entry uintptr, m *machine) (pid, errno uintptr)
TEXT ·rawCloneOn(SB),NOSPLIT,$0-56
	MOVD	flags+0(FP), R0
	MOVD	stack+8(FP), R1
	MOVD	$0, R2
	MOVD	local+16(FP), R3
	MOVD	$0, R4
	MOVD	entry+24(FP), R9
	MOVD	m+32(FP), R10
	MOVD	$220, R8 // SYS_clone
	SVC
	CBZ	R0, child
	CMN	$4095, R0
	BCC	ok
	NEG	R0, R0
	MOVD	ZR, pid+40(FP)
	MOVD	R0, errno+48(FP)
	RET
ok:
	MOVD	R0, pid+40(FP)
	MOVD	ZR, errno+48(FP)
	RET
child:
	MOVD	R10, R0
	CALL	(R9)
	BRK	// it does not return
