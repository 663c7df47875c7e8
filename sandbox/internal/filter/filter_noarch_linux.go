//go:build !amd64 && !arm64

package filter

import "golang.org/x/sys/unix"

// For returns ErrArchitecture here.
func For(Options) ([]unix.SockFilter, error) { return nil, ErrArchitecture }

// Announcing returns ErrArchitecture here.
func Announcing([]uint32) ([]unix.SockFilter, error) { return nil, ErrArchitecture }
