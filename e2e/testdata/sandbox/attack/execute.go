package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

var _ = add(map[string]attack{
	"memfd-exec": memfdExec,
	"exec":       execute,
	"copy-exec":  copyExec,
	"elf32":      elf32,
})

// memfdExec runs a copy of a program that has no place in any directory.
func memfdExec(a []string) (string, error) {
	content, err := os.ReadFile(a[0])
	if err != nil {
		return "", err
	}
	fd, err := unix.MemfdCreate("x", 0)
	if err != nil {
		return "", err
	}
	if _, err := unix.Write(fd, content); err != nil {
		return "", err
	}
	argv := [3]uintptr{text("x"), text("part-ok"), 0}
	err = forked(call(unix.SYS_EXECVEAT, uintptr(fd), text(""), at(&argv), at(new(uintptr)), unix.AT_EMPTY_PATH))
	if err == syscall.Errno(42) {
		return "", nil
	}
	return "", err
}

func execute(a []string) (string, error) {
	err := exec.Command(a[0], "part-ok").Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 42 {
		return "", nil
	}
	return "", err
}

// elf32 writes a program of the 32-bit kind and runs it: elf32 FILE. It makes a datagram
// socket and exits with 42 if it got one.
func elf32(a []string) (string, error) {
	code := []byte{
		0xb8, 0x67, 0x01, 0x00, 0x00, // mov eax, 359 (socket)
		0xbb, 0x02, 0x00, 0x00, 0x00, // mov ebx, AF_INET
		0xb9, 0x02, 0x00, 0x00, 0x00, // mov ecx, SOCK_DGRAM
		0x31, 0xd2, // xor edx, edx
		0xcd, 0x80, // int 0x80
		0xbb, 0x2a, 0x00, 0x00, 0x00, // mov ebx, 42
		0x85, 0xc0, // test eax, eax
		0x79, 0x05, // jns +5
		0xbb, 0x2b, 0x00, 0x00, 0x00, // mov ebx, 43
		0xb8, 0x01, 0x00, 0x00, 0x00, // mov eax, 1 (exit)
		0xcd, 0x80,
	}
	const base, headers = 0x08048000, 52 + 32
	size := uint32(headers + len(code))
	head := struct {
		ident                         [16]byte
		kind, machine                 uint16
		version, entry, phoff, shoff  uint32
		flags                         uint32
		ehsize, phentsize, phnum      uint16
		shentsize, shnum, shstrndx    uint16
		ptype, offset, vaddr, paddr   uint32
		filesz, memsz, pflags, palign uint32
	}{
		ident: [16]byte{0x7f, 'E', 'L', 'F', 1, 1, 1}, kind: 2, machine: 3, version: 1, entry: base + headers, phoff: 52,
		ehsize: 52, phentsize: 32, phnum: 1, ptype: 1, vaddr: base, paddr: base, filesz: size, memsz: size, pflags: 5, palign: 0x1000,
	}
	image := append(unsafe.Slice((*byte)(unsafe.Pointer(&head)), headers), code...)
	if err := os.WriteFile(a[0], image, 0o755); err != nil {
		return "", err
	}
	err := exec.Command(a[0]).Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 42 {
		return "", nil
	}
	return "", err
}

// copyExec runs a copy in the temporary directory.
func copyExec(a []string) (string, error) {
	content, err := os.ReadFile(a[0])
	if err != nil {
		return "", err
	}
	to := filepath.Join(os.TempDir(), fmt.Sprintf("attack-copy-%d", os.Getpid()))
	if err := os.WriteFile(to, content, 0o755); err != nil {
		return "", err
	}
	defer os.Remove(to)
	return execute([]string{to})
}
