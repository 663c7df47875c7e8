#include "textflag.h"

// func rawClone(flags uintptr) (result uintptr)
TEXT ·rawClone(SB),NOSPLIT,$0-16
	MOVD	flags+0(FP), R0
	MOVD	$0, R1
	MOVD	$0, R2
	MOVD	$0, R3
	MOVD	$0, R4
	MOVD	$220, R8 // SYS_clone; the return address stays in R30
	SVC
	MOVD	R0, result+8(FP)
	RET

// func rawCloneOn(flags, stack, local, entry uintptr, m *machine) (result uintptr)
TEXT ·rawCloneOn(SB),NOSPLIT,$0-48
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
	MOVD	R0, result+40(FP)
	RET
child:
	MOVD	R10, R0
	CALL	(R9)
	BRK	// it does not return
