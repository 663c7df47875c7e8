package wspath_test

import "golang.org/x/sys/windows"

var errNoLink = windows.ERROR_NOT_A_REPARSE_POINT
