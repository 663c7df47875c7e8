package main

import "golang.org/x/sys/unix"

// enter80 is in arch_amd64.s: int 0x80 with these registers.
func enter80(nr, a, b, c uint32) uint32

func init() {
	parts["part-int80"] = func([]string) int {
		if r := int32(enter80(359, unix.AF_INET, unix.SOCK_DGRAM, 0)); r < 0 {
			return 43
		}
		return 42
	}
}

func iopl([]string) (string, error) {
	_, err := raw(unix.SYS_IOPL, 3)
	return "", err
}
