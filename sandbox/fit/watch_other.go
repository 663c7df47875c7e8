//go:build !linux

package fit

func watch(Watched) (*Watcher, error) { return nil, ErrNoWatch }
