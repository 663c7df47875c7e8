//go:build !amd64

package main

import "golang.org/x/sys/unix"

func init() {
	parts["part-int80"] = func([]string) int { return 38 }
}

func iopl([]string) (string, error) { return "", unix.ENOSYS }

// markedHere has only calls that other architectures have.
func markedHere(string, string, uint32) error { return unix.ENOSYS }
