//go:build !linux

package sandbox

func watch(Watched) (*Watcher, error) { return nil, ErrNoWatch }
