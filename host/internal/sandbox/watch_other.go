//go:build !linux

package sandbox

func watch([]Node) (*Watcher, error) { return nil, ErrNoWatch }
