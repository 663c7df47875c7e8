//go:build !unix

package jptooltest

import "errors"

func mkfifo(string) error { return errors.ErrUnsupported }
