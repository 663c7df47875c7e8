//go:build !unix

package fstest

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
