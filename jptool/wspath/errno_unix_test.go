//go:build !windows

package wspath_test

import "syscall"

var errNoLink = syscall.EINVAL
