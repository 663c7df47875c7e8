//go:build !linux

package wspath

func openBackend(abs string) (backend, error) { return openRoot(abs) }
