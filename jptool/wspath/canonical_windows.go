package wspath

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isNotReparsePoint(err error) bool { return errors.Is(err, windows.ERROR_NOT_A_REPARSE_POINT) }
