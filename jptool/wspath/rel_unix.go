//go:build !windows

package wspath

// toSlash: a backslash is an ordinary byte of a name here.
func toSlash(p string) (string, error) { return p, nil }

func checkPlatform(string) error { return nil }
