#include "textflag.h"

// func rawClone(flags uintptr) (result uintptr)
TEXT ·rawClone(SB),NOSPLIT|NOFRAME,$0-16
	MOVQ	flags+0(FP), DI
	MOVQ	$0, SI
	MOVQ	$0, DX
	MOVQ	$0, R10
	MOVQ	$0, R8
	MOVQ	$56, AX // SYS_clone
	POPQ	R12 // the return address, out of reach of the child
	SYSCALL
	PUSHQ	R12
	MOVQ	AX, result+8(FP)
	RET

// func rawCloneOn(flags, stack, local, entry uintptr, m *machine) (result uintptr)
TEXT ·rawCloneOn(SB),NOSPLIT,$0-48
	MOVQ	flags+0(FP), DI
	MOVQ	stack+8(FP), SI
	MOVQ	$0, DX
	MOVQ	$0, R10
	MOVQ	local+16(FP), R8
	MOVQ	entry+24(FP), R12
	MOVQ	m+32(FP), R13
	MOVQ	$56, AX // SYS_clone
	SYSCALL
	TESTQ	AX, AX
	JEQ	child
	MOVQ	AX, result+40(FP)
	RET
child:
	XORPS	X15, X15
	MOVQ	R13, AX
	CALL	R12
	INT	$3 // it does not return
